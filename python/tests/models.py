"""Small models as bytes, for several tests."""
import struct

import conftest  # noqa: F401, which says where the writer is
import onnx_writer as w


def identity(dtype, dims=("n",)):
    """y = x of any element type, given by its number in ONNX."""
    return w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", dtype, dims)], [w.value("y", dtype, dims)], opset=25)


def of_type(type_proto, node=None):
    """y = x of a type that is no tensor, given as the bytes of a TypeProto."""
    x, y = (w.blob(1, name) + w.blob(2, type_proto) for name in "xy")
    return w.model([node or w.node("Identity", ["x"], ["y"])], [x], [y])


def tensor_type(dtype):
    return w.blob(1, w.number(1, dtype) + w.blob(2, w.blob(1, w.blob(2, "n"))))


def sequence_type(inner):
    return w.blob(4, w.blob(1, inner))


def optional_type(inner):
    return w.blob(9, w.blob(1, inner))


def map_type(key, dtype):
    return w.blob(5, w.number(1, key) + w.blob(2, w.blob(1, w.number(1, dtype) + w.blob(2, b""))))


def classes():
    """y = a sequence of maps from the classes 10 and 20 to the scores in a row of x."""
    y = w.blob(1, "y") + w.blob(2, sequence_type(map_type(7, 1)))
    node = w.node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[10, 20])
    return w.model([node], [w.value("x", w.FLOAT, ["n", 2])], [y]) + w.blob(8, w.blob(1, "ai.onnx.ml") + w.number(2, 3))


def words():
    """y = the numbers that the map x has for the words a, b and c."""
    vocabulary = w.blob(1, "string_vocabulary") + b"".join(w.blob(9, word) for word in "abc") + w.number(20, 8)
    x = w.blob(1, "x") + w.blob(2, map_type(8, 1))
    node = w.node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml") + w.blob(5, vocabulary)
    return w.model([node], [x], [w.value("y", w.FLOAT, [1, 3])]) + w.blob(8, w.blob(1, "ai.onnx.ml") + w.number(2, 3))


def add(dims=("n",)):
    """z = x + y."""
    x, y, z = (w.value(name, w.FLOAT, dims) for name in "xyz")
    return w.model([w.node("Add", ["x", "y"], ["z"])], [x, y], [z])


def gather():
    """y = the element of [0, 1, 2] at index x."""
    return w.model([w.node("Gather", ["table", "x"], ["y"])], [w.value("x", w.INT64, ["n"])], [w.value("y", w.FLOAT, ["n"])],
                   [w.floats("table", [3], [0, 1, 2])])


def endless():
    """A loop that ends only if something stops it: x + 1, as often as there are numbers of 62 bits."""
    one = w.tensor("one", w.FLOAT, [], struct.pack("<f", 1))
    trips = w.tensor("trips", w.INT64, [], struct.pack("<q", 1 << 62))
    true = w.tensor("true", w.BOOL, [], b"\1")
    body = w.graph([w.node("Identity", ["on"], ["on_out"]), w.node("Add", ["before", "one"], ["after"])],
                   [w.value("i", w.INT64, []), w.value("on", w.BOOL, []), w.value("before", w.FLOAT, [])],
                   [w.value("on_out", w.BOOL, []), w.value("after", w.FLOAT, [])])
    return w.model([w.node("Loop", ["trips", "true", "x"], ["y"], body=body)], [w.value("x", w.FLOAT, [])], [w.value("y", w.FLOAT, [])],
                   [one, trips, true])
