#!/usr/bin/env python3
"""Speed and memory compared with the peers: `make bench`, and `make bench-check`.

    compare.py [--threads 2] [--rounds 3] [--quick] [CASE...]   # measures, prints, writes docs/performance.md and its plots
    compare.py --check [--threads 2] [--rounds 3] [CASE...]     # fails where a ratio is over 5 % worse than the one on record

Engines take turns, a process each; a figure is the median over the rounds. On a shared machine only ratios within one line
mean something. f32 everywhere. Models: $MODELS, otherwise the project's own, of which cases are left out.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

import engines
import report
import tables
from cases import CASES, ROOT, models_folder, models_text, present

RECORD = ROOT / "bench" / "record.json"
TOLERANCE = 1.05
KEYS = ("ms", "min", "max", "mib", "first", "cpu")


def measure(case, folder, threads, rounds):
    """{engine: {key: median over the rounds}}"""
    got = {}
    for _ in range(rounds):
        for engine in ("parallax", *engines.PEERS):
            figures = engines.turn(engine, case, folder, threads)
            if figures:
                got.setdefault(engine, []).append(figures)
    return {engine: {key: statistics.median(f[key] for f in turns) for key in KEYS} for engine, turns in got.items()}


def ratios(row):
    """Ours over the best peer's, by key; {} where there is no peer."""
    peers = [figures for engine, figures in row.items() if engine != "parallax"]
    return {key: row["parallax"][key] / min(p[key] for p in peers) for key in ("ms", "mib", "first", "cpu")} if peers else {}


def print_row(case, row):
    text = "  ".join(f"{engine} {f['ms']:.2f} ms {f['mib']:.0f} MiB first {f['first']:.0f} cpu {f['cpu']:.1f}" for engine, f in row.items())
    print(f"{case:16} {text}  ratio {' '.join(f'{k} {v:.2f}' for k, v in ratios(row).items())}", flush=True)


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
    known = [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_bf16", "AVX-512 BF16"), ("amx_tile", "AMX")) if f" {flag}" in flags]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"cpu": f"{model}, {len(os.sched_getaffinity(0))} cores, {', '.join(known)}", "date": datetime.date.today().isoformat(), "commit": commit}


def check(rows):
    recorded, failed = json.loads(RECORD.read_text()), []
    for case, row in rows.items():
        ratio, limit = ratios(row).get("ms"), recorded.get(case, 0) * TOLERANCE
        if ratio and limit and ratio > limit:
            failed.append(f"{case}: {ratio:.3f} of the best peer's latency, {recorded[case]:.3f} on record")
    print("\n".join(failed) or f"{len(rows)} cases, none more than 5 % slower than on record")
    return 1 if failed else 0


def record(rows):
    """Ratios of these cases; those of others stay."""
    ratio_of = json.loads(RECORD.read_text()) | {case: round(ratios(row)["ms"], 3) for case, row in rows.items() if ratios(row)}
    RECORD.write_text(json.dumps({case: ratio_of[case] for case in CASES if case in ratio_of}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="the comparison alone, without the paper's tables and without writing")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - set(CASES):
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    folder = models_folder()
    print(models_text(folder, arguments.cases), flush=True)
    rows = {}
    for case in present(folder, arguments.cases):
        rows[case] = measure(case, folder, arguments.threads, arguments.rounds)
        print_row(case, rows[case])
    if arguments.check:
        return check(rows)
    if arguments.quick:
        return 0
    results = {"machine": machine(), "threads": arguments.threads, "rounds": arguments.rounds, "models": models_text(folder), "cases": rows}
    results |= tables.measure(folder, list(rows), arguments.threads, arguments.rounds)
    (ROOT / "build" / "bench.json").write_text(json.dumps(results, indent=1))
    record(rows)
    report.write(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
