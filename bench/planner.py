"""The tables of docs/planner.md, which `make docs` writes: structure, memory, packing and prediction of the plans of the zoo's
models. Only packing and prediction measure time; figures marked `~` depend on the machine."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

from cases import ROOT
from demo import MIB, SHOWN, about, parallax, words
from report import table

PACK = ROOT / "build" / "release" / "parallax-pack"
FIGURES = ("naive", "greedy", "lower_bound", "paper", "parallax")
THREADS = (1, 2, 4, 8)
DELEGATE = "opencl-mobile"
PACK_LIMITS_MS = (50, 10000)
ATTEMPTS = 3  # a shared machine: the median of as many predictions and alternating measurements


def plan(case, *extra):
    return json.loads(parallax("plan", *words(case), "--json", "-", *extra))


def structure():
    parts, timed = [], {("refined", "parallel_layers"), ("refined", "max_branches")}
    for title, extra in (("Without a delegate", ()), (f"With `{DELEGATE}`", ("--delegate", DELEGATE))):
        rows = []
        for case in SHOWN:
            stages = plan(case, "--structure", "--threads", 2, *extra)["structure"]
            rows.append([case, *(" / ".join(about(stages[stage][key]) if (stage, key) in timed else str(stages[stage][key]) for stage in stages)
                                 for key in ("nodes", "layers", "parallel_layers", "max_branches"))])
        parts.append(f"{title}:\n\n" + table(["model", "nodes", "layers", "parallel layers", "max branches"], rows))
    return "\n".join(parts)


def memory():
    rows, growth = [], []
    for case in SHOWN:
        by_threads = {t: plan(case, "--threads", t)["arena_bytes"] for t in THREADS}
        a = by_threads[2]
        rows.append([case, *(f"{a[k] / MIB:.2f}" for k in FIGURES[:-1]), about(f"{a['parallax'] / MIB:.2f}"),
                     *(about(f"{a['parallax'] / a[k]:.3f}") for k in ("greedy", "paper"))])
        growth.append([case, *(about(f"{by_threads[t]['parallax'] / MIB:.2f}") for t in THREADS)])
    return (table(["model", *(f"{k} MiB" for k in FIGURES), "parallax / greedy", "parallax / paper"], rows)
            + "\nArena bytes by number of threads:\n\n" + table(["model", *(f"{t} thread{'s' if t > 1 else ''}, MiB" for t in THREADS)], growth))


def packing():
    """None where $PACKING, a folder of .csv instances as parallax-pack reads them, is not set: what the page has stays."""
    if not os.environ.get("PACKING"):
        return None
    rows = []
    for path in sorted(pathlib.Path(os.environ["PACKING"]).glob("*.csv")):
        row = [path.name.split(".")[0]]
        for limit in PACK_LIMITS_MS:
            text = subprocess.run([str(PACK), str(path), "--limit-ms", str(limit)], check=True, capture_output=True, text=True).stdout
            height, seconds = re.search(r"height (\d+) seconds ([\d.e+-]+)", text).groups()
            row += [height, f"{float(seconds):.3f}"]
        rows.append(row)
    return table(["instance", *(h for limit in PACK_LIMITS_MS for h in (f"height, limit {limit} ms", "seconds"))], rows)


def prediction():
    """Calibrated once for all cases; then every case is predicted and measured."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        profile = pathlib.Path(temporary) / "this.toml"
        for case in SHOWN:
            parallax("calibrate", *words(case), "--profile", profile)
        for case in SHOWN:
            for threads in (1, 2):
                predicted = json.loads(parallax("simulate", *words(case), "--profile", profile, "--threads", threads, "--json", "-"))["predicted_ms"]
                measured = statistics.median(json.loads(parallax("bench", *words(case), "--threads", threads, "--json", "-"))["latency_ms"]["median"] for _ in range(ATTEMPTS))
                rows.append([case, threads, f"{predicted:.2f}", f"{measured:.2f}", f"{predicted / measured:.3f}"])
    return table(["model", "threads", "predicted ms", "measured ms", "ratio"], rows) + "\nModels: the zoo's.\n"
