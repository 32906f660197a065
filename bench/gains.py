"""The table of README that says where the speed comes from: each model with one thing after the other added (parallax-gains)."""
import json
import math
import statistics

from cases import ROOT
from demo import MIB, SHOWN, words
from report import geometric_mean, table

import subprocess

GAINS = ROOT / "build" / "release" / "parallax-gains"
ROUNDS = 3
THREADS = 2


def steps(case):
    """[{step, ms, ...}]: the medians over the rounds, in the order in which things were added."""
    rounds = [json.loads(subprocess.run([str(w) for w in (GAINS, *words(case), "--threads", THREADS)], check=True, capture_output=True, text=True).stdout) for _ in range(ROUNDS)]
    return [same[0] | {"ms": statistics.median(step["ms"] for step in same)} for same in zip(*rounds)]


def cell(factor, whole):
    return f"{factor:.2f} ({max(0, math.log(factor) / math.log(whole)):.0%})".replace("%)", " %)")


def gains():
    rows, factors = [], []
    for case in SHOWN:
        measured = steps(case)
        ms = [step["ms"] for step in measured]
        each, whole = [before / after for before, after in zip(ms, ms[1:])], ms[0] / ms[-1]
        factors.append(each)
        last = measured[-1]
        rows.append([case, f"{ms[0]:.1f}", *(cell(f, whole) for f in each), f"{ms[-1]:.2f}", f"{last['naive_bytes'] / MIB:.1f}", f"{last['arena_bytes'] / MIB:.1f}"])
    means = [geometric_mean(column) for column in zip(*factors)]
    rows.append(["geometric mean", "", *(cell(f, math.prod(means)) for f in means), "", "", ""])
    head = ["model", "plain kernels, 1 thread, ms", "kernels", "fusions, layouts", f"tiles, {THREADS} threads", "branches", "ms", "a buffer a tensor, MiB", "arena MiB"]
    return table(head, rows)
