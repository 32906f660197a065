#!/usr/bin/env python3
"""Checks that links between the project's own documents lead somewhere, that the tests they name
exist, and that generated documents are up to date: the list of operators and, where there is a release build, the tables of
nodes, layers, bytes and libraries."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = range(1, 96)  # what docs/paper.md must have a row for, with a test or with what stands in the way of one
NOT_SHOWN = "Cannot be shown without the phone: "
TOOL = ROOT / "build" / "release" / "parallax"
NAMED_TEST = r"`([\w/]+(?:_test\.cc|\.py))`\s+`([\w.]+)`"


def missing_tests():
    """Tests that docs/paper.md names, as `file` `Suite.Name` or `file` `test_name`, and that are not there; requirements
    without one."""
    text = (ROOT / "docs" / "paper.md").read_text()
    for file, test in re.findall(NAMED_TEST, text):
        path = ROOT / file
        source = path.read_text() if path.exists() else ""
        suite, _, name = test.rpartition(".")
        pattern = rf"(TEST(_P|_F)?|RC_GTEST_PROP)\({suite}, {name}[,)]" if suite else rf"def {test}\("
        if not re.search(pattern, source):
            yield f"docs/paper.md: {file} has no test {test}"
    ticked = set()
    for numbers, rest in re.findall(r"^\| ([\d, -]+) \|(.*)$", text, re.MULTILINE):
        for part in numbers.split(",") if re.search(NAMED_TEST, rest) or NOT_SHOWN in rest else ():
            first, _, last = part.strip().partition("-")
            ticked.update(range(int(first), int(last or first) + 1))
    for number in sorted(set(REQUIREMENTS) - ticked):
        yield f"docs/paper.md: P{number} has no row that names a test or says why there is none"


def stale(script):
    """What a script that writes documents says against those that are there."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    return lines if lines or not done.returncode else [f"{script} --check failed: {(done.stderr.splitlines() or ['?'])[-1]}"]


def main():
    wrong = list(missing_tests())
    files = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        text = re.sub(r"```.*?```", "", (ROOT / name).read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not ((ROOT / name).parent / target).exists():
                wrong.append(f"{name}: the link {target} leads nowhere")
    wrong += stale("operators.py")
    if TOOL.exists():
        wrong += stale("docs.py")
    else:
        print(f"docs: tables of structure are not compared: {TOOL.relative_to(ROOT)} is not built")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
