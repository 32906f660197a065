#!/usr/bin/env python3
"""What `make demo` shows: held-out digits classified under every scheduler, the plans of the zoo's models, their times and memory
compared with ONNX Runtime, where it is installed, and what parallel branches are worth on a model that is wide."""
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import engines  # noqa: E402
from cases import CASES, CLI  # noqa: E402

ZOO = ROOT / "build" / "zoo"
SHOWN = ("clip_text@64", "distilbert@64", "swinv2_tiny", "whisper_tiny@16", "yolov8n", "sensors")
WIDE, WIDE_THREADS = "sensors", (1, 2, 4)
ENOUGH_RIGHT = 0.97
MIB = 2**20


def parallax(*arguments):
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"parallax ended with {done.returncode}")
    return done.stdout


def unpack_zoo():
    """The zoo's files, unpacked once."""
    ZOO.mkdir(parents=True, exist_ok=True)
    for packed in sorted((ROOT / "models" / "zoo").glob("*.onnx.xz")):
        model = ZOO / packed.stem
        if not model.exists() or model.stat().st_mtime < packed.stat().st_mtime:
            with lzma.open(packed) as source, tempfile.NamedTemporaryFile(dir=ZOO, delete=False) as target:
                shutil.copyfileobj(source, target)
            pathlib.Path(target.name).rename(model)
        yield model


def words(case):
    """The model's file and the values of its free dimensions, as the tool takes them."""
    model, dims, _ = CASES[case]
    return [ZOO / f"{model}.onnx", *(word for symbol, values in dims.items() for word in ("--dim", f"{symbol}={values[0]}"))]


def classify_digits(file):
    folder = ROOT / "models" / "digits"
    labels, logits = np.load(folder / "labels.npy"), {}
    for scheduler in ("sequential", "layers", "dataflow"):
        for threads in (1, 2, 3, 8):
            with tempfile.TemporaryDirectory() as out:
                parallax("run", folder / file, "--input", f"image={folder / 'images.npy'}", "--scheduler", scheduler, "--threads", threads, "--output-dir", out)
                logits[scheduler, threads] = np.load(f"{out}/0.npy")
    first = logits["sequential", 1]
    same = all(np.array_equal(first.view(np.uint32), other.view(np.uint32)) for other in logits.values())
    right = (first.argmax(1) == labels).mean()
    print(f"{file}: {right:.1%} of {len(labels)} held-out digits right; {len(logits)} schedules, {'the same bits' if same else 'DIFFERENT BITS'}")
    return same and right >= ENOUGH_RIGHT


def about(figure):
    """A figure that depends on the machine: predicted times decide which branches run concurrently."""
    return f"~{figure}"


def plans(threads):
    """The planner's figures of each model, the same on every machine but those marked `~`, as docs.py knows them."""
    yield f"{'plan':<16}{'nodes':>7}{'branches':>10}{'layers':>8}{'parallel':>10}{'arena MiB':>11}{'(greedy':>9}{'naive)':>9}"
    for case in SHOWN:
        plan = json.loads(parallax("plan", *words(case), "--threads", threads, "--json", "-"))
        arena = {name: bytes_ / MIB for name, bytes_ in plan["arena_bytes"].items()}
        yield (f"{case:<16}{plan['nodes']:>7}{plan['branches']:>10}{plan['layers']:>8}{about(plan['parallel_layers']):>10}"
               f"{about(format(arena['parallax'], '.2f')):>11}{arena['greedy']:>9.2f}{arena['naive']:>9.2f}")
    yield "parallel: layers whose branches run concurrently. greedy: every tensor in one arena. naive: a buffer for every tensor."
    yield "~: depends on the CPU, as branches run concurrently if that is predicted to be faster."


def if_peer(text):
    """What is shown only where ONNX Runtime is."""
    return text if HAS_PEER else ""


def times(threads):
    peer = if_peer(f"{'ONNX Runtime':>14}{'ratio':>7}")
    yield f"{f'{threads} threads':<16}{'ms':>8}{peer}{'peak MiB':>11}{peer}"
    for case in SHOWN:
        ours = engines.turn("parallax", case, ZOO, threads)
        theirs = HAS_PEER and engines.turn("onnxruntime", case, ZOO, threads)
        line = f"{case:<16}"
        for key, width, digits in (("ms", 8, 2), ("mib", 11, 0)):
            line += f"{ours[key]:>{width}.{digits}f}"
            line += if_peer(f"{theirs[key]:>14.{digits}f}{ours[key] / theirs[key]:>7.2f}" if theirs else f"{'-':>14}{'-':>7}")
        yield line


def branches():
    cpus = len(os.sched_getaffinity(0))
    yield f"{WIDE + ', ms':<16}{'one branch at a time':>22}{'parallel branches':>18}" + if_peer(f"{'ONNX Runtime':>14}")
    for threads in WIDE_THREADS:
        ms = [json.loads(parallax("bench", *words(WIDE), "--threads", threads, "--scheduler", scheduler, "--warmup", 50, "--runs", 200, "--json", "-"))["latency_ms"]["median"]
              for scheduler in ("sequential", "dataflow")]
        theirs = HAS_PEER and engines.turn("onnxruntime", WIDE, ZOO, threads)
        note = f"  (this machine has {cpus} CPUs)" if threads > cpus else ""
        yield f"{threads:>2} threads      {ms[0]:>22.3f}{ms[1]:>18.3f}" + if_peer(f"{theirs['ms']:>14.3f}" if theirs else f"{'-':>14}") + note


def has_peer():
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


HAS_PEER = has_peer()


def show(lines):
    print()
    for line in lines:
        print(line, flush=True)


def main():
    threads = len(os.sched_getaffinity(0))
    good = all([classify_digits(file) for file in ("digits.onnx", "digits.tflite")])  # shows both in any case
    list(unpack_zoo())
    show(plans(threads))
    show(times(threads))
    show(branches())
    if not HAS_PEER:
        print("\nONNX Runtime is not installed: `make venv` installs it, then `make demo` compares with it.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
