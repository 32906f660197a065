"""The tables and the picture of docs/delegates.md: the CPU and a delegate in parallel, compared with the CPU alone and one after the other.

All runs have two cores: `cores` has one of them and the CPU the other. Variants of a model take turns, a process each, so that the
machine's drift is theirs alike; a cell is the median over the rounds of the ratio of a round's medians.
"""
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

from cases import CASES, CLI, ROOT, models_folder, present
from report import geometric_mean, table

MODELS = ("yolov8n", "whisper_encoder", "swinv2_tiny", "distilbert@64", "clip_text@64")
REFUSED = ("Softmax", "LayerNormalization", "Erf", "Resize")  # what NPUs refuse
ROUNDS = int(os.environ.get("ROUNDS", "5"))
RUNS = 20
PICTURE = ROOT / "docs" / "performance" / "trace.svg"


def bench(model, *words):
    """What `parallax bench` says of a model, a file with the values of its free dimensions."""
    file, dims = model
    command = [CLI, "bench", file, "--runs", RUNS, "--json", "-"]
    for symbol, numbers in dims.items():
        command += ["--dim", f"{symbol}={numbers[0]}"]
    done = subprocess.run([str(w) for w in (*command, *words)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def in_turns(model, variants):
    """{variant: [what bench says, round by round]}. A round before them, which does not count, measures the delegate's rates."""
    got = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as cache:
        for round_ in range(ROUNDS + 1):
            order = list(variants) if round_ % 2 == 0 else list(variants)[::-1]
            for name in order:
                figures = bench(model, "--cache", cache, *variants[name])
                if round_ > 0:
                    got[name].append(figures)
    return got


def ms(figures):
    return figures["latency_ms"]["median"]


def ratio(got, above, below):
    return statistics.median(ms(a) / ms(b) for a, b in zip(got[above], got[below]))


def median_ms(got, name):
    return f"{statistics.median(map(ms, got[name])):.1f}"


def errors(got, name):
    """How far each round's prediction is off what that round took."""
    return [figures["predicted_ms"] / ms(figures) - 1 for figures in got[name] if figures["predicted_ms"] is not None]


def error_text(of_model):
    return f"{statistics.median(of_model) * 100:+.0f} %" if of_model else "–"


def error_line(all_errors):
    """A sentence below a table."""
    if not all_errors:
        return ""
    return f"\nPredictions are off by {statistics.median(map(abs, all_errors)) * 100:.0f} % in the median over models and rounds.\n"


@functools.cache
def cases():
    """{case: (file, values of its free dimensions)}: those that are there, and those with branches next to what a delegate runs."""
    import branched_models  # needs onnx
    folder = models_folder()
    found = {case: (folder / f"{CASES[case][0]}.onnx", CASES[case][1]) for case in present(folder, MODELS)}
    return found | branched_models.make(folder)


def refusing_profile(folder):
    """opencl-mobile without what NPUs refuse, as a file."""
    text = (ROOT / "profiles" / "opencl-mobile.toml").read_text()
    for op in REFUSED:
        text = re.sub(rf'"{op}",\s*', "", text)
        text = re.sub(rf"^\[delegate\.limits\.{op}[.\]].*?(?=^\[|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
    path = pathlib.Path(folder) / "opencl-mobile-less.toml"
    path.write_text(text)
    return path


def everything():
    """(a) The delegate can run everything."""
    rows, ratios, off = [], [], []
    for case, model in cases().items():
        got = in_turns(model, {"cpu": ("--threads", 2), "both": ("--threads", 1, "--delegate", "cores", "--co-execution", "on")})
        ratios.append(ratio(got, "both", "cpu"))
        off += errors(got, "both")
        rows.append([case, median_ms(got, "cpu"), median_ms(got, "both"), f"{ratios[-1]:.2f}", got["both"][-1]["regions"], error_text(errors(got, "both"))])
    rows.append(["geometric mean", "", "", f"{geometric_mean(ratios):.2f}", "", ""])
    return table(["model", "CPU alone, 2 threads, ms", "CPU and `cores`, ms", "ratio", "regions", "prediction"], rows) + error_line(off)


def refused():
    """(b) The delegate refuses what NPUs refuse."""
    rows, overlap, both, off = [], [], [], []
    with tempfile.TemporaryDirectory() as made:
        delegate = ("--threads", 1, "--delegate", f"cores:{refusing_profile(made)}")
        unsplit = (*delegate, "--offload", "all")
        variants = {"sequential": (*unsplit, "--scheduler", "sequential"), "overlap": unsplit, "both": (*delegate, "--co-execution", "on")}
        for case, model in cases().items():
            got = in_turns(model, variants)
            overlap.append(ratio(got, "overlap", "sequential"))
            both.append(ratio(got, "both", "sequential"))
            off += errors(got, "both")
            rows.append([case, got["overlap"][-1]["regions"], *(median_ms(got, name) for name in got), f"{overlap[-1]:.2f}", f"{both[-1]:.2f}", error_text(errors(got, "both"))])
    rows.append(["geometric mean", "", "", "", "", f"{geometric_mean(overlap):.2f}", f"{geometric_mean(both):.2f}", ""])
    return table(["model", "regions", "one after the other, ms", "overlap, ms", "co-execution, ms", "overlap, ratio", "co-execution, ratio", "prediction"], rows) + error_line(off)


def losing():
    """(c) The delegate is predicted to lose."""
    rows = []
    for case, model in cases().items():
        got = in_turns(model, {"cpu": ("--threads", 2), "with": ("--threads", 2, "--delegate", "opencl")})
        rows.append([case, got["with"][0]["regions"], median_ms(got, "cpu"), median_ms(got, "with"), f"{ratio(got, 'with', 'cpu'):.3f}"])
    return table(["model", "regions", "CPU alone, ms", "with the delegate, ms", "ratio"], rows)


def picture():
    """One run of swinv2_tiny as an image: what each thread and the device do when."""
    models = cases()
    case = "swinv2_tiny" if "swinv2_tiny" in models else next(iter(models))
    with tempfile.TemporaryDirectory() as made:
        file = pathlib.Path(made) / "trace.json"
        bench(models[case], "--threads", 1, "--delegate", f"cores:{refusing_profile(made)}", "--trace", file)
        events = [e for e in json.loads(file.read_text())["traceEvents"] if e["ph"] == "X"]
    draw(events, case)
    return f"![One run of {case}](performance/trace.svg)\n"


def draw(events, case):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "trace"
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9, 1.8), layout="constrained")
    rows = sorted({(e["pid"], e["tid"]) for e in events})
    for e in events:
        axes.broken_barh([(e["ts"] / 1e3, e["dur"] / 1e3)], (rows.index((e["pid"], e["tid"])) - 0.4, 0.8), facecolors="C0" if e["pid"] == 1 else "C1", edgecolor="white", linewidth=0.2)
    axes.set_yticks(range(len(rows)), [f"CPU {tid}" if pid == 1 else "delegate" for pid, tid in rows])
    axes.set_xlabel(f"ms of a run of {case}")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None})
    pyplot.close(figure)
