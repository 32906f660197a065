#!/usr/bin/env python3
"""Writes the tables of README.md and docs/ that a build decides: `make docs`. They stand between <!-- made: NAME --> and <!-- end -->.

    docs.py               # every table, docs/performance.md included: takes an hour, wants a quiet machine
    docs.py --structure   # only those that measure no time: nodes, layers, bytes, libraries, operators
    docs.py --page PAGE   # only those of one page, as docs/paper-tables.md
    docs.py --check       # names the tables of structure that are not what this build says, apart from figures that depend on the
                          # machine (~), and the tables of time that do not say on which machine and from which commit they are

Models are the zoo's, so that every clone writes the same structure.
"""
import argparse
import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import compare  # noqa: E402
import delegates  # noqa: E402
import demo  # noqa: E402
import deployment  # noqa: E402
import gains  # noqa: E402
import paper  # noqa: E402
import planner  # noqa: E402
import quantised  # noqa: E402

THREADS = 2
LOAD = os.getloadavg()[0]  # before anything is measured
NOT_MEASURED = "Not measured yet: `make docs` does.\n"


def lines_of(lines):
    return "```text\n" + "\n".join(lines) + "\n```\n"


def timed(make):
    """A table of time, with the machine that it was measured on, its load before that, and the commit."""
    text, where = make(), compare.machine()
    return text and f"{text}\n{where['cpu']}; {where['date']}, commit {where['commit']}; load {LOAD:.2f} before.\n"


def says_where(text):
    """Whether a table ends as timed() ends it."""
    return re.search(r"\n\n\S.*\d+ cores.*; \d{4}-\d\d-\d\d, commit [0-9a-f]{7,}(; load \d+\.\d\d before)?\.\n$", text) is not None


def demo_times():
    return lines_of([*demo.times(THREADS), "", *demo.branches()])


# page -> table -> what makes it; None instead of a text: it cannot be made here, and what the page has stays.
STRUCTURE = {
    "README.md": {"plans": lambda: lines_of(demo.plans(THREADS)), "libraries": deployment.libraries},
    "docs/planner.md": {"structure": planner.structure, "bytes": planner.memory},
}
TIMES = {
    "README.md": {"times": functools.partial(timed, demo_times), "gains": functools.partial(timed, gains.gains),
                  "eight bits": functools.partial(timed, lambda: quantised.eight_bits(THREADS))},
    "docs/planner.md": {"packing": functools.partial(timed, planner.packing), "prediction": functools.partial(timed, planner.prediction)},
    "docs/delegates.md": {make.__name__: functools.partial(timed, make) for make in (delegates.everything, delegates.refused, delegates.losing, delegates.picture)},
    "docs/paper-tables.md": {make.__name__: functools.partial(timed, make) for make in (paper.efficiency, paper.latency, paper.memory, paper.layers, paper.structure, paper.tflite, paper.threads, paper.ablation)},
}


def cut(page, name):
    """What stands before the table of a page's text, the table, what stands behind it."""
    before, mark, rest = page.partition(f"<!-- made: {name} -->\n")
    there, end, after = rest.partition("<!-- end -->")
    if not end:
        sys.exit(f"docs: no place for the table {name}")
    return before + mark, there, end + after


def write(made):
    for page, tables in made.items():
        path = ROOT / page
        for name, make in tables.items():
            before, there, after = cut(path.read_text(), name)
            text = make()
            path.write_text(before + (there if text is None else text) + after)
        print(f"written: {page}", flush=True)


def on_every_machine(text):
    """A table without the figures that are marked as depending on the machine."""
    return re.sub(r" *~[\d.]+", " ~", text)


def stale():
    for page, tables in STRUCTURE.items():
        for name, make in tables.items():
            there, text = cut((ROOT / page).read_text(), name)[1], make()
            if text is not None and on_every_machine(text) != on_every_machine(there):
                yield f"{page}: the table {name} is not what this build says (make docs ARGS=--structure)"


def unsigned():
    for page, tables in TIMES.items():
        for name in tables:
            there = cut((ROOT / page).read_text(), name)[1]
            if there != NOT_MEASURED and not says_where(there):
                yield f"{page}: the table {name} says neither machine nor commit (make docs)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--structure", action="store_true", help="only the tables that measure no time")
    parser.add_argument("--page", choices=sorted({*STRUCTURE, *TIMES}), help="only the tables of this page")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a table is not as it should be")
    arguments = parser.parse_args()
    list(demo.unpack_zoo())
    if arguments.check:
        wrong = [*unsigned(), *stale()]
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    if arguments.page:
        write({arguments.page: {**STRUCTURE.get(arguments.page, {}), **TIMES.get(arguments.page, {})}})
        return 0
    subprocess.run([sys.executable, ROOT / "scripts" / "operators.py"], check=True)
    write(STRUCTURE)
    if not arguments.structure:
        write(TIMES)
        subprocess.run([sys.executable, ROOT / "bench" / "compare.py"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
