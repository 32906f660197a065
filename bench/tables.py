"""The paper's tables for what can be had without a phone: threads, arena bytes, layer by layer."""
import json
import statistics
import subprocess

from cases import CASES, CLI, SHAPES
from engines import bench

THREADS = (1, 2, 4, 8)
LAYERED = ("whisper_encoder", "whisper_tiny@16", "swinv2_tiny")  # the paper's table 6 has Whisper and SwinV2
LAYERS_SHOWN = 8


def plan(case, folder, threads):
    model, dims, _ = CASES[case]
    command = [CLI, "plan", folder / f"{model}.onnx", "--json", "-", "--threads", threads]
    for symbol, numbers in dims.items():
        command += ["--dim", f"{symbol}={numbers[0]}"]
    for name, shape in SHAPES.get(model, {}).items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)


def busy_ms(intervals):
    """How long at least one of the intervals (begin, end) lasts."""
    busy, until = 0, float("-inf")
    for begin, end in sorted(intervals):
        busy += max(0, end - max(begin, until))
        until = max(until, end)
    return busy


def layer_times(case, folder, threads):
    """[{layer, branches, sequential, layers}] in milliseconds, the longest layers that have several branches.

    Branches of a layer may run in steps that lie far apart: a decoder's first nodes after the encoder. What counts is the time in
    which a node of the layer runs, not the time from the first to the last.
    """
    shape = plan(case, folder, threads)
    layer_of = {b["id"]: b["layer"] for b in shape["branch_list"]}
    rows = {}
    for scheduler in ("sequential", "layers"):
        for op in bench(case, folder, threads, "--ops", "--scheduler", scheduler)["ops"]:
            row = rows.setdefault(layer_of[op["branch"]], {"branches": set(), "sequential": [], "layers": []})
            row["branches"].add(op["branch"])
            row[scheduler].append((op["begin_ms"], op["begin_ms"] + op["ms"]))
    rows = [{"layer": layer, "branches": len(row["branches"]), "sequential": busy_ms(row["sequential"]), "layers": busy_ms(row["layers"])}
            for layer, row in rows.items() if row["sequential"] and row["layers"] and len(row["branches"]) > 1]
    return sorted(sorted(rows, key=lambda r: -r["sequential"])[:LAYERS_SHOWN], key=lambda r: r["layer"])


def threads_ms(case, folder, rounds):
    """(figures of the first turn by threads, medians of the rounds by threads); counts take turns, as engines do."""
    turns = [{count: bench(case, folder, count) for count in THREADS} for _ in range(rounds)]
    return turns[0], {count: statistics.median(turn[count]["latency_ms"]["median"] for turn in turns) for count in THREADS}


def measure(folder, cases, threads, rounds):
    result = {"threads_ms": {}, "arena": {}, "layers": {}}
    for case in cases:
        figures, result["threads_ms"][case] = threads_ms(case, folder, rounds)
        result["arena"][case] = figures[2]["arena_bytes"]
    for case in set(LAYERED) & set(cases):
        result["layers"][case] = layer_times(case, folder, threads)
    return result
