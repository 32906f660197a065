#!/usr/bin/env python3
"""Says which tests CTest's log of a run says were skipped, how many for each reason, and how to get them: skipped.py LastTest.log"""
import collections
import pathlib
import re
import sys

# What pytest -rs prints for tests that share a reason, and what GoogleTest prints for one.
PYTEST = re.compile(r"^SKIPPED \[(\d+)\] \S+?(?::\d+)?: (.*)$", re.M)
GOOGLETEST = re.compile(r"^\S+:\d+: Skipped\n(.*)$", re.M)


def reasons(log):
    """{reason: number of tests}, the most frequent first."""
    count = collections.Counter()
    for number, reason in PYTEST.findall(log):
        count[reason.removeprefix("Skipped: ")] += int(number)
    for reason in GOOGLETEST.findall(log):
        count[reason] += 1
    return dict(count.most_common())


def main():
    found = reasons(pathlib.Path(sys.argv[1]).read_text(errors="replace"))
    print("skipped: no test" if not found else f"skipped: {sum(found.values())} tests")
    for reason, number in found.items():
        print(f"  {number:>4}  {reason}")


if __name__ == "__main__":
    main()
