#!/usr/bin/env python3
"""Speed and memory of the zoo beside ONNX Runtime and OpenVINO, taking turns, one process each: `make bench`.

    compare.py [--threads 2] [--rounds 3] [--peers onnxruntime,openvino] [CASE...]

Each turn is 5 warm-up runs and 20 timed ones; the figure is the median over the rounds of the medians. On a shared machine
only ratios within one line mean something. Memory is what is resident at most, less what Python took before the peer
was loaded. f32 everywhere.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = {"yolov8n": {}, "whisper_tiny@16": {"seq": 16}, "swinv2_tiny": {}, "clip_text@64": {"batch": 1, "seq": 64}, "clip_text@8": {"batch": 1, "seq": 8},
         "distilbert@64": {"batch": 1, "seq": 64}, "distilbert@8": {"batch": 1, "seq": 8}}
WARMUP, RUNS = 5, 20


def model_of(case):
    return ROOT / "build" / "zoo" / f"{case.partition('@')[0]}.onnx"


def feeds_of(inputs, dims):
    """Inputs as (name, shape, is_float): random floats, masks of ones, small token numbers."""
    import numpy as np
    random, feeds = np.random.default_rng(0), {}
    for name, shape, is_float in inputs:
        shape = [d if isinstance(d, int) else dims[d] for d in shape]
        feeds[name] = random.random(shape, dtype=np.float32) if is_float else np.ones(shape, np.int64) if "mask" in name else random.integers(1, 1000, shape)
    return feeds


def load_onnxruntime(path, dims, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = feeds_of([(i.name, i.shape, i.type == "tensor(float)") for i in session.get_inputs()], dims)
    return lambda: session.run(None, feeds)


def load_openvino(path, dims, threads):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(str(path), "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    import onnxruntime  # only to read the inputs' symbols, after the peer was loaded
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = feeds_of([(i.name, i.shape, i.type == "tensor(float)") for i in session.get_inputs()], dims)
    request = compiled.create_infer_request()
    return lambda: request.infer(feeds)


def peer(name, case, threads):
    """One turn of a peer, in a process of its own; prints a JSON line."""
    import numpy  # noqa: F401  what a C++ user does not pay is taken off
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = {"onnxruntime": load_onnxruntime, "openvino": load_openvino}[name](model_of(case), CASES[case], threads)
    for _ in range(WARMUP):
        run()
    times, cpu = [], time.process_time()
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    cpu = (time.process_time() - cpu) * 1e3 / RUNS
    print(json.dumps({"ms": statistics.median(times), "cpu": cpu, "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}))


def parallax(case, threads):
    command = [str(ROOT / "build" / "release" / "parallax"), "bench", str(model_of(case)), "--json", "-", "--threads", str(threads), "--warmup", str(WARMUP), "--runs", str(RUNS)]
    for symbol, value in CASES[case].items():
        command += ["--dim", f"{symbol}={value}"]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"ms": figures["latency_ms"]["median"], "cpu": figures["cpu_ms_per_run"], "mib": figures["peak_rss_bytes"] / 2**20}


def turn(engine, case, threads):
    if engine == "parallax":
        return parallax(case, threads)
    command = [sys.executable, __file__, "--peer", engine, "--threads", str(threads), case]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="onnxruntime,openvino")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", default=list(CASES), choices=[*CASES, []], metavar="CASE")
    arguments = parser.parse_args()
    if arguments.peer:
        return peer(arguments.peer, arguments.cases[0], arguments.threads)
    sys.path.insert(0, str(ROOT / "scripts"))
    import demo
    list(demo.unpack_zoo())
    engines = ["parallax", *arguments.peers.split(",")]
    print(f"{'case':<17}" + "".join(f"{e + ' ms':>16}{'MiB':>7}{'cpu ms':>9}" for e in engines) + f"{'ratio to best: ms':>20}{'MiB':>6}")
    for case in arguments.cases:
        rounds = [{e: turn(e, case, arguments.threads) for e in engines} for _ in range(arguments.rounds)]
        figures = {e: {k: statistics.median(r[e][k] for r in rounds) for k in ("ms", "mib", "cpu")} for e in engines}
        ratios = [figures["parallax"][k] / min(figures[e][k] for e in engines[1:]) for k in ("ms", "mib")]
        print(f"{case:<17}" + "".join(f"{f['ms']:>16.2f}{f['mib']:>7.0f}{f['cpu']:>9.1f}" for f in figures.values()) + f"{ratios[0]:>20.2f}{ratios[1]:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
