"""One turn of one engine on one case: warm-up, timed runs, memory, CPU time. A peer runs in a process of its own.

    engines.py PEER CASE FOLDER THREADS    # prints a JSON line: what `turn` returns
"""
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from cases import CASES, CLI, SHAPES, TFLITE, VOCABULARY

WARMUP, RUNS = 5, 20
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "litert": "LiteRT"}


def feeds_of(inputs, case, run):
    """{name: array} from [(name, shape with None or names where free, numpy dtype)]."""
    import numpy as np
    random, feeds, dims = np.random.default_rng(run), {}, CASES[case][1]
    for name, shape, dtype in inputs:
        shape = SHAPES.get(CASES[case][0], {}).get(name) or [d if isinstance(d, int) else dims[d][run % len(dims[d])] for d in shape]
        if np.issubdtype(dtype, np.floating):
            feeds[name] = random.random(shape, dtype=np.float32)
        else:
            feeds[name] = np.ones(shape, dtype) if "mask" in name else random.integers(1, VOCABULARY, shape).astype(dtype)
    return feeds


def load_onnxruntime(case, folder, threads):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(folder / f"{CASES[case][0]}.onnx"), options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    inputs = [(i.name, i.shape, kinds[i.type]) for i in session.get_inputs()]
    return lambda run: feeds_of(inputs, case, run), lambda feeds: session.run(None, feeds)


def load_openvino(case, folder, threads):
    import numpy as np
    import openvino
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(folder / f"{CASES[case][0]}.onnx"), "CPU", settings)
    request = compiled.create_infer_request()
    # The importer keeps no names of free dimensions: they come in the order in which cases.py gives them.
    free = list(CASES[case][1])
    inputs = []
    for i in compiled.inputs:
        dims = list(i.partial_shape)
        names = iter(free[-sum(d.is_dynamic for d in dims):] if any(d.is_dynamic for d in dims) else [])
        inputs.append((i.any_name, [next(names, 1) if d.is_dynamic else d.get_length() for d in dims], np.float32 if i.element_type.is_real() else np.int64))
    return lambda run: feeds_of(inputs, case, run), lambda feeds: request.infer(feeds)


def load_litert(case, folder, threads):
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(str(folder / f"{TFLITE[case]}.tflite"), num_threads=threads)
    interpreter.allocate_tensors()
    random = np.random.default_rng(0)
    for i in interpreter.get_input_details():
        value = random.random(i["shape"], dtype=np.float32) if i["dtype"] == np.float32 else random.integers(1, VOCABULARY, i["shape"]).astype(i["dtype"])
        interpreter.set_tensor(i["index"], value)
    return lambda run: None, lambda feeds: interpreter.invoke()


def summary(ms, dynamic):
    return {"ms": statistics.mean(ms) if dynamic else statistics.median(ms), "min": min(ms), "max": max(ms)}


def peer(name, case, folder, threads):
    import numpy  # noqa: F401  what a C++ user does not pay is taken off
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    feeds_of_run, run = {"onnxruntime": load_onnxruntime, "openvino": load_openvino, "litert": load_litert}[name](case, folder, threads)
    feeds = feeds_of_run(0)
    run(feeds)
    first = (time.perf_counter() - start) * 1e3
    values = max([len(v) for v in CASES[case][1].values()], default=1)
    for i in range(max(WARMUP, values) - 1):
        run(feeds_of_run(i))
    all_feeds = [feeds_of_run(i) for i in range(max(RUNS, values))]
    times, cpu = [], time.process_time()
    for feeds in all_feeds:
        start = time.perf_counter()
        run(feeds)
        times.append((time.perf_counter() - start) * 1e3)
    cpu = (time.process_time() - cpu) * 1e3 / len(times)
    return summary(times, values > 1) | {"first": first, "cpu": cpu, "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


def bench(case, folder, threads, *extra, cli=CLI):
    """The figures of `parallax bench --json`."""
    model, dims, _ = CASES[case]
    values = max([len(v) for v in dims.values()], default=1)
    command = [cli, "bench", folder / f"{model}.onnx", "--json", "-", "--threads", threads, "--warmup", max(WARMUP, values), "--runs", max(RUNS, values), *extra]
    for symbol, numbers in dims.items():
        command += ["--dim", f"{symbol}={','.join(map(str, numbers))}"]
    for name, shape in SHAPES.get(model, {}).items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)


def parallax(case, folder, threads, *extra, cli=CLI):
    f = bench(case, folder, threads, *extra, cli=cli)
    latency = f["latency_ms"]
    dynamic = max([len(v) for v in CASES[case][1].values()], default=1) > 1
    return {"ms": latency["mean" if dynamic else "median"], "min": latency["min"], "max": latency["max"], "first": f["load_ms"] + f["first_run_ms"],
            "cpu": f["cpu_ms_per_run"], "mib": f["peak_rss_bytes"] / 2**20}


def turn(engine, case, folder, threads):
    """Figures of one turn, or None where the engine cannot run the case."""
    if engine == "parallax":
        return parallax(case, folder, threads)
    if engine == "litert" and not (folder / f"{TFLITE.get(case)}.tflite").exists():
        return None
    done = subprocess.run([sys.executable, __file__, engine, case, str(folder), str(threads)], capture_output=True, text=True)
    if done.returncode:
        print(f"{case}: {engine} failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:200]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(peer(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]))))
