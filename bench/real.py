#!/usr/bin/env python3
"""Trained models from PyPI compared with ONNX Runtime and OpenVINO, TFLite files with LiteRT, on the same inputs: `make bench-real`.

    real.py [--threads 2] [--rounds 3] [MODEL...]    # measures, prints, writes docs/real-models.md and its picture if all are measured
    real.py --compare [MODEL...]                     # outputs compared only, with ONNX Runtime's or LiteRT's; nothing is measured

Engines take turns, a process each; a figure is the median over the rounds. Exit status of --compare: 1 if outputs differ.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import engines
import numpy as np
import real_models
import real_page
from cases import CLI

PEERS = {".onnx": ("onnxruntime", "openvino"), ".tflite": ("litert",)}  # the first gives the outputs to compare with
KEYS = ("ms", "first", "mib")
KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
HIGHEST = 256  # of integers that are made up: bytes


def picture(shape, random):
    """Light pages with dark lines of something like words, a little noisy: on noise alone a detector sees nothing, and rounding is all it gives."""
    height, width = shape[-2:]
    row, column = np.arange(height)[:, None], np.arange(width)[None, :]
    dark = (row // 12 % 2 == 1) & ((column + 37 * (row // 24)) // 9 % 7 != 0) & (column % 3 != 0)
    return (np.where(dark, -0.9, 0.9) + 0.1 * random.random(shape)).astype(np.float32)


def made_up_for_litert(model):
    from ai_edge_litert.interpreter import Interpreter
    random = np.random.default_rng(0)
    feeds = {i["name"]: random.random(model.inputs.get(i["name"], tuple(i["shape"])), dtype=np.float32)
             for i in Interpreter(str(model.path)).get_input_details()}
    interpreter = engines.litert_file(model.path, feeds, 1)
    interpreter.invoke()
    return feeds, [interpreter.get_tensor(o["index"]) for o in interpreter.get_output_details()]


def made_up(model):
    """({input: array}, [the outputs that the model's own runtime gives for them])"""
    if model.path.suffix == ".tflite":
        return made_up_for_litert(model)
    session = engines.onnxruntime_session(model.path, 1)
    random, feeds = np.random.default_rng(0), {}
    for i in session.get_inputs():
        shape, dtype = model.inputs[i.name], KINDS[i.type]
        if not isinstance(shape, tuple):
            feeds[i.name] = np.array(shape, dtype)
        elif np.issubdtype(dtype, np.floating):
            feeds[i.name] = picture(shape, random) if len(shape) == 4 else random.random(shape, dtype=np.float32)
        else:
            feeds[i.name] = random.integers(0, HIGHEST, shape).astype(dtype)
    return feeds, session.run(None, feeds)


def saved(feeds, folder):
    """The words that give files of inputs to the tool."""
    words = []
    for k, (name, value) in enumerate(feeds.items()):
        np.save(pathlib.Path(folder) / f"{k}.npy", value)
        words += ["--input", f"{name}={folder}/{k}.npy"]
    return words


def largest_difference(model, words, theirs, threads):
    """Between outputs, relative to the largest magnitude of the peer's; infinite if a shape differs."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(w) for w in (CLI, "run", model.path, "--threads", threads, "--output-dir", folder, *words)], check=True, capture_output=True)
        files = [entry["file"] for entry in json.loads((pathlib.Path(folder) / "outputs.json").read_text())]
        ours = [np.load(pathlib.Path(folder) / file) for file in files]
    worst = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return float("inf")
        wide = other.astype(np.float64)
        worst = max(worst, np.abs(mine - wide).max(initial=0) / max(np.abs(wide).max(initial=0), 1e-30))
    return float(worst)


def measure(model, threads, rounds):
    """{nodes, difference, engine: {key: median over the rounds}}"""
    feeds, theirs = made_up(model)
    got = {}
    with tempfile.TemporaryDirectory() as folder:
        words = saved(feeds, folder)
        np.savez(f"{folder}/feeds.npz", **feeds)
        row = {"nodes": nodes_of(model), "difference": largest_difference(model, words, theirs, threads)}
        for _ in range(rounds):
            for engine in ("parallax", *PEERS[model.path.suffix]):
                figures = engines.file_turn(engine, model.path, f"{folder}/feeds.npz", words, threads)
                if figures:
                    got.setdefault(engine, []).append(figures)
    return row | {engine: {key: statistics.median(f[key] for f in turns) for key in KEYS} for engine, turns in got.items()}


def nodes_of(model):
    done = subprocess.run([CLI, "info", model.path, "--json", "-"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["nodes"]


def compare_outputs(models):
    """Prints how far outputs are apart; whether none is too far."""
    right = True
    for model in models:
        feeds, theirs = made_up(model)
        with tempfile.TemporaryDirectory() as folder:
            difference = largest_difference(model, saved(feeds, folder), theirs, 2)
        right &= difference <= model.tolerance
        print(f"{model.name:12} {model.path.name:36} largest difference {difference:.1e}{'' if difference <= model.tolerance else '  TOO LARGE'}", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    models = [model for model in real_models.MODELS if model.name in arguments.models or not arguments.models]
    if unknown := set(arguments.models) - {model.name for model in models}:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(model.name for model in real_models.MODELS)}")
    try:
        real_models.fetch(models)
    except real_models.Unreachable as error:
        print(f"real models: not compared, the packages cannot be fetched: {error}", file=sys.stderr)
        return 0 if arguments.compare else 1
    if arguments.compare:
        return 0 if compare_outputs(models) else 1
    rows = {}
    for model in models:
        rows[model.name] = measure(model, arguments.threads, arguments.rounds)
        print(real_page.line(model.name, rows[model.name]), flush=True)
    if not arguments.models:
        real_page.write(rows, arguments.threads, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
