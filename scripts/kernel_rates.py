#!/usr/bin/env python3
"""Writes src/cost/kernel_rates.def from what `parallax calibrate` has timed: kernel_rates.py PROFILE...

Of each kernel the two rates whose predictions, macs / rate + bytes / rate, miss the timed seconds least: the sum of
|log(predicted / timed)|, a sample weighed by the root of its time, on a grid of 4 % steps. What a node takes to start is left out of
the samples; where fewer than FEW are left, the rates are in the proportion of the core's."""
import collections
import math
import pathlib
import sys
import tomllib

OUT = pathlib.Path(__file__).parent.parent / "src/cost/kernel_rates.def"
STEP = 1.04
GRID = [0.0] + [STEP**i / 1000 for i in range(330)]  # nanoseconds for a unit: up to 400
START = 300  # nanoseconds of the shortest nodes: their timing alone
FEW = 4
CORE = (57, 24)  # kMeasuredCore, for a nanosecond
HEAD = """// Written by scripts/kernel_rates.py from profiles of `parallax calibrate` (one core of a Zen 4,
// AVX-512). PX_RATES(OpKind, kernel, multiply-accumulates and bytes in a nanosecond).
"""


def samples_of(files):
    kernels = collections.defaultdict(dict)
    for file in files:
        for s in tomllib.loads(pathlib.Path(file).read_text())["cpu"]["samples"]:
            kernels[s["op"], s["kernel"]][s["shapes"]] = (s["macs"], s["bytes"], s["seconds"] * 1e9 - START)
    return {key: [s for s in rows.values() if s[2] > START and s[0] + s[1] > 0] for key, rows in kernels.items()}


def miss(samples, per_mac, per_byte):
    total = 0.0
    for macs, moved, ns in samples:
        predicted = macs * per_mac + moved * per_byte
        total += math.sqrt(ns) * abs(math.log(max(predicted, 1e-6) / ns))
    return total


def fit(samples):
    """Nanoseconds for a multiply-accumulate and for a byte; coarse first, then around the best."""
    if len(samples) < FEW:
        return min(((k / CORE[0] if any(s[0] for s in samples) else 0.0, k / CORE[1]) for k in GRID[1:]), key=lambda p: miss(samples, *p))
    grid = GRID if any(s[0] for s in samples) else [0.0]
    coarse = min(((a, b) for a in grid[::12] for b in GRID[::12]), key=lambda p: miss(samples, *p))

    def near(axis, at):
        i = axis.index(at)
        return axis[max(i - 12, 0) : i + 13]

    return min(((a, b) for a in near(grid, coarse[0]) for b in near(GRID, coarse[1])), key=lambda p: miss(samples, *p))


def rate(per_unit):
    return f"{1 / per_unit:.3g}" if per_unit else "1e9"


def main():
    rows = []
    for (op, kernel), samples in sorted(samples_of(sys.argv[1:]).items()):
        if not samples:
            continue
        best = fit(samples)
        off = math.exp(miss(samples, *best) / sum(math.sqrt(s[2]) for s in samples))
        rows.append(f'PX_RATES({op}, "{kernel}", {rate(best[0])}, {rate(best[1])})  // {len(samples)} nodes, off by {off:.2f} in the mean\n')
    OUT.write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    main()
