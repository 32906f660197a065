"""The tables of docs/paper-tables.md, which `make paper` writes: the paper's figures next to what `parallax simulate` and `parallax
plan` say of its phones. Nothing is timed."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import paper_figures as figures
from cases import CASES, CLI, ROOT, TFLITE, models_folder
from report import table
from tables import busy_ms

THREADS = 6  # of all runtimes, section 4.1
SWEEP = range(1, 9)
PHONE = "pixel6"  # of the tables that have one phone
MB = 1e6
NODES_OF = ("nodes", "layers", "parallel_layers", "max_branches")
PRODUCTS = ("Conv", "CosineAttention", "FusedAttention", "Gemm", "MatMul")
FEW = 4  # nodes: fewer say little of a kernel's rate
SEVERAL, SINGLE = 3, 2  # layers shown that have several branches, and one

# model -> (file, the least and the most that a run gets: the tokens of P63, and Whisper's first and last step)
TEXT = ({"batch": 1, "seq": 16}, {"batch": 1, "seq": 77})
MODELS = {
    "YOLOv8n": ("yolov8n", {}, {}),
    "Whisper-Tiny": ("whisper_tiny", {"seq": 1}, {"seq": 448}),
    "SwinV2-Tiny": ("swinv2_tiny", {}, {}),
    "CLIP Text Encoder": ("clip_text", *TEXT),
    "DistilBERT": ("distilbert", *TEXT),
}
LAYERED = {"Whisper-Tiny": (), "SwinV2-Tiny": ("--delegate", PHONE)}  # table 6


def call(*arguments):
    done = subprocess.run([str(a) for a in (CLI, *arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"parallax ended with {done.returncode}")
    return done.stdout


def folder():
    import demo
    list(demo.unpack_zoo())
    return demo.ZOO


def answer_of(command, path, dims, *arguments):
    """The JSON of a command on a file."""
    words = [word for symbol, n in dims.items() for word in ("--dim", f"{symbol}={n}")]
    return json.loads(call(command, path, *words, *arguments, "--json", "-"))


def answer(command, model, *arguments, most=False):
    """The JSON of a command on a model, with the least or the most that a run gets."""
    file, *dims = MODELS[model]
    return answer_of(command, folder() / f"{file}.onnx", dims[most], *arguments)


def simulated_ms(model, phone, *arguments, threads=THREADS, most=False):
    return answer("simulate", model, "--profile", phone, "--threads", threads, *arguments, most=most)["predicted_ms"]


def pair(values, digits=0):
    return "–" if values is None else " / ".join("–" if v is None else f"{v:.{digits}f}" for v in values)


def efficiency():
    """The share of a core's peak that kernels of products reach where they were timed, which the replay takes for all cores."""
    header = (ROOT / "src" / "cost" / "kernel_seconds.h").read_text()
    hertz, per_cycle = map(float, re.search(r"kMeasuredPeaks = \{([\d.e]+), (\d+),", header).groups())
    rows = re.findall(r'PX_RATES\((\w+), "(\w+)", ([\d.e]+),.*// (\d+) nodes', (ROOT / "src" / "cost" / "kernel_rates.def").read_text())
    products = [(op, kernel, float(macs), nodes) for op, kernel, macs, nodes in rows if op in PRODUCTS and int(nodes) >= FEW and not kernel.endswith("bf16")]
    return table(["operator", "kernel", "MAC a nanosecond", "share of the peak", "nodes timed"],
                 [[op, f"`{kernel}`", f"{macs:g}", f"{macs * 1e9 / (hertz * per_cycle):.2f}", nodes] for op, kernel, macs, nodes in products])


def latency():
    parts = []
    for phone, name in figures.PHONES.items():
        rows = []
        for model in MODELS:
            cpu, het = figures.LATENCY[phone][model]
            ours = [simulated_ms(model, phone, most=most) for most in (False, True)]
            helped = [simulated_ms(model, phone, "--delegate", phone, most=most) for most in (False, True)]
            others = [min(runtime[k] for runtime in cpu[:3]) for k in (0, 1)]
            rows.append([model, pair(ours, 1), pair(cpu[3]), pair(others), f"{ours[0] / cpu[3][0]:.2f}", pair(helped, 1), pair(het)])
        parts.append(f"{name}:\n\n" + table(["model", "CPU ms", "the paper's Parallax", "its fastest other", "ours / its Parallax, least", "with the accelerator ms", "the paper's"], rows))
    return "\n".join(parts)


def memory():
    rows = []
    for model in MODELS:
        plan = answer("plan", model, "--threads", THREADS, most=True)
        arena = {name: n / MB for name, n in plan["arena_bytes"].items()}
        peak = arena["parallax"] + plan["packed_weight_bytes"] / MB
        four, naive = figures.ARENA[model]
        rows.append([model, f"{peak:.1f}", *(f"{p[3]:.1f} ({min(m for m in p[:3] if m):.1f})" for p in figures.PEAK[model].values()),
                     *(f"{arena[kind]:.2f}" for kind in ("parallax", "paper", "naive")), f"{four[3]:.2f} ({min(four[:3]):.2f})", f"{naive:.2f}"])
    return table(["model", "peak MB", *(f"the paper's, {name}" for name in figures.PHONES.values()), "arena MB", "as the paper plans", "no reuse", "the paper's arena", "its no reuse"], rows)


def layer_rows(model, *extra):
    """[(layer, one after the other ms, layers ms, branches)]: the longest layers of several branches, then those of one."""
    common = ("--threads", THREADS, *extra)
    branches = answer("plan", model, "--scheduler", "layers", *common)["branch_list"]
    layers = {}
    for branch in branches:
        layers.setdefault(branch["layer"], []).append(branch["id"])
    times = []
    for scheduler in ("sequential", "layers"):
        spans = {b["id"]: (b["begin_ms"], b["end_ms"]) for b in answer("simulate", model, "--profile", PHONE, "--scheduler", scheduler, *common)["branch_list"]}
        times.append({layer: busy_ms([spans[b] for b in ids]) for layer, ids in layers.items()})
    on_device = {b["id"] for b in branches if "region" in b}
    rows = []
    for wanted, count in ((lambda n: n > 1, SEVERAL), (lambda n: n == 1, SINGLE)):
        fitting = [layer for layer, ids in layers.items() if wanted(len(ids))]
        for layer in sorted(sorted(fitting, key=lambda layer: -times[0][layer])[:count]):
            regions = len(on_device & set(layers[layer]))
            rows.append((layer, times[0][layer], times[1][layer], f"{len(layers[layer])}" + (f" ({regions}D)" if regions else "")))
    return rows


def layers():
    parts = []
    for model, extra in LAYERED.items():
        head = ["layer", "one after the other ms", "in parallel ms", "branches"]
        ours = [[layer, f"{a:.2f}", f"{b:.2f}", n] for layer, a, b, n in layer_rows(model, *extra)]
        theirs = [[layer, f"{a:.2f}", f"{b:.2f}", n] for layer, a, b, n in figures.LAYERS[model]]
        parts.append(f"{model}{' with the accelerator' if extra else ''}, ours:\n\n{table(head, ours)}\nThe paper's, TFLite and Parallax:\n\n{table(head, theirs)}")
    return "\n".join(parts)


def structure():
    rows = []
    for model in MODELS:
        stages = answer("plan", model, "--structure", "--threads", THREADS, "--delegate", PHONE)["structure"]
        rows.append([model, *(cell for key in NODES_OF for cell in (pair([stages[stage][key] for stage in stages]), pair(figures.STRUCTURE[model][key])))])
    return table(["model", *(head for key in NODES_OF for head in (key.replace("_", " "), "the paper's"))], rows)


def tflite():
    """The TFLite forms of $MODELS beside their ONNX forms; None without such files: the project has none of its own."""
    rows = []
    for case, file in TFLITE.items():
        name, dims, _ = CASES[case]
        here = models_folder()
        forms = [(here / f"{file}.tflite", {}), (here / f"{name}.onnx", {symbol: values[0] for symbol, values in dims.items()})]
        if not all(path.exists() for path, _ in forms):
            continue
        cells = []
        for form in forms:
            before, *_, refined = answer_of("plan", *form, "--structure", "--threads", THREADS, "--delegate", PHONE)["structure"].values()
            plan = answer_of("plan", *form, "--threads", THREADS)
            ms = [answer_of("simulate", *form, "--profile", PHONE, "--threads", THREADS, *extra)["predicted_ms"] for extra in ((), ("--delegate", PHONE))]
            cells.append([*(pair([stage[key] for stage in (before, refined)]) for key in NODES_OF), f"{plan['arena_bytes']['parallax'] / MB:.2f}", *(f"{each:.1f}" for each in ms)])
        rows.append([case, *(f"{ours}, {onnx}" for ours, onnx in zip(*cells, strict=True))])
    head = ["model", *(key.replace("_", " ") for key in NODES_OF), "arena MB", "CPU ms", "with the accelerator ms"]
    return table(head, rows) if rows else None


def threads():
    rows = []
    for model in MODELS:
        ms = [simulated_ms(model, PHONE, threads=n) for n in SWEEP]
        rows.append([model, *(f"{each:.1f}" for each in ms), 1 + ms.index(min(ms))])
    return table(["model", *(f"{n}" for n in SWEEP), "fastest at"], rows)


def profile_with(path, cpu_macs_per_second):
    """The phone's profile with another R_cpu."""
    text = (ROOT / "profiles" / f"{PHONE}.toml").read_text()
    path.write_text(re.sub(r"(?m)^cpu_macs_per_second = \S+", f"cpu_macs_per_second = {cpu_macs_per_second:.6g}", text))
    return path


def ablation():
    """Latency without refinement; with an accelerator, without a cost model; bytes without reuse."""
    cpu, device, memory_ = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        for model in MODELS:
            cpu.append([model, *(f"{simulated_ms(model, PHONE, *extra):.2f}" for extra in ((), ("--refinement", "paper"), ("--refinement", "none"), ("--scheduler", "sequential")))])
            basis = answer("simulate", model, "--profile", PHONE)["basis"]
            one_core = profile_with(pathlib.Path(temporary) / "core.toml", basis["macs_per_second"])
            choices = ((one_core, ()), (PHONE, ()), (PHONE, ("--cost-model", "paper")), (PHONE, ("--offload", "all")))
            device.append([model])
            for profile, extra in choices:
                regions = answer("plan", model, "--delegate", profile, "--threads", THREADS, *extra)["regions"]
                device[-1].append(f"{simulated_ms(model, PHONE, '--delegate', profile, *extra):.2f} ({regions})")
            arena = answer("plan", model, "--threads", THREADS)["arena_bytes"]
            memory_.append([model, *(f"{arena[kind] / MB:.2f}" for kind in ("parallax", "paper", "naive"))])
    return ("Milliseconds on the CPU:\n\n" + table(["model", "Parallax", "refined as the paper", "no refinement", "one branch at a time"], cpu)
            + "\nMilliseconds with the accelerator, and in brackets its regions:\n\n" + table(["model", "R_cpu of a core", "the paper's R_cpu", "the paper's thresholds", "no cost model"], device)
            + "\nMB of activations:\n\n" + table(["model", "Parallax", "as the paper plans", "no reuse"], memory_))
