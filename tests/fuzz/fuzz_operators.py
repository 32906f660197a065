#!/usr/bin/env python3
"""Runs models of one operator in random types with the command line, ONNX Runtime and ONNX's reference evaluator. A case is a finding
if a result differs from that of every other runtime that runs it, if it is refused though another runs it, and if the command crashes
or hangs. explained_operators.toml lists what is known.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import tomllib
import warnings

import numpy as np
import onnx
import operator_cases
from onnx import TensorProto, helper, numpy_helper
from operator_cases import Case, is_float, type_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60
EXPLAINED = tomllib.loads((pathlib.Path(__file__).parent / "explained_operators.toml").read_text())["difference"]
# Of the largest magnitude: a few units in the last place, f32's at least.
TOLERANCES = {TensorProto.DOUBLE: 1e-6, TensorProto.FLOAT16: 2**-9, TensorProto.BFLOAT16: 2**-6}
EIGHT_BITS, FLOAT = 2**-2, 1e-4
# Types that NumPy has: ONNX Runtime's Python interface takes and gives these alone.
PLAIN = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.INT8, TensorProto.INT16, TensorProto.INT32,
         TensorProto.INT64, TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64}


def tolerance(kind):
    return TOLERANCES.get(kind, EIGHT_BITS if "FLOAT8" in TensorProto.DataType.Name(kind) or "FLOAT4" in TensorProto.DataType.Name(kind) else FLOAT)


def difference(kind, ours, theirs):
    """How one output differs, in words; nothing if it does not."""
    theirs = np.asarray(theirs)
    if ours.shape != theirs.shape:
        return f"{ours.shape} for {theirs.shape}"
    if is_float(kind):
        got, wanted = ours.astype(np.float64), theirs.astype(np.float64)
        finite = np.isfinite(wanted)
        scale = max(np.abs(wanted[finite]).max(initial=0), 1e-6)
        with np.errstate(invalid="ignore"):
            same = np.where(finite & np.isfinite(got), np.abs(got - wanted) <= tolerance(kind) * scale, (got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    else:
        same = ours.astype(theirs.dtype) == theirs
    if same.all():
        return None
    what = f"{ours[~same].ravel()[0]} for {theirs[~same].ravel()[0]} at {np.argwhere(~same)[0].tolist()}"
    if is_float(kind):
        return what
    return f"{what}, at most {np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max():g} apart"


def run_onnxruntime(case):
    import onnxruntime

    model, feeds = onnx.ModelProto(), {}
    model.CopyFrom(case.model)
    for value in list(model.graph.input):
        if type_of(value) in PLAIN:
            feeds[value.name] = case.inputs[value.name]
        else:
            model.graph.initializer.append(numpy_helper.from_array(case.inputs[value.name], value.name))
            model.graph.input.remove(value)
    for value in model.graph.output:
        if type_of(value) not in PLAIN:
            model.graph.node.append(helper.make_node("Cast", [value.name], [value.name + "/float"], to=TensorProto.FLOAT))
            value.name += "/float"
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def run_evaluator(case):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(case.model).run(None, case.inputs)


def apart(run, case):
    """The outputs of `run` in a process of its own, since runtimes crash on some models; nothing if it fails."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        try:
            data = pickle.dumps(run(case))
        except BaseException:
            data = b""
        with os.fdopen(send, "wb") as file:
            file.write(data)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def run_parallax(program, case, folder):
    """(type, array) of each output, or a text: why there are none."""
    onnx.save(case.model, folder / "model.onnx")
    arguments = []
    for i, (name, array) in enumerate(case.inputs.items()):
        (folder / f"{i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        arguments += ["--input", f"{name}={folder / f'{i}.pb'}"]
    command = [program, "run", folder / "model.onnx", "--threads", "1", *arguments, "--output-dir", folder / "out", "--output-format", "pb"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"takes more than {SECONDS} s"
    if done.returncode < 0:
        return f"ends with signal {-done.returncode}"
    if done.returncode != 0:
        return "refused: " + done.stderr.strip()[-300:].replace("\n", " ")
    files = [entry["file"] for entry in json.loads((folder / "out" / "outputs.json").read_text())]
    tensors = [onnx.load_tensor(folder / "out" / file) for file in files]
    return [(tensor.data_type, numpy_helper.to_array(tensor)) for tensor in tensors]


def compared(case, ours, theirs):
    for value, (kind, array), their in zip(case.model.graph.output, ours, theirs, strict=True):
        if kind != type_of(value):
            return f"{value.name} has type {TensorProto.DataType.Name(kind)}"
        if what := difference(kind, array, their):
            return f"{value.name}: {what}"
    return None


def traits(case):
    """What rows of explained_operators.toml ask for under `of`."""
    inputs = [(type_of(value), case.inputs[value.name]) for value in case.model.graph.input]
    names = [TensorProto.DataType.Name(type_of(value)) for value in (*case.model.graph.input, *case.model.graph.output)]
    result, integers = {"all"}, [type_of(value) for value in case.model.graph.output if not is_float(type_of(value)) and type_of(value) != TensorProto.BOOL]
    if integers:
        result.add("integers")
    if any(name in ("FLOAT16", "BFLOAT16") for name in names):
        result.add("halves")
    if any(name.endswith("INT4") for name in names):
        result.add("four bits")
    if any(attribute.name == "antialias" and attribute.i for attribute in case.node.attribute):
        result.add("antialias")
    if "FLOAT8E8M0" in names:
        result.add("powers of two")
    for kind, array in inputs:
        if is_float(kind):
            numbers = array.astype(np.float64)
            if not np.isfinite(numbers).all():
                result.add("infinite")
            if any((np.isnan(numbers) | (numbers < low) | (numbers > high)).any() for low, high in map(operator_cases.bounds, integers)):
                result.add("out of range")
        elif kind != TensorProto.BOOL:
            result.add("integer inputs")
            if (np.abs(array.astype(np.float64)) >= 2**15).any():
                result.add("large integers")
    return result


def explained(case, runtime, what):
    """Whether a row explains a difference from a runtime."""
    return any(re.fullmatch(row["operator"], case.node.op_type) and row.get("of", "all") in traits(case) and row.get("by", runtime) == runtime
               and re.search(row.get("finding", ""), what) for row in EXPLAINED)


def verdict_on(program, case):
    with tempfile.TemporaryDirectory(prefix="px_operators.") as folder:
        ours = run_parallax(program, case, pathlib.Path(folder))
    if isinstance(ours, str) and not ours.startswith("refused"):
        return "FINDING", ours
    differences = {}
    for runtime, run in (("ONNX Runtime", run_onnxruntime), ("the evaluator", run_evaluator)):
        theirs = apart(run, case)
        if theirs is None:
            continue
        what = ours if isinstance(ours, str) else compared(case, ours, theirs)
        if what is None:
            return f"like {runtime}", ""
        differences[runtime] = what
    if not differences:
        return ("refused by all" if isinstance(ours, str) else "run by Parallax alone"), ""
    known = all(explained(case, *difference) for difference in differences.items())
    return ("explained" if known else "FINDING"), "; ".join(f"{runtime}: {what}" for runtime, what in differences.items())


def one(arguments):
    program, seed = arguments
    warnings.filterwarnings("ignore")
    try:
        case = operator_cases.make_case(seed, ALL)
    except (ValueError, onnx.shape_inference.InferenceError):
        return seed, "", "no valid case", ""
    return seed, f"{case.template} {case.types()}", *verdict_on(program, case)


def show(program, case: Case):
    """Prints a case: attributes, inputs and everybody's outputs."""
    np.set_printoptions(linewidth=150, threshold=40)
    print(case.seed, case.template, case.types(), {entry.name: helper.get_attribute_value(entry) for entry in case.node.attribute})
    for name, array in case.inputs.items():
        print(f"{name} {array.dtype} {array.shape}\n{array}")
    with tempfile.TemporaryDirectory(prefix="px_operators.") as folder:
        ours = run_parallax(program, case, pathlib.Path(folder))
    print("Parallax", ours if isinstance(ours, str) else [array for _, array in ours])
    print("ONNX Runtime", apart(run_onnxruntime, case))
    print("evaluator", apart(run_evaluator, case))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "parallax"))
    parser.add_argument("--cases", type=int, default=2000, help="how many seeds")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--templates", default="", help="those of ONNX's node tests that contain this expression")
    parser.add_argument("--show", action="store_true", help="print the first case instead")
    arguments = parser.parse_args()
    global ALL  # inherited by the processes of the pool
    ALL = operator_cases.templates(arguments.templates)
    print(f"{len(ALL)} templates, first seed {arguments.seed}", flush=True)
    if arguments.show:
        return show(arguments.program, operator_cases.make_case(arguments.seed, ALL))
    counts = collections.Counter()
    seeds = [(arguments.program, seed) for seed in range(arguments.seed, arguments.seed + arguments.cases)]
    with multiprocessing.Pool(arguments.jobs) as pool:
        for seed, what, outcome, detail in pool.imap_unordered(one, seeds, 20):
            counts[outcome] += 1
            if outcome == "FINDING":
                print(f"seed {seed}: {what}: {detail}", flush=True)
    print("cases:", ", ".join(f"{count} {name}" for name, count in counts.most_common() if name != "FINDING"))
    print(f"findings: {counts['FINDING']}")
    return 1 if counts["FINDING"] else 0


if __name__ == "__main__":
    sys.exit(main())
