#!/usr/bin/env python3
"""Whether clang's thread-safety analysis (src/base/mutex.h) finds the mistakes that are planted for it, and all locks of the library
are of the kinds that it knows. check_tidy.py has it read the sources."""
import pathlib
import re
import sys

import check_tidy

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
ANNOTATIONS = "base/mutex.h"
MISTAKES = ROOT / "tests/threads/mistakes.cc"  # what the analysis must find, line by line
NOT_ANALYSED = re.compile(r"std::(\w*mutex|condition_variable\w*|(shared|unique|scoped)_lock|lock_guard)\b")


def not_annotated():
    for file in sorted(SRC.rglob("*.[hc]*")):
        name = file.relative_to(SRC).as_posix()
        if name == ANNOTATIONS or name.endswith("_test.cc"):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if found := NOT_ANALYSED.search(line.split("//")[0]):
                yield f"src/{name}:{number}: {found[0]} is not analysed, what {ANNOTATIONS} has is"


def missed():
    """Where what clang-tidy says of MISTAKES is not what is expected there."""
    expected = {}
    for number, line in enumerate(MISTAKES.read_text().splitlines(), 1):
        if found := re.search(r"expected-error \{\{(.*)\}\}", line):
            expected[number] = found[1]
    said = check_tidy.lint(("-std=c++20", f"-I{SRC}"), MISTAKES)
    told = dict(re.findall(rf"{MISTAKES.name}:(\d+):\d+: error: (.*) \[clang-diagnostic-thread-safety", said))
    for number in sorted({*expected, *map(int, told)}):
        text = told.get(str(number), "nothing")
        if expected.get(number, "nothing") not in text:
            yield f"{MISTAKES.relative_to(ROOT)}:{number}: {expected.get(number, 'nothing')} is expected, clang-tidy says: {text}"


def main():
    wrong = [*not_annotated(), *missed()]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
