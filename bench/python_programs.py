#!/usr/bin/env python3
"""Programs that use packages of PyPI, with the runtime of each package and with Parallax in its place: `make bench-python`.

    python_programs.py [--rounds 3] [--write] [PROGRAM...]

The programs of bench/programs import nothing of Parallax. Each runs alternately as `python PROGRAM.py` and as
`python -m parallax.run_with PROGRAM.py`, a process each, with the same number of threads. Printed: a table of results compared, times
and memory; --write puts it into docs/python.md, on a quiet machine. What cannot be installed is named and left out. Exit status: 1 if a program was left
out, failed, or gave another result.
"""
import argparse
import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys

import program_packages
import report
from cases import ROOT
from program_packages import PYTHON, RUNTIMES

sys.path.insert(0, str(ROOT / "scripts"))
import docs  # noqa: E402

PAGE, PLACE = ROOT / "docs" / "python.md", "programs"
PACKAGE = ROOT / "build" / "python"  # where `make python` installs
WAYS = {"original": (), "parallax": ("-m", "parallax.run_with")}
KEYS = ("first_s", "later_s", "peak_mib")
TOLERANCE = 1.5e-3  # between numbers that programs round to three digits, relative to the larger of 1 and the original's
QUIET = 0.5  # load before: with a compiler on both of two cores, ONNX Runtime took twice the time with two threads that it took with one
LONGEST = 600  # seconds of a process


class Failed(Exception):
    """Says what the program says last."""


def turn(program, way):
    """What a program prints as JSON, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": str(program.threads)}
    if way == "parallax":
        environment["PYTHONPATH"] = str(PACKAGE)
    done = subprocess.run([PYTHON, *WAYS[way], program.path], env=environment, capture_output=True, text=True, check=False, timeout=LONGEST)
    if done.returncode:
        raise Failed(f"{way}: {(done.stderr.strip().splitlines() or [f'status {done.returncode}'])[-1]}")
    figures = json.loads(done.stdout.splitlines()[-1])
    theirs = any(f"/{module}/" in library for library in figures["libraries"] for module in RUNTIMES)
    ours = any(library.startswith(f"{PACKAGE}/") for library in figures["libraries"])
    if (theirs, ours) != (way == "original", way == "parallax"):
        raise Failed(f"{way}: another runtime was loaded")
    return figures


def difference(mine, other):
    """The largest difference between numbers of two results; infinite if anything else in them differs."""
    if isinstance(other, float) and isinstance(mine, float):
        apart = abs(mine - other) / max(1, abs(other))
        return apart if math.isfinite(apart) else float("inf")
    if type(mine) is not type(other):
        return float("inf")
    if isinstance(other, dict):
        return difference(sorted(mine.items()), sorted(other.items()))
    if isinstance(other, (list, tuple)):
        return max(map(difference, mine, other), default=0.0) if len(mine) == len(other) else float("inf")
    return 0.0 if mine == other else float("inf")


@dataclasses.dataclass
class Row:
    program: program_packages.Program
    figures: dict  # way -> key -> median over the rounds
    difference: float

    @property
    def same(self):
        return self.difference <= TOLERANCE


def measure(program, rounds):
    turn(program, "original")  # fills caches of files, bytecode and compiled functions, for both
    got = {way: [] for way in WAYS}
    for round_ in range(rounds):
        for way in list(WAYS)[:: -1 if round_ % 2 else 1]:
            got[way].append(turn(program, way))
    expected = got["original"][0]["result"]
    apart = max(difference(figures["result"], expected) for figures in got["original"] + got["parallax"])
    return Row(program, {way: {key: statistics.median(f[key] for f in turns) for key in KEYS} for way, turns in got.items()}, apart)


def compared(row, key, scale=1.0):
    ours, theirs = (row.figures[way][key] * scale for way in ("parallax", "original"))
    return f"{ours:.0f} / {theirs:.0f} = {ours / theirs:.2f}"


def results_text(row):
    if not row.same:
        return "DIFFERENT"
    return "same" if not row.difference else f"same within {row.difference:.0e}"


def table(rows, rounds):
    head = ["program", "package", "instead of", "threads", "results", "load + first call ms", "later call ms", "peak MiB"]
    body = [[f"{row.program.name}: {row.program.task}", f"{row.program.package} {row.program.version}", " ".join(RUNTIMES[row.program.runtime]), row.program.threads, results_text(row),
             compared(row, "first_s", 1e3), compared(row, "later_s", 1e3), compared(row, "peak_mib")] for row in rows]
    return f"""{report.table(head, body)}
Parallax / original = ratio. Whole pipelines, pictures and sounds made by the program included; memory is that of the process with Python and
all packages. Programs tell the first three packages how many threads to use, the other two give the runtime one. Each run is a process of its own,
alternately with both runtimes; rounds: {rounds}, figures are medians.
"""


def rows_of(programs, rounds):
    """Yields the rows of programs that run; names the others."""
    for program in programs:
        try:
            program_packages.install(program)
            row = measure(program, rounds)
        except program_packages.CannotInstall as error:
            print(f"{program.name}: not run, {program.package} {program.version} cannot be installed: {error}", flush=True)
        except (Failed, subprocess.TimeoutExpired) as error:
            print(f"{program.name}: FAILED: {error}", flush=True)
        else:
            print(f"{program.name}: {results_text(row)}, later call {compared(row, 'later_s', 1e3)} ms", flush=True)
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/python.md, if all programs run with the same results")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_intermixed_args()
    programs = [program for program in program_packages.ALL if program.name in arguments.programs or not arguments.programs]
    if unknown := set(arguments.programs) - {program.name for program in programs}:
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(program.name for program in program_packages.ALL)}")
    rows = list(rows_of(programs, arguments.rounds))
    right = len(rows) == len(programs) and all(row.same for row in rows)
    text = docs.timed(lambda: table(rows, arguments.rounds))
    print(f"\n{text}", end="")
    if docs.LOAD > QUIET:
        print(f"With a load of {docs.LOAD:.2f} before, times are doubtful, results are not: runtimes whose threads wait for each other lose most.")
    if arguments.write and right and not arguments.programs:
        before, _, after = docs.cut(PAGE.read_text(), PLACE)
        PAGE.write_text(before + text + after)
        print(f"written: {PAGE.relative_to(ROOT)}")
    elif arguments.write:
        print("not written: only a table of all programs with the same results is")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
