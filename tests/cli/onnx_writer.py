"""Writes small ONNX files byte by byte, so that tests can write wrong ones too and need no package for it.

Field numbers are those of onnx.proto: ModelProto.graph = 7, GraphProto.node = 1, and so on.
"""
import struct

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16 = 1, 2, 3, 6, 7, 9, 10


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def blob(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


class Tensor(bytes):
    """A TensorProto."""


class Graph(bytes):
    """A GraphProto: as an attribute, the body of an If, a Loop or a Scan."""


def tensor(name, dtype, dims, raw):
    return Tensor(b"".join(number(1, d) for d in dims) + number(2, dtype) + blob(8, name) + blob(9, raw))


def ints(name, values):
    return tensor(name, INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def floats(name, dims, values):
    return tensor(name, FLOAT, dims, struct.pack(f"<{len(values)}f", *values))


def attribute(name, value):
    if isinstance(value, int):
        return blob(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return blob(1, name) + blob(4, value) + number(20, 3)
    if isinstance(value, float):
        return blob(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, Tensor):
        return blob(1, name) + blob(5, value) + number(20, 4)
    if isinstance(value, Graph):
        return blob(1, name) + blob(6, value) + number(20, 5)
    return blob(1, name) + b"".join(number(8, v) for v in value) + number(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(blob(1, i) for i in inputs) + b"".join(blob(2, o) for o in outputs) + blob(3, name or op.lower()) + blob(4, op)
            + b"".join(blob(5, attribute(k, v)) for k, v in attributes.items()) + (blob(7, domain) if domain else b""))


def value(name, dtype, dims):
    """Dimensions are numbers, or texts for free ones."""
    shape = b"".join(blob(1, number(1, d) if isinstance(d, int) else blob(2, d)) for d in dims)
    return blob(1, name) + blob(2, blob(1, number(1, dtype) + blob(2, shape)))


def graph(nodes, inputs, outputs, initializers=()):
    return Graph(b"".join(blob(1, n) for n in nodes) + blob(2, "test") + b"".join(blob(5, t) for t in initializers)
                 + b"".join(blob(11, v) for v in inputs) + b"".join(blob(12, v) for v in outputs))


def model(nodes, inputs, outputs, initializers=(), opset=17):
    return number(1, 8) + blob(7, graph(nodes, inputs, outputs, initializers)) + blob(8, blob(1, "") + number(2, opset))
