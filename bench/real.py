"""Models of every kind from a folder: latency beside ONNX Runtime on the same inputs, two processes in turns.

    real.py FOLDER [THREADS]    # a line per model
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from cases import CLI

RUNS, WARMUP, ROUNDS = 20, 5, 3
# Seconds between the two: ONNX Runtime's threads spin for some 40 ms after a run, on the cores that the next process wants.
PAUSE = 0.2
# Sizes for free dimensions: one of a kind, an image's side, the length of a signal.
BATCH, SIDE, LENGTH = 1, 320, 512
SAMPLE_RATE = 16000
KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8}


def inputs_of(session):
    random, feeds = np.random.default_rng(0), {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else BATCH if k == 0 else SIDE if len(i.shape) == 4 else LENGTH for k, d in enumerate(i.shape)]
        dtype = KINDS[i.type]
        if np.issubdtype(dtype, np.floating):
            feeds[i.name] = random.random(shape, dtype=np.float32)
        else:
            feeds[i.name] = np.full(shape, SAMPLE_RATE, dtype) if i.name == "sr" else random.integers(1, 10, shape).astype(dtype)
    return feeds


def onnxruntime_session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def time_onnxruntime(session, feeds):
    times = []
    for _ in range(WARMUP + RUNS):
        start = time.perf_counter()
        session.run(None, feeds)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[WARMUP:])


def parallax(command, path, *words):
    """(standard output, why not)"""
    done = subprocess.run([str(word) for word in (CLI, command, path, *words)], capture_output=True, text=True)
    return (done.stdout, "") if done.returncode == 0 else (None, re.sub(r"^parallax: ('[^']*': )?", "", done.stderr.strip().splitlines()[-1]))


def time_parallax(path, feeds, threads, folder):
    words = []
    for k, (name, value) in enumerate(feeds.items()):
        file = pathlib.Path(folder) / f"{k}.npy"
        np.save(file, value)
        words += ["--input", f"{name}={file}"]
    text, why = parallax("bench", path, "--json", "-", "--threads", threads, "--warmup", WARMUP, "--runs", RUNS, *words)
    return (json.loads(text)["latency_ms"]["median"] if text else None), why


def first_line(error, path):
    text = str(error).splitlines()[0].replace(str(path), path.name)
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)[:160]


def open_onnxruntime(path, threads):
    """(session, inputs, why not): it is asked for one run."""
    try:
        session = onnxruntime_session(path, threads)
    except Exception as error:  # its errors have no common base
        return None, None, f"ONNX Runtime does not load it: {first_line(error, path)}"
    try:
        feeds = inputs_of(session)
        session.run(None, feeds)
    except Exception as error:
        return None, None, f"ONNX Runtime fails on the inputs that are made up here: {first_line(error, path)}"
    return session, feeds, ""


def refusal(path):
    """Why Parallax does not run a model whatever its inputs; empty where it does."""
    why = parallax("plan", path)[1]
    return f"Parallax: {why}" if why.startswith("unsupported") else ""


def measure(folder, threads):
    """[{model, parallax, onnxruntime}] in milliseconds; `why` where one of them, or both, do not run the model."""
    rows = []
    for path in sorted(folder.rglob("*.onnx")):
        session, feeds, theirs_not = open_onnxruntime(path, threads)
        row = {"model": str(path.relative_to(folder)), "why": "; ".join(why for why in (refusal(path), theirs_not) if why)}
        rows.append(row)
        if row["why"]:
            continue
        with tempfile.TemporaryDirectory() as inputs:
            ours, theirs = [], []
            for _ in range(ROUNDS):
                time.sleep(PAUSE)
                ms, why = time_parallax(path, feeds, threads, inputs)
                if ms is None:
                    row["why"] = f"Parallax: {why}"
                    break
                ours.append(ms)
                theirs.append(time_onnxruntime(session, feeds))
        if ours:
            row |= {"parallax": statistics.median(ours), "onnxruntime": statistics.median(theirs)}
    return rows


if __name__ == "__main__":
    for row in measure(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2):
        ratio = f"{row['parallax'] / row['onnxruntime']:.2f}  {row['parallax']:9.3f} {row['onnxruntime']:9.3f}" if "parallax" in row else f"      {row['why']}"
        print(f"{row['model']:70} {ratio}", flush=True)
