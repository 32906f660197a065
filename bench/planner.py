#!/usr/bin/env python3
"""Structure, memory and prediction of the plans: `make bench-plan` writes docs/planner.md.

    planner.py [--no-prediction]

Models: $MODELS, otherwise the zoo that ships. $PACKING: a folder of .csv packing instances (buffers with lifetimes, as
parallax-pack reads them). Only the prediction measures time.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

from cases import CASES, CLI, ROOT, SHAPES, models_folder, models_text, present
from report import table

PAGE = ROOT / "docs" / "planner.md"
PACK = ROOT / "build" / "release" / "parallax-pack"
MODELS = ("yolov8n", "whisper_encoder", "whisper_tiny@16", "swinv2_tiny", "clip_text@64", "distilbert@64")
FIGURES = ("naive", "greedy", "lower_bound", "paper", "parallax")
THREADS = (1, 2, 4, 8)
DELEGATE = "opencl-mobile"
MIB = 2**20
PACK_LIMITS_MS = (50, 10000)
ATTEMPTS = 3  # a shared machine: the median of as many predictions and measurements in turns


def command(name, case, folder, *extra):
    model, dims, _ = CASES[case]
    words = [CLI, name, folder / f"{model}.onnx", *extra]
    for symbol, numbers in dims.items():
        words += ["--dim", f"{symbol}={numbers[0]}"]
    for tensor, shape in SHAPES.get(model, {}).items():
        words += ["--shape", f"{tensor}={'x'.join(map(str, shape))}"]
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def plan(case, folder, *extra):
    return json.loads(command("plan", case, folder, "--json", "-", *extra))


def structure(cases, folder):
    parts = []
    for title, extra in (("Without a delegate", ()), (f"With `{DELEGATE}`", ("--delegate", DELEGATE))):
        rows = []
        for case in cases:
            s = plan(case, folder, "--structure", *extra)["structure"]
            rows.append([case, *(" / ".join(str(s[stage][key]) for stage in s) for key in ("nodes", "layers", "parallel_layers", "max_branches"))])
        parts.append(f"{title}:\n\n" + table(["model", "nodes", "layers", "parallel layers", "max branches"], rows))
    return "\n".join(parts)


def memory(cases, folder):
    rows, growth = [], []
    for case in cases:
        by_threads = {t: plan(case, folder, "--threads", t)["arena_bytes"] for t in THREADS}
        a = by_threads[2]
        rows.append([case, *(f"{a[k] / MIB:.2f}" for k in FIGURES), f"{a['parallax'] / a['greedy']:.3f}", f"{a['parallax'] / a['paper']:.3f}"])
        growth.append([case, *(f"{by_threads[t]['parallax'] / MIB:.2f}" for t in THREADS)])
    return (table(["model", *(f"{k} MiB" for k in FIGURES), "parallax / greedy", "parallax / paper"], rows)
            + "\nWhat further threads cost:\n\n" + table(["model", *(f"{t} threads MiB" for t in THREADS)], growth))


def packing(folder):
    rows = []
    for path in sorted(folder.glob("*.csv")):
        row = [path.name.split(".")[0]]
        for limit in PACK_LIMITS_MS:
            text = subprocess.run([str(PACK), str(path), "--limit-ms", str(limit)], check=True, capture_output=True, text=True).stdout
            height, seconds = re.search(r"height (\d+) seconds ([\d.e+-]+)", text).groups()
            row += [height, f"{float(seconds):.3f}"]
        rows.append(row)
    return table(["instance", *(h for limit in PACK_LIMITS_MS for h in (f"height, limit {limit} ms", "seconds"))], rows)


def prediction(cases, folder):
    """Calibrated once for all cases; then every case is predicted and measured."""
    import statistics
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        profile = pathlib.Path(temporary) / "this.toml"
        for case in cases:
            command("calibrate", case, folder, "--profile", profile)
        for case in cases:
            for threads in (1, 2):
                predicted = json.loads(command("simulate", case, folder, "--profile", profile, "--threads", threads, "--json", "-"))["predicted_ms"]
                measured = statistics.median(json.loads(command("bench", case, folder, "--threads", threads, "--json", "-"))["latency_ms"]["median"] for _ in range(ATTEMPTS))
                rows.append([case, threads, f"{predicted:.2f}", f"{measured:.2f}", f"{predicted / measured:.3f}"])
    return table(["model", "threads", "predicted ms", "measured ms", "ratio"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-prediction", action="store_true", help="only what does not measure time")
    arguments = parser.parse_args()
    folder = models_folder()
    print(models_text(folder, MODELS), flush=True)
    cases = present(folder, MODELS)
    text = f"""# The planner in figures

Written by `make bench-plan`. [What the stages do](architecture.md); [the paper's requirements](paper.md).

## Structure

As the paper's table 7: before partitioning / after it / as refined.

{structure(cases, folder)}
## Bytes

Two threads, branches in parallel. [What the figures mean](architecture.md#memory).

{memory(cases, folder)}"""
    if os.environ.get("PACKING"):
        text += f"""
## Packing

Instances with room for exactly 1,048,576 bytes; greedy-by-size needs 1.23 to 1.44 times as much.

{packing(pathlib.Path(os.environ["PACKING"]))}"""
    if not arguments.no_prediction:
        text += f"""
## Prediction

`parallax calibrate` on each model once, then `parallax simulate` against `parallax bench`.

{prediction(cases, folder)}"""
    PAGE.write_text(text)
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
