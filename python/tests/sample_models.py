"""The ONNX models of the programs in samples/: files that the writer makes."""
import shutil
import struct

import models
import numpy as np
import onnx_writer as w
from conftest import DIGITS

RNG = np.random.default_rng(5)


def weights(name, *dims):
    return w.floats(name, dims, RNG.uniform(-1, 1, dims).ravel().tolist())


def scalar(name, dtype, value):
    return w.tensor(name, dtype, [], struct.pack("<f" if dtype == w.FLOAT else "<q", value))


def node(op, inputs, outputs, **attributes):
    """A node with a name of its own, which ONNX Runtime wants."""
    return w.node(op, inputs, outputs, f"make_{outputs[-1]}", **attributes)


def decoder():
    """One layer of attention over a cache of keys: logits and the longer cache."""
    nodes = [node("Gather", ["table", "input_ids"], ["x"]), node("Reshape", ["x", "split"], ["heads"]),
             node("Transpose", ["heads"], ["keys"], perm=[0, 2, 1, 3]), node("Concat", ["past_0", "keys"], ["present_0"], axis=2),
             node("Transpose", ["present_0"], ["turned"], perm=[0, 1, 3, 2]), node("MatMul", ["keys", "turned"], ["scores"]),
             node("Softmax", ["scores"], ["p"], axis=-1), node("MatMul", ["p", "present_0"], ["mixed"]),
             node("Transpose", ["mixed"], ["rows"], perm=[0, 2, 1, 3]), node("Reshape", ["rows", "join"], ["joined"]),
             node("MatMul", ["joined", "head"], ["logits"])]
    inputs = [w.value("input_ids", w.INT64, ["batch", "seq"]), w.value("past_0", w.FLOAT, ["batch", 2, "past", 4])]
    outputs = [w.value("logits", w.FLOAT, ["batch", "seq", 8]), w.value("present_0", w.FLOAT, ["batch", 2, "total", 4])]
    constants = [weights("table", 8, 8), weights("head", 8, 8), w.ints("split", [0, 0, 2, 4]), w.ints("join", [0, 0, 8])]
    return w.model(nodes, inputs, outputs, constants)


def vad():
    """An LSTM over chunks of 16 samples: a probability and the state."""
    nodes = [node("Unsqueeze", ["input", "axis"], ["x"]), node("LSTM", ["x", "w", "r", "b", "", "h0", "c0"], ["", "hn", "cn"], hidden_size=4),
             node("Cast", ["sr"], ["rate"], to=w.FLOAT), node("Div", ["rate", "usual"], ["scale"]), node("Mul", ["hn", "scale"], ["scaled"]),
             node("ReduceMean", ["scaled"], ["mean"], axes=[0, 2], keepdims=0), node("Sigmoid", ["mean"], ["output"])]
    state = [w.value(name, w.FLOAT, [1, 1, 4]) for name in ("h0", "c0", "hn", "cn")]
    inputs = [w.value("input", w.FLOAT, [1, 16]), *state[:2], w.value("sr", w.INT64, [])]
    constants = [w.ints("axis", [0]), weights("w", 1, 16, 16), weights("r", 1, 16, 4), weights("b", 1, 32), scalar("usual", w.FLOAT, 16000)]
    return w.model(nodes, inputs, [w.value("output", w.FLOAT, [1]), *state[2:]], constants)


def nms():
    """Suppression of boxes with a threshold for scores that is an input, and the best box of each class."""
    nodes = [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "threshold"], ["selected"]),
             node("ArgMax", ["scores"], ["best"], axis=2, keepdims=0)]
    inputs = [w.value("boxes", w.FLOAT, [1, 20, 4]), w.value("scores", w.FLOAT, [1, 3, 20]), w.value("threshold", w.FLOAT, [1])]
    outputs = [w.value("selected", w.INT64, ["k", 3]), w.value("best", w.INT64, [1, 3])]
    return w.model(nodes, inputs, outputs, [w.ints("most", [5]), w.floats("overlap", [1], [0.5])])


def embed():
    """Rows of a table, normalised, without those that a mask excludes."""
    nodes = [node("Gather", ["table", "input_ids"], ["x"]), node("LayerNormalization", ["x", "gain", "bias"], ["normal"], axis=-1),
             node("Cast", ["attention_mask"], ["mask"], to=w.FLOAT), node("Unsqueeze", ["mask", "last"], ["column"]),
             node("Mul", ["normal", "column"], ["last_hidden_state"])]
    inputs = [w.value(name, w.INT64, ["batch_size", "sequence_length"]) for name in ("input_ids", "attention_mask")]
    outputs = [w.value("last_hidden_state", w.FLOAT, ["batch_size", "sequence_length", 6])]
    return w.model(nodes, inputs, outputs, [weights("table", 8, 6), weights("gain", 6), weights("bias", 6), w.ints("last", [2])])


def tabular():
    """Labels, and probabilities as maps, of a linear model with two classes."""
    nodes = [node("Gemm", ["X", "a", "b"], ["y"]), node("ArgMax", ["y"], ["output_label"], axis=1, keepdims=0),
             node("Softmax", ["y"], ["p"], axis=1),
             node("ZipMap", ["p"], ["output_probability"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])]
    probability = w.blob(1, "output_probability") + w.blob(2, models.sequence_type(models.map_type(7, 1)))
    return w.model(nodes, [w.value("X", w.FLOAT, ["n", 2])], [w.value("output_label", w.INT64, ["n"]), probability],
                   [weights("a", 2, 2), weights("b", 2)]) + w.blob(8, w.blob(1, "ai.onnx.ml") + w.number(2, 3))


def half():
    """An image of bytes as planes of float16 in [0, 1], half as large."""
    nodes = [node("Transpose", ["image"], ["planes"], perm=[0, 3, 1, 2]), node("Cast", ["planes"], ["f"], to=w.FLOAT),
             node("Div", ["f", "white"], ["unit"]), node("AveragePool", ["unit"], ["small"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Cast", ["small"], ["y"], to=w.FLOAT16)]
    return w.model(nodes, [w.value("image", w.UINT8, [1, 4, 4, 3])], [w.value("y", w.FLOAT16, [1, 3, 2, 2])], [scalar("white", w.FLOAT, 255)])


def write(folder):
    """Writes the files that the programs open."""
    for name in ("digits.onnx", "images.npy", "labels.npy"):
        shutil.copy(DIGITS.with_name(name), folder)
    for name, model in {"decoder": decoder(), "vad": vad(), "nms": nms(), "embed": embed(), "tabular": tabular(), "half": half(),
                        "text": models.identity(8), "gather": models.gather()}.items():
        (folder / f"{name}.onnx").write_bytes(model)
