#!/usr/bin/env python3
"""Costs of the Python package: a run of a tiny model over the same run in C++, one that is awaited, and the import beyond NumPy's.

    PYTHONPATH=build/python python_overhead.py [--runs 50000] [--rounds 5]

Needs `make python`. Each figure is the median over the rounds of a round's median; rounds take turns.
"""
import argparse
import asyncio
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import parallax

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import onnx_writer as w  # noqa: E402, which lies there

X = np.ones(4, np.float32)


def microseconds(call, runs):
    """The median time of a call."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


async def awaited(session, runs):
    """The median time of a run that is awaited, in microseconds."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter_ns()
        await session.run_async(X)
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def native(file, runs):
    """The median time of the same run in C++, in microseconds, as the tool measures it."""
    command = [ROOT / "build" / "release" / "parallax", "bench", file, "--threads", "1", "--warmup", "1000", "--runs", str(runs), "--json", "-"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(said)["latency_ms"]["median"] * 1e3


def imported():
    """The time in which a new interpreter that has NumPy imports the package, in microseconds."""
    text = "import numpy, time; begin = time.perf_counter_ns(); import parallax; print(time.perf_counter_ns() - begin)"
    return int(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "neg.onnx"
        file.write_bytes(w.model([w.node("Neg", ["x"], ["y"])], [w.value("x", w.FLOAT, [4])], [w.value("y", w.FLOAT, [4])]))
        session = parallax.Session(file, threads=1)
        figures = {
            "run in C++": lambda: native(file, options.runs),
            "Session.run": lambda: microseconds(lambda: session.run(X), options.runs),
            "await Session.run_async": lambda: asyncio.run(awaited(session, options.runs // 10)),
            "import after NumPy": imported,
        }
        found = {name: [] for name in figures}
        for _ in range(options.rounds):
            for name, measure in figures.items():
                found[name].append(measure())
    for name, values in found.items():
        print(f"{name:25} {statistics.median(values):10.2f} us")


if __name__ == "__main__":
    main()
