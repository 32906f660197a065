"""The paper's tables for what can be had without a phone: threads, arena bytes, layer by layer."""
import json
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


def layer_times(case, folder, threads):
    """[{layer, branches, sequential, layers}] in milliseconds, the longest layers that have several branches."""
    shape = plan(case, folder, threads)
    layer_of = {b["id"]: b["layer"] for b in shape["branch_list"]}
    spans = {}
    for scheduler in ("sequential", "layers"):
        ops = bench(case, folder, threads, "--ops", "--scheduler", scheduler)["ops"]
        for op in ops:
            row = spans.setdefault(layer_of[op["branch"]], {})
            row.setdefault("branches", set()).add(op["branch"])
            if scheduler == "sequential":
                row["sequential"] = row.get("sequential", 0) + op["ms"]
            else:
                begin, end = row.get("span", (float("inf"), 0))
                row["span"] = (min(begin, op["begin_ms"]), max(end, op["begin_ms"] + op["ms"]))
    rows = [{"layer": layer, "branches": len(r["branches"]), "sequential": r["sequential"], "layers": r["span"][1] - r["span"][0]}
            for layer, r in spans.items() if "sequential" in r and "span" in r and len(r["branches"]) > 1]
    return sorted(sorted(rows, key=lambda r: -r["sequential"])[:LAYERS_SHOWN], key=lambda r: r["layer"])


def measure(folder, cases, threads):
    result = {"threads_ms": {}, "arena": {}, "layers": {}}
    for case in cases:
        figures = {t: bench(case, folder, t) for t in THREADS}
        result["threads_ms"][case] = {t: f["latency_ms"]["median"] for t, f in figures.items()}
        result["arena"][case] = figures[2]["arena_bytes"]
    for case in set(LAYERED) & set(cases):
        result["layers"][case] = layer_times(case, folder, threads)
    return result
