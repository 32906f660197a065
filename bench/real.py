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


def time_parallax(path, feeds, threads, folder):
    command = [CLI, "bench", path, "--json", "-", "--threads", threads, "--warmup", WARMUP, "--runs", RUNS]
    for k, (name, value) in enumerate(feeds.items()):
        file = pathlib.Path(folder) / f"{k}.npy"
        np.save(file, value)
        command += ["--input", f"{name}={file}"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        return None, re.sub(r"^parallax: ('[^']*': )?", "", done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)["latency_ms"]["median"], ""


def measure(folder, threads):
    """[{model, parallax, onnxruntime}] in milliseconds; `why` where one of them refuses the model."""
    rows = []
    for path in sorted(folder.rglob("*.onnx")):
        row = {"model": str(path.relative_to(folder))}
        rows.append(row)
        try:
            session = onnxruntime_session(path, threads)
            feeds = inputs_of(session)
            session.run(None, feeds)
        except Exception as error:  # whatever the peer says: the row tells it
            row["why"] = f"ONNX Runtime: {str(error).splitlines()[0].replace(str(path), path.name)[:100]}"
            continue
        with tempfile.TemporaryDirectory() as inputs:
            ours, theirs = [], []
            for _ in range(ROUNDS):
                time.sleep(PAUSE)
                ms, row["why"] = time_parallax(path, feeds, threads, inputs)
                if ms is None:
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
