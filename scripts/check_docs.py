#!/usr/bin/env python3
"""Checks that links between the project's own documents lead somewhere, and that generated documents are up to date."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    wrong = []
    files = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not ((ROOT / name).parent / target).exists():
                wrong.append(f"{name}: the link {target} leads nowhere")
    operators = subprocess.run([sys.executable, ROOT / "scripts" / "operators.py", "--check"], capture_output=True, text=True, check=False)
    wrong += operators.stdout.splitlines()
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
