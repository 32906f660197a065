#!/usr/bin/env python3
"""What `make demo` shows: held-out digits classified under every scheduler, then the five models of the zoo."""
import json
import lzma
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLI = ROOT / "build" / "release" / "parallax"
ZOO = ROOT / "build" / "zoo"
# Free dimensions of the zoo's models, as a user of each would choose them.
DIMS = {"whisper_tiny": ["seq=16"], "clip_text": ["batch=1", "seq=77"], "distilbert": ["batch=1", "seq=64"]}
ENOUGH_RIGHT = 0.97


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


def classify_digits():
    folder = ROOT / "models" / "digits"
    labels, logits = np.load(folder / "labels.npy"), {}
    for scheduler in ("sequential", "layers", "dataflow"):
        for threads in (1, 2, 3, 8):
            with tempfile.TemporaryDirectory() as out:
                parallax("run", folder / "digits.onnx", "--input", f"image={folder / 'images.npy'}", "--scheduler", scheduler, "--threads", threads, "--output-dir", out)
                logits[scheduler, threads] = np.load(f"{out}/0.npy")
    first = logits["sequential", 1]
    same = all(np.array_equal(first.view(np.uint32), other.view(np.uint32)) for other in logits.values())
    right = (first.argmax(1) == labels).mean()
    print(f"digits: {right:.1%} of {len(labels)} held-out digits right; {len(logits)} schedules, {'the same bits' if same else 'DIFFERENT BITS'}")
    return same and right >= ENOUGH_RIGHT


def run_zoo():
    def ms(model, scheduler, dims):
        text = parallax("bench", model, "--scheduler", scheduler, "--json", "-", "--warmup", 3, "--runs", 10, *dims)
        return json.loads(text)["latency_ms"]["median"]

    mib = 1 / 2**20
    print(f"\n{'model':<14}{'nodes':>7}{'branches':>10}{'layers':>8}{'parallel':>10}{'arena MiB':>11}{'(greedy':>9}{'naive)':>9}{'sequential ms':>15}{'parallel ms':>13}")
    for model in unpack_zoo():
        dims = [word for dim in DIMS.get(model.stem, []) for word in ("--dim", dim)]
        plan = json.loads(parallax("plan", model, "--json", "-", *dims))
        arena = plan["arena_bytes"]
        print(f"{model.stem:<14}{plan['nodes']:>7}{plan['branches']:>10}{plan['layers']:>8}{plan['parallel_layers']:>10}{arena['parallax'] * mib:>11.1f}"
              f"{arena['greedy'] * mib:>9.1f}{arena['naive'] * mib:>9.1f}{ms(model, 'sequential', dims):>15.1f}{ms(model, 'layers', dims):>13.1f}", flush=True)
    print("parallel: layers in which branches run at once. Both times use all CPUs; nodes share their tiles in both.")


if __name__ == "__main__":
    good = classify_digits()
    run_zoo()
    sys.exit(0 if good else 1)
