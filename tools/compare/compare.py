#!/usr/bin/env python3
"""Compares a model's outputs with ONNX Runtime's, and says which tensor inside the graph differs first.

    make compare MODEL=model.onnx [ARGS="--dim batch=2"]
    compare.py MODEL [--dim SYMBOL=N]... [--input NAME=FILE.npy]... [--seed S] [--tolerance 1e-3] [--inside] [-- OPTIONS OF parallax run]

Both run the same inputs; those that are not given are made up. Floats may differ by the tolerance times the largest magnitude of
ONNX Runtime's tensor. Where an output differs, the tensors of the graph are made outputs in topological order, some at a time, until
one differs: it is printed with its node and with how far the node's inputs are apart. --inside does that in any case. Bodies of If,
Loop and Scan are not opened. Exit status: 0 nothing differs; 1 something does, or one of the two does not run the model; 2 usage.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TENSORS_AT_ONCE = 32  # that become outputs: fused operators elsewhere stay as they are
MOST_BYTES = 2**31 - 1  # of a model in one file
VALUES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
          "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}


class CannotRun(Exception):
    """One of the two refuses the model or its inputs."""


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, path):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common base
            raise CannotRun(f"{self.name}: {str(error).splitlines()[0]}") from error

    def run(self, feeds):
        try:
            return {output.name: value for output, value in zip(self.session.get_outputs(), self.session.run(None, feeds))}
        except Exception as error:
            raise CannotRun(f"{self.name}: {str(error).splitlines()[0]}") from error


class Parallax:
    name = "Parallax"

    def __init__(self, cli, path, extra):
        self.command = [cli, "run", path, *extra]

    def run(self, feeds):
        with tempfile.TemporaryDirectory() as folder:
            words = [*self.command, "--output-dir", f"{folder}/out"]
            for k, (name, value) in enumerate(feeds.items()):
                np.save(f"{folder}/{k}.npy", value)
                words += ["--input", f"{name}={folder}/{k}.npy"]
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
            if done.returncode:
                raise CannotRun(f"{self.name}: {(done.stderr.strip().splitlines() or [f'exit status {done.returncode}'])[-1]}")
            entries = json.loads(pathlib.Path(folder, "out", "outputs.json").read_text())
            return {entry["name"]: np.load(pathlib.Path(folder, "out", entry["file"])) for entry in entries}


def made_up(inputs, dims, files, seed):
    """{name: array}: floats in [0, 1), integers 1 to 9, booleans true."""
    random, feeds = np.random.default_rng(seed), {}
    for each in inputs:
        if each.name in files:
            feeds[each.name] = np.load(files[each.name])
            continue
        free = sorted({str(d) for d in each.shape if not isinstance(d, int) and str(d) not in dims})
        if free:
            raise SystemExit(f"compare: input '{each.name}' has free dimensions: {' '.join(f'--dim {d}=N' for d in free)}")
        shape, dtype = [d if isinstance(d, int) else dims[str(d)] for d in each.shape], VALUES.get(each.type)
        if dtype is None:
            raise SystemExit(f"compare: input '{each.name}' is {each.type}: give it with --input")
        if dtype == np.bool_:
            feeds[each.name] = np.ones(shape, dtype)
        else:
            feeds[each.name] = (random.integers(1, 10, shape) if np.issubdtype(dtype, np.integer) else random.random(shape)).astype(dtype)
    return feeds


def error_of(ours, theirs):
    """How far apart two tensors are, relative to the largest magnitude of `theirs`; infinite where they cannot be compared."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not np.issubdtype(theirs.dtype, np.floating):
        return 0.0 if np.array_equal(ours, theirs) else float("inf")
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True) or not np.isfinite(ours[finite]).all():
        return float("inf")
    a, b = ours[finite].astype(np.float64), theirs[finite].astype(np.float64)
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-6)) if a.size else 0.0


def text_of(ours, theirs):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{list(ours.shape)}, ONNX Runtime has {theirs.dtype}{list(theirs.shape)}"
    if not np.issubdtype(theirs.dtype, np.floating):
        return f"{int((ours != theirs).sum())} of {theirs.size} elements differ"
    error = error_of(ours, theirs)
    return "NaN and infinities in other places" if error == float("inf") else f"error {error:.1e} of the largest magnitude"


def tensors_of(graph):
    """[(tensor, node)] in topological order."""
    return [(tensor, node) for node in graph.node for tensor in node.output if tensor]


def with_outputs(model, tensors, folder):
    """A file of the model with `tensors` as its outputs. Runtimes infer types and shapes where no inference did."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {value.name: value for value in [*copy.graph.value_info, *copy.graph.output]}
    outputs = [known.get(name, onnx.helper.make_empty_tensor_value_info(name)) for name in tensors]
    kept = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in outputs]
    del copy.graph.output[:]
    copy.graph.output.extend(kept)
    path = pathlib.Path(folder) / "part.onnx"
    onnx.save(copy, str(path), save_as_external_data=copy.ByteSize() > MOST_BYTES, location="part.data")
    return path


def first_difference(model, run_both, tolerance):
    """(tensor, its node), or None."""
    typed = onnx.shape_inference.infer_shapes(model) if model.ByteSize() <= MOST_BYTES else model
    tensors = tensors_of(typed.graph)
    for start in range(0, len(tensors), TENSORS_AT_ONCE):
        part = tensors[start:start + TENSORS_AT_ONCE]
        with tempfile.TemporaryDirectory() as folder:
            both = run_both(with_outputs(typed, [tensor for tensor, _ in part], folder))
        for tensor, node in part:
            if error_of(*both[tensor]) > tolerance:
                return tensor, node
    return None


def print_node(model, tensor, node, run_both, feeds):
    """The node of a tensor, and how far what it reads is apart."""
    made = {name for name, _ in tensors_of(model.graph)}
    read = [name for name in dict.fromkeys(node.input) if name in made]
    with tempfile.TemporaryDirectory() as folder:
        both = run_both(with_outputs(model, [*read, tensor], folder))
    print(f"first tensor that differs: '{tensor}' of node '{node.name}' ({node.op_type}): {text_of(*both[tensor])}")
    for name in dict.fromkeys(node.input):
        if name in both:
            print(f"  reads '{name}': {text_of(*both[name])}")
        elif name:
            print(f"  reads '{name}': {'an input' if name in feeds else 'a constant'}")


def arguments_of(words):
    extra = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--dim", action="append", default=[], metavar="SYMBOL=N")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--inside", action="store_true", help="look at the tensors inside though the outputs agree")
    parser.add_argument("--parallax", type=pathlib.Path, default=ROOT / "build" / "release" / "parallax", metavar="FILE")
    arguments = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    try:
        arguments.dims = {name: int(value) for name, value in (text.rsplit("=", 1) for text in arguments.dim)}
        arguments.files = dict(text.split("=", 1) for text in arguments.input)
    except ValueError:
        parser.error("--dim takes SYMBOL=N, --input NAME=FILE.npy")
    for path in (arguments.model, arguments.parallax):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    return arguments, extra


def main():
    arguments, extra = arguments_of(sys.argv[1:])
    try:
        theirs = OnnxRuntime(arguments.model)
        feeds = made_up(theirs.session.get_inputs(), arguments.dims, arguments.files, arguments.seed)

        def run_both(path, known=None):
            ours = Parallax(arguments.parallax, path, extra).run(feeds)
            return {name: (ours[name], value) for name, value in (known or OnnxRuntime(path)).run(feeds).items()}

        outputs = run_both(arguments.model, theirs)
        differ = [name for name, both in outputs.items() if error_of(*both) > arguments.tolerance]
        for name, both in outputs.items():
            print(f"output '{name}': {text_of(*both)}{'  DIFFERENT' if name in differ else ''}")
        if not differ and not arguments.inside:
            return 0
        model = onnx.load(str(arguments.model))
        found = first_difference(model, run_both, arguments.tolerance)
        if found:
            print_node(model, *found, run_both, feeds)
        elif differ:
            print("no tensor differs when tensors inside are outputs too: operators that are fused without that make the difference")
        else:
            print("no tensor inside differs")
        return 1 if differ or found else 0
    except CannotRun as error:
        print(f"compare: {re.sub(r'^Parallax: parallax: ', 'Parallax: ', str(error))}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
