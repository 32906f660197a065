#!/usr/bin/env python3
"""Two builds of the tool, alternating, so that a change shows although the machine's speed drifts.

    turns.py BEFORE AFTER [--rounds 20] [--threads N] [--extra "--precision bf16"] [--limit 1.02] [--json FILE] [CASE...]

BEFORE and AFTER are `parallax` executables. Each round runs both, in changing order, a process each. Printed for each case:
the median over the rounds of AFTER's figure over BEFORE's, with the 95 % interval of that median (bootstrap over rounds, fixed
seed), for latency, load + first run and peak memory. With --limit the exit status is 1 where the upper bound of a latency's
interval exceeds it. Models: $MODELS, otherwise the zoo.
"""
import argparse
import json
import os
import random
import statistics
import sys

import engines
from cases import models_folder, present

RESAMPLES = 4000


def interval(ratios, seed=1):
    """(median, lower, upper): the 95 % interval of the median by resampling."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return statistics.median(ratios), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def measure(case, arguments, folder):
    builds, got = (arguments.before, arguments.after), {0: [], 1: []}
    for round_ in range(arguments.rounds):
        for which in ((0, 1), (1, 0))[round_ % 2]:
            got[which].append(engines.parallax(case, folder, arguments.threads, *arguments.extra.split(), cli=builds[which]))
    return {key: interval([after[key] / before[key] for before, after in zip(got[0], got[1])]) for key in ("ms", "first", "mib")} | {
        "before_ms": statistics.median(f["ms"] for f in got[0]), "after_ms": statistics.median(f["ms"] for f in got[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--extra", default="", help="options given to both")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--json")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_intermixed_args()
    folder = models_folder()
    rows = {}
    for case in present(folder, arguments.cases):
        row = rows[case] = measure(case, arguments, folder)
        text = "  ".join("{} {:.3f} [{:.3f}, {:.3f}]".format(key, *row[key]) for key in ("ms", "first", "mib"))
        print(f"{case:16} {row['before_ms']:8.2f} -> {row['after_ms']:8.2f} ms  {text}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)
    slower = [case for case, row in rows.items() if arguments.limit and row["ms"][2] > arguments.limit]
    if slower:
        print(f"over {arguments.limit}: {', '.join(slower)}")
    return 1 if slower or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
