"""One turn of one engine on one case: warm-up, timed runs, memory, CPU time. A peer runs in a process of its own.

    engines.py PEER CASE FOLDER THREADS             # prints a JSON line: what `turn` returns
    engines.py PEER FILE.onnx FEEDS.npz THREADS     # what `file_turn` returns
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

from cases import ALL, CLI, SHAPES, TFLITE, VOCABULARY

WARMUP, RUNS = 5, 20
LONG = 5.0  # milliseconds of a run
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "litert": "LiteRT"}


def feeds_of(inputs, case, run):
    """{name: array} from [(name, shape with None or names where free, numpy dtype)]."""
    import numpy as np
    random, feeds, dims = np.random.default_rng(run), {}, ALL[case][1]
    for name, shape, dtype in inputs:
        shape = SHAPES.get(ALL[case][0], {}).get(name) or [d if isinstance(d, int) else dims[d][run % len(dims[d])] for d in shape]
        if np.issubdtype(dtype, np.floating):
            feeds[name] = random.random(shape, dtype=np.float32)
        else:
            feeds[name] = np.ones(shape, dtype) if "mask" in name else random.integers(1, VOCABULARY, shape).astype(dtype)
    return feeds


def onnxruntime_session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def load_onnxruntime(case, folder, threads):
    import numpy as np
    session = onnxruntime_session(folder / f"{ALL[case][0]}.onnx", threads)
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    inputs = [(i.name, i.shape, kinds[i.type]) for i in session.get_inputs()]
    return lambda run: feeds_of(inputs, case, run), lambda feeds: session.run(None, feeds)


def openvino_settings(threads):
    return {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}


def load_openvino(case, folder, threads):
    import numpy as np
    import openvino
    compiled = openvino.Core().compile_model(str(folder / f"{ALL[case][0]}.onnx"), "CPU", openvino_settings(threads))
    request = compiled.create_infer_request()
    # The importer keeps no names of free dimensions: they come in the order in which cases.py gives them.
    free = list(ALL[case][1])
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


def peak_mib():
    """Of this process since it began its program; getrusage() counts what the process before that had, too."""
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024


def summary(ms, dynamic):
    return {"ms": statistics.mean(ms) if dynamic else statistics.median(ms), "min": min(ms), "max": max(ms)}


def peer(name, case, folder, threads):
    import numpy  # noqa: F401  what a C++ user does not pay is taken off
    before = peak_mib()
    start = time.perf_counter()
    feeds_of_run, run = {"onnxruntime": load_onnxruntime, "openvino": load_openvino, "litert": load_litert}[name](case, folder, threads)
    feeds = feeds_of_run(0)
    run(feeds)
    first = (time.perf_counter() - start) * 1e3
    values = max([len(v) for v in ALL[case][1].values()], default=1)
    for i in range(max(WARMUP, values) - 1):
        run(feeds_of_run(i))
    all_feeds = [feeds_of_run(i) for i in range(max(RUNS, values))]
    times, cpu = [], time.process_time()
    for feeds in all_feeds:
        start = time.perf_counter()
        run(feeds)
        times.append((time.perf_counter() - start) * 1e3)
    cpu = (time.process_time() - cpu) * 1e3 / len(times)
    return summary(times, values > 1) | {"first": first, "cpu": cpu, "mib": peak_mib() - before}


def load_openvino_file(path, feeds, threads):
    """A file whose free dimensions are those of the feeds."""
    import openvino
    core = openvino.Core()
    model = core.read_model(str(path))
    names = [next(name for name in i.names if name in feeds) for i in model.inputs]
    model.reshape({k: list(feeds[name].shape) for k, name in enumerate(names)})
    request = core.compile_model(model, "CPU", openvino_settings(threads)).create_infer_request()
    given = {k: feeds[name] for k, name in enumerate(names)}
    return lambda: request.infer(given)


def load_onnxruntime_file(path, feeds, threads):
    session = onnxruntime_session(path, threads)
    return lambda: session.run(None, feeds)


def litert_file(path, feeds, threads):
    """An interpreter of a file, with the sizes and values of the feeds."""
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(str(path), num_threads=threads)
    for i in interpreter.get_input_details():
        if tuple(i["shape"]) != feeds[i["name"]].shape:
            interpreter.resize_tensor_input(i["index"], feeds[i["name"]].shape)
    interpreter.allocate_tensors()
    for i in interpreter.get_input_details():
        interpreter.set_tensor(i["index"], feeds[i["name"]])
    return interpreter


def load_litert_file(path, feeds, threads):
    return litert_file(path, feeds, threads).invoke


def runs_of(ms):
    """How many runs are timed: short ones more often."""
    return RUNS if ms > LONG else 10 * RUNS


def file_peer(name, path, feeds, threads):
    import numpy as np
    feeds = dict(np.load(feeds))
    before = peak_mib()
    start = time.perf_counter()
    run = {"onnxruntime": load_onnxruntime_file, "openvino": load_openvino_file, "litert": load_litert_file}[name](path, feeds, threads)
    run()
    first = (time.perf_counter() - start) * 1e3
    times = []
    while len(times) < WARMUP + runs_of(times[-1] if times else 0):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return summary(times[WARMUP:], False) | {"first": first, "mib": peak_mib() - before}


def file_parallax(path, words, threads):
    def figures(runs):
        command = [CLI, "bench", path, "--json", "-", "--threads", threads, "--warmup", WARMUP, "--runs", runs, *words]
        return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)

    f = figures(RUNS)
    if runs_of(f["latency_ms"]["median"]) != RUNS:
        f = figures(10 * RUNS)
    return {"ms": f["latency_ms"]["median"], "first": f["load_ms"] + f["first_run_ms"], "mib": f["peak_rss_bytes"] / 2**20}


def bench(case, folder, threads, *extra, cli=CLI):
    """The figures of `parallax bench --json`."""
    model, dims, _ = ALL[case]
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
    dynamic = max([len(v) for v in ALL[case][1].values()], default=1) > 1
    return {"ms": latency["mean" if dynamic else "median"], "min": latency["min"], "max": latency["max"], "first": f["load_ms"] + f["first_run_ms"],
            "cpu": f["cpu_ms_per_run"], "mib": f["peak_rss_bytes"] / 2**20}


def turn(engine, case, folder, threads):
    """Figures of one turn, or None where the engine cannot run the case."""
    if engine == "parallax":
        return parallax(case, folder, threads)
    if engine == "litert" and not (folder / f"{TFLITE.get(case)}.tflite").exists():
        return None
    return peer_turn(engine, case, folder, threads)


def peer_turn(engine, case, data, threads):
    done = subprocess.run([str(w) for w in (sys.executable, __file__, engine, case, data, threads)], capture_output=True, text=True)
    if done.returncode:
        print(f"{case}: {engine} failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:200]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def file_turn(engine, path, feeds, words, threads):
    """As `turn`, for a model file: peers read its inputs from a .npz file, the tool gets them by its words."""
    return file_parallax(path, words, threads) if engine == "parallax" else peer_turn(engine, path, feeds, threads)


if __name__ == "__main__":
    run_peer, data = (file_peer, sys.argv[3]) if sys.argv[2].endswith((".onnx", ".tflite")) else (peer, pathlib.Path(sys.argv[3]))
    print(json.dumps(run_peer(sys.argv[1], sys.argv[2], data, int(sys.argv[4]))))
