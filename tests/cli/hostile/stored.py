"""Class 8: sizes that differ from what is stored. Class 9: sparse tensors and quantisation. Class 10: external data that leaves the folder. Class 11: bombs for the parser. Class 13: strings."""
import os
import struct

import onnx_writer as w
from hostile import Case, graph, one

SIZE = {w.FLOAT: 4, w.UINT8: 1, w.INT8: 1, w.INT32: 4, w.INT64: 8, w.BOOL: 1}
ADD = [w.node("Identity", ["k"], ["y"])]
INFO = [w.value("x", w.FLOAT, [2])], [w.value("y", w.FLOAT, [2])]


def typed(dtype, dims, field, data, more=b""):
    """A tensor whose elements are in another field than raw_data."""
    return b"".join(w.number(1, d) for d in dims) + w.number(2, dtype) + w.blob(8, "k") + w.blob(field, data) + more


def stored():
    for kind, size in SIZE.items():
        for name, dims, count in (("short", [4], 3 * size), ("long", [4], 5 * size), ("torn", [4], 4 * size - 1), ("missing", [4], 0), ("too much for nothing", [0], size), ("right", [4], 4 * size)):
            yield graph(f"type {kind}, {name}", ADD, consts=[w.tensor("k", kind, dims, bytes(count))], out=kind)
    yield graph("a million elements declared, one stored", ADD, consts=[w.tensor("k", w.FLOAT, [1_000_000], bytes(4))])
    yield graph("a scalar of two", ADD, consts=[w.tensor("k", w.FLOAT, [], bytes(8))])
    for field, name in ((4, "float_data"), (5, "int32_data"), (7, "int64_data")):
        for count in (0, 3, 4, 5):
            data = struct.pack(f"<{count}f", *[1.0] * count) if field == 4 else w.varint(1) * count
            for kind in (w.FLOAT, w.INT32, w.INT64, w.BOOL):
                if count in (0, 4) or (field, kind) in ((4, w.FLOAT), (5, w.INT32), (7, w.INT64)):
                    yield graph(f"{count} of 4 in {name} as type {kind}", ADD, consts=[typed(kind, [4], field, data)], out=kind)
    for number in (2**31, -2**31 - 1, 2**63 - 1):
        for kind in (w.INT32, w.INT8, w.BOOL, w.UINT8):
            yield graph(f"{number} in int32_data of type {kind}", ADD, consts=[typed(kind, [1], 5, w.varint(number))], out=kind)
    yield graph("raw_data and float_data", ADD, consts=[typed(w.FLOAT, [1], 4, bytes(4), w.blob(9, bytes(4)))])
    yield graph("a segment", ADD, consts=[typed(w.FLOAT, [1], 9, bytes(4), w.blob(3, w.number(1, 0)))])
    for rank in (8, 9, 100_000):
        yield graph(f"a tensor of rank {rank}", ADD, consts=[w.tensor("k", w.FLOAT, [1] * rank, bytes(4))])
        yield one(f"an input of rank {rank}", "Relu", {"x": (w.FLOAT, [1] * rank)})
    for kind in (-1, 0, 4, 8, 10, 11, 14, 16, 17, 22, 99, 2**40):
        yield graph(f"a tensor of type {kind}", ADD, consts=[w.tensor("k", kind, [1], bytes(16))], out=w.FLOAT)


def sparse(values, indices, dims):
    """A SparseTensorProto."""
    return w.blob(1, values) + w.blob(2, indices) + b"".join(w.number(3, d) for d in dims)


def metadata():
    def with_more(name, more, nodes=ADD, consts=()):
        return Case(name, w.number(1, 8) + w.blob(7, w.graph(nodes, *INFO, consts) + more) + w.blob(8, w.blob(1, "") + w.number(2, 17)))

    def floats(count):
        return w.floats("k", [count], [1.0] * count)

    tensors = {
        "right": sparse(floats(2), w.ints("i", [0, 3]), [4]),
        "of no elements": sparse(floats(0), w.ints("i", []), [4]),
        "index beyond the end": sparse(floats(1), w.ints("i", [4]), [4]),
        "index 2^62": sparse(floats(1), w.ints("i", [2**62]), [4]),
        "index -1": sparse(floats(1), w.ints("i", [-1]), [4]),
        "indices not in order": sparse(floats(2), w.ints("i", [3, 0]), [4]),
        "one index twice": sparse(floats(2), w.ints("i", [1, 1]), [4]),
        "more indices than values": sparse(floats(1), w.ints("i", [0, 1, 2]), [4]),
        "indices of two columns": sparse(floats(1), w.tensor("i", w.INT64, [1, 2], bytes(16)), [2, 2]),
        "indices of three columns for a matrix": sparse(floats(1), w.tensor("i", w.INT64, [1, 3], bytes(24)), [2, 2]),
        "indices that are floats": sparse(floats(1), w.floats("i", [1], [0.0]), [4]),
        "dense size 2^40": sparse(floats(1), w.ints("i", [0]), [2**40]),
        "dense size that overflows": sparse(floats(1), w.ints("i", [0]), [2**33, 2**33]),
        "dense size -1": sparse(floats(1), w.ints("i", [0]), [-1]),
        "without indices": w.blob(1, floats(1)) + w.number(3, 4),
        "without anything": b"",
        "torn": sparse(floats(2), w.ints("i", [0, 3]), [4])[:-9],
        "values in another folder": sparse(external_tensor([("location", "../out/secret")], [1]), w.ints("i", [0]), [4]),
        "indices in another folder": sparse(floats(1), external_tensor([("location", "/etc/passwd")], [1], w.INT64, "i"), [4]),
    }
    for name, tensor in tensors.items():
        yield with_more(f"sparse initializer, {name}", w.blob(15, tensor), [w.node("Relu", ["k"], ["y"])])
        value = w.blob(1, "sparse_value") + w.blob(22, tensor) + w.number(20, 11)
        yield graph(f"sparse constant, {name}", [w.node("Constant", [], ["y"]) + w.blob(5, value)])
    yield with_more("100,000 sparse initializers", w.blob(15, tensors["right"]) * 100_000)
    listed = w.blob(1, "sparse_values") + w.blob(23, tensors["right"]) * 1000 + w.number(20, 12)
    yield graph("a list of sparse tensors", [w.node("Relu", ["x"], ["y"]) + w.blob(5, listed)])

    entry = w.blob(2, w.blob(1, "SCALE_TENSOR") + w.blob(2, "k"))
    for name, note in {"right": w.blob(1, "x") + entry, "of nothing": w.blob(1, "nowhere") + w.blob(2, w.blob(1, "SCALE_TENSOR") + w.blob(2, "nothing")), "empty": b"", "of a name with zeros": w.blob(1, "a\0b"),
                       "of 10,000 entries": w.blob(1, "x") + entry * 10_000, "torn": w.varint(1 << 3 | 2) + w.varint(100)}.items():
        yield with_more(f"a note on quantisation, {name}", w.blob(14, note), consts=[floats(2)])
    yield with_more("100,000 notes on quantisation", w.blob(14, w.blob(1, "x") + entry) * 100_000, consts=[floats(2)])

    for scale in (0.0, -1.0, float("nan"), float("inf"), 1e-45):
        consts = [w.floats("s", [], [scale]), w.tensor("z", w.UINT8, [], b"\0")]
        yield graph(f"QuantizeLinear by {scale}", [w.node("QuantizeLinear", ["x", "s", "z"], ["y"])], consts=consts, out=w.UINT8)
        yield graph(f"DequantizeLinear by {scale}", [w.node("DequantizeLinear", ["x", "s", "z"], ["y"])], {"x": (w.UINT8, [2, 3])}, consts)
    three = w.floats("s", [3], [1.0] * 3)
    for name, zero in {"of another type": w.tensor("z", w.INT32, [3], bytes(12)), "of another count": w.tensor("z", w.UINT8, [2], bytes(2)), "that is a float": w.floats("z", [3], [0.5] * 3)}.items():
        yield graph(f"DequantizeLinear with a zero point {name}", [w.node("DequantizeLinear", ["x", "s", "z"], ["y"], axis=1)], {"x": (w.UINT8, [2, 3])}, [three, zero])
    for axis in (-3, 2, 2**62, -2**63):
        yield graph(f"QuantizeLinear along {axis}", [w.node("QuantizeLinear", ["x", "s"], ["y"], axis=axis)], consts=[three], out=w.UINT8)
    for block in (-1, 2, 2**62):
        yield graph(f"DequantizeLinear in blocks of {block}", [w.node("DequantizeLinear", ["x", "s"], ["y"], axis=1, block_size=block)], {"x": (w.UINT8, [2, 3])}, [three], opset=21)
    for op, inputs in {"DynamicQuantizeLinear": 1, "MatMulInteger": 2, "ConvInteger": 2, "QLinearMatMul": 8, "QLinearConv": 8}.items():
        yield one(op, op, {n: (w.FLOAT if op[0] == "D" else w.UINT8, [2, 2]) for n in "abcdefgh"[:inputs]})


def external_tensor(entries, dims=(4,), dtype=w.FLOAT, name="k"):
    return (b"".join(w.number(1, d) for d in dims) + w.number(2, dtype) + w.blob(8, name)
            + b"".join(w.blob(13, w.blob(1, k) + w.blob(2, v)) for k, v in entries) + w.number(14, 1))


def external():
    def setup(folder):
        (folder / "w.bin").write_bytes(bytes(64))
        (folder / "out").mkdir()
        (folder / "out" / "secret").write_bytes(bytes(64))
        (folder / "in").mkdir()
        (folder / "in" / "w.bin").write_bytes(bytes(64))
        (folder / "hard").hardlink_to(folder / "out" / "secret")
        (folder / "link").symlink_to(folder / "w.bin")
        (folder / "in" / "up").symlink_to(folder / "out")
        (folder / "passwd").symlink_to("/etc/passwd")
        (folder / "etc").symlink_to("/etc")
        (folder / "above").symlink_to("..")
        (folder / "zero").symlink_to("/dev/zero")
        (folder / "memory").symlink_to("/proc/self/mem")
        (folder / "pipe").symlink_to("fifo")
        (folder / "round").symlink_to("round")
        (folder / "here").symlink_to(".")
        os.mkfifo(folder / "fifo")
        (folder / "empty").touch()

    def case(name, entries, **more):
        return graph(name, ADD, consts=[external_tensor(entries, **more)], setup=setup)

    for path in ("w.bin", "./w.bin", "in/w.bin", "in//w.bin", "../w.bin", "in/../w.bin", "in/../../w.bin", "..", ".", "", "/", "/etc/passwd", "/dev/zero", "/proc/self/mem", "link", "hard", "fifo",
                 "in", "in/up/secret", "in/up/../up/secret", "w.bin/", "w.bin/x", "missing", "empty", "..\\w.bin", "C:w.bin", "\\\\host\\share", "w.bin\0", "w\n.bin", "~/w.bin", "$HOME/w.bin",
                 "passwd", "etc/passwd", "above", "above/0/w.bin", "zero", "memory", "pipe", "round", "here", "here/w.bin", "here/" * 1000 + "w.bin", "*/_ORT_MEM_ADDR_/*", "a" * 5000, "a/" * 2000 + "w.bin", "file:///etc/passwd", "%2e%2e/w.bin"):
        yield case(f"path {path[:40]!r} of {len(path)}", [("location", path)])
    for offset in ("0", "48", "49", "64", "65", "-1", "9223372036854775807", "18446744073709551616", "1e3", " 0", "0x10", ""):
        yield case(f"offset {offset!r}", [("location", "w.bin"), ("offset", offset)])
    for length in ("16", "15", "17", "0", "-16", "9223372036854775807", "18446744073709551632"):
        yield case(f"length {length!r}", [("location", "w.bin"), ("length", length)])
    yield case("offset and length overflow", [("location", "w.bin"), ("offset", "9223372036854775800"), ("length", "16")])
    yield case("no location", [("offset", "0")])
    yield case("no entries", [])
    yield case("a location twice", [("location", "w.bin"), ("location", "in/w.bin")])
    yield case("an unknown entry", [("location", "w.bin"), ("basepath", "/")])
    yield case("2^40 elements", [("location", "w.bin")], dims=[2**40])
    yield case("elements that overflow", [("location", "w.bin")], dims=[2**33, 2**33])
    yield case("not 10,000 bytes", [("location", "w.bin")], dims=[10_000])
    for count in (20_000, 100_000):
        yield graph(f"one file {count:,} times", [w.node("Identity", ["k0"], ["y"])], consts=[external_tensor([("location", "w.bin")], name=f"k{i}") for i in range(count)], setup=setup)
        places = [external_tensor([("location", "w.bin"), ("offset", str(2 * i))], [1], w.UINT8, f"k{i}") for i in range(count)]
        yield graph(f"{count:,} places of one file", [w.node("Identity", ["k0"], ["y"])], consts=places, out=w.UINT8, setup=lambda folder: (folder / "w.bin").write_bytes(bytes(200_000)))

    def links(folder):
        (folder / "w.bin").write_bytes(bytes(4096))
        for i in range(5000):
            (folder / f"w{i}").symlink_to("w.bin")

    consts = [external_tensor([("location", f"w{i}")], [1024], name=f"k{i}") for i in range(5000)]
    yield graph("5,000 links to one file", [w.node("Sum", [f"k{i}" for i in range(5000)], ["y"])], consts=consts, setup=links)
    yield graph("in a Constant", [w.node("Constant", [], ["y"], value=w.Tensor(external_tensor([("location", "../out/secret")])))], setup=setup)


def parser():
    good = w.model([w.node("Relu", ["x"], ["y"])], *INFO)
    varint = b"\xff" * 10
    for name, data in {
        "nothing": b"", "zeros": bytes(64), "ones": b"\xff" * 64, "text": b"hello, world\n" * 9, "a ZIP": b"PK\x03\x04" + bytes(60),
        "an endless varint": varint * 1000, "a varint of 11 bytes": b"\x08" + b"\x80" * 10 + b"\x01" + good, "a length of 2^64": b"\x3a" + b"\xff" * 9 + b"\x01",
        "a length of 2^31": b"\x3a" + w.varint(2**31) + good, "a group": b"\x3b" + good, "an end of a group": b"\x3c" + good, "field 0": b"\x00\x00" + good,
        "wire type 7": b"\x0f" + good, "two graphs": good + good, "no graph": w.number(1, 8) + w.blob(8, w.blob(1, "") + w.number(2, 17)),
        "an empty graph": w.number(1, 8) + w.blob(7, b"") + w.blob(8, w.blob(1, "") + w.number(2, 17)), "its own tail": good + good[:20],
    }.items():
        yield Case(name, data)
    yield Case("a million unknown fields", good + w.number(1000, 1) * 1_000_000)
    yield Case("a million bytes of metadata", good + w.blob(14, w.blob(1, "k") + w.blob(2, "v" * 1_000_000)))
    yield Case("100,000 operator sets", good + w.blob(8, w.blob(1, "a") + w.number(2, 1)) * 100_000)
    deep = b""
    for _ in range(20_000):
        deep = w.blob(6, deep[-60_000:])
    yield Case("messages 20,000 deep that nothing reads", good + w.blob(1000, deep))
    types = b""
    for _ in range(2000):
        types = w.blob(4, w.blob(1, types))
    yield Case("sequences 2,000 deep", w.model([w.node("Relu", ["x"], ["y"])], [w.blob(1, "x") + w.blob(2, types)], INFO[1]))
    body = w.graph([w.node("Relu", ["x"], ["n"])], [], [w.value("n", w.FLOAT, [2])])
    yield graph("a thousand graphs as attributes", [w.node("Relu", ["x"], ["y"], **{f"a{i}": body for i in range(1000)})])
    yield graph("a graph as an attribute of Relu", [w.node("Relu", ["x"], ["y"], body=body)])
    yield graph("a number that is torn", [w.node("Relu", ["x"], ["y"])[:-3]])
    empty = w.node("Relu", ["x"], [])
    yield graph("100,000 nodes without outputs", [empty] * 100_000 + [w.node("Relu", ["x"], ["y"])])
    yield graph("200,000 empty nodes", [b""] * 200_000)
    yield graph("200,000 empty tensors", [w.node("Relu", ["x"], ["y"])], consts=[b""] * 200_000)
    yield Case("200,000 empty inputs", w.model([w.node("Relu", ["x"], ["y"])], [b""] * 200_000, INFO[1]))
    yield graph("100,000 tiny tensors", [w.node("Relu", ["x"], ["y"])], consts=[w.number(2, 1) + w.blob(8, f"{i}") + w.number(1, 0) for i in range(100_000)])
    yield graph("a node of 200,000 inputs", [w.node("Concat", ["x"] * 200_000, ["y"], axis=0)])
    yield graph("a node of 50,000 outputs", [w.node("Split", ["x"], [f"{i}" for i in range(50_000)]), w.node("Relu", ["x"], ["y"])])
    yield graph("a list of a million numbers", [w.node("Transpose", ["x"], ["y"], perm=[1] * 1_000_000)])


def strings():
    for kind, data in (("string", w.blob(6, b"abc")), ("strings", w.blob(6, b"") * 1000), ("raw", w.blob(9, b"\xff" * 8))):
        yield graph(f"a tensor of strings, {kind}", ADD, consts=[w.number(1, 1) + w.number(2, 8) + w.blob(8, "k") + data])
    yield one("an input of strings", "Identity", {"x": (8, [2])})
    yield one("a million strings", "Identity", {"x": (8, [2**62])})
    for name, text in {"a stray byte": b"\xff", "a torn character": b"\xe2\x82", "a long form": b"\xc0\x80", "a surrogate": b"\xed\xa0\x80", "beyond Unicode": b"\xf4\x90\x80\x80", "a real one": "\u00fc\u20ac\U0001f600".encode()}.items():
        yield graph(f"{name} in a value's name", [w.node("Relu", ["x"], [text]), w.node("Relu", [text], ["y"])])
        yield graph(f"{name} in a node's name", [w.node("Relu", ["x"], ["y"], text)])
        yield graph(f"{name} in an operator", [w.blob(1, "x") + w.blob(2, "y") + w.blob(4, text)])
        yield Case(f"{name} in a dimension", w.model([w.node("Relu", ["x"], ["y"])], [w.blob(1, "x") + w.blob(2, w.blob(1, w.number(1, 1) + w.blob(2, w.blob(1, w.blob(2, text)))))], INFO[1]))
    for mode in ("", "a" * 100_000, "%n%n%n", "a\nb", "SAME_UPPER"):
        yield one(f"auto_pad {mode[:10]!r}", "MaxPool", {"x": (w.FLOAT, [1, 1, 4, 4])}, kernel_shape=[2, 2], auto_pad=mode)


def cases():
    return {"8": list(stored()), "9": list(metadata()), "10": list(external()), "11": list(parser()), "13": list(strings())}
