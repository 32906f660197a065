"""Class 1: divisions by zero from a model's fields. Class 2: sizes that overflow. Class 3: axes, indices, permutations out of range."""
import struct

import onnx_writer as w
from hostile import graph, one, scalar

IMAGE = {"x": (w.FLOAT, [1, 2, 8, 8])}
KERNEL = w.floats("k", [2, 2, 3, 3], [0.5] * 36)
WIDTH = {w.INT32: 4, w.INT64: 8, w.INT8: 1}
LARGEST, SMALLEST = 2**63 - 1, -2**63


def windows():
    for value in (0, -1, LARGEST):
        for field in ("strides", "dilations", "kernel_shape"):
            yield one(f"Conv {field} {value}", "Conv", {**IMAGE, "k": None}, [KERNEL], **{field: [value, 1]})
            yield one(f"MaxPool {field} {value}", "MaxPool", IMAGE, **{"kernel_shape": [2, 2], field: [value, 1]})
    for group in (0, -1, 3, 2**62):
        yield one(f"Conv group {group}", "Conv", {**IMAGE, "k": None}, [KERNEL], group=group)
    yield one("Conv without channels", "Conv", {"x": (w.FLOAT, [1, 0, 8, 8]), "k": (w.FLOAT, [2, 0, 3, 3])}, run=True)
    yield one("Conv without filters", "Conv", {**IMAGE, "k": (w.FLOAT, [0, 2, 3, 3])}, run=True)
    yield one("Conv of an empty image", "Conv", {"x": (w.FLOAT, [1, 2, 0, 8]), "k": (w.FLOAT, [2, 2, 3, 3])})


def zeros():
    for op in ("Div", "Mod"):
        for kind, width in WIDTH.items():
            zero = w.tensor("z", kind, [1], bytes(width))
            yield one(f"{op} by 0 of type {kind}", op, {"x": (kind, [2]), "z": None}, [zero], out=kind, run=True)
    yield one("Div of constants by 0", "Div", {"a": None, "z": None}, [w.ints("a", [1, 2]), w.ints("z", [0, 0])], out=w.INT64, run=True)
    yield one("Range delta 0", "Range", {"a": None, "b": None, "z": None}, [scalar("a", 0), scalar("b", 9), scalar("z", 0)], out=w.INT64)
    for delta in (0.0, float("nan"), 1e-38):
        floats = [w.floats(n, [], [v]) for n, v in (("a", 0), ("b", 9), ("z", delta))]
        yield one(f"Range of floats, delta {delta}", "Range", {"a": None, "b": None, "z": None}, floats)
    yield one("Slice step 0", "Slice", {"x": (w.FLOAT, [4]), "a": None, "b": None, "c": None, "z": None},
              [w.ints("a", [0]), w.ints("b", [4]), w.ints("c", [0]), w.ints("z", [0])])
    yield one("Split into 0", "Split", {"x": (w.FLOAT, [4])}, opset=18, num_outputs=0)
    yield one("Split of nothing", "Split", {"x": (w.FLOAT, [0, 2])}, outputs=("y", "z"), run=True)
    for name, dims in (("nothing", [2, 0]), ("a scalar", [])):
        for op in ("Softmax", "ReduceMean", "ReduceMax", "ReduceL2"):
            yield one(f"{op} of {name}", op, {"x": (w.FLOAT, dims)}, run=True)
        yield one(f"ArgMax of {name}", "ArgMax", {"x": (w.FLOAT, dims)}, out=w.INT64, axis=-1, run=True)
        yield one(f"LayerNormalization of {name}", "LayerNormalization", {"x": (w.FLOAT, dims), "s": (w.FLOAT, [0])}, axis=-1, run=True)
        yield one(f"NonZero of {name}", "NonZero", {"x": (w.FLOAT, dims)}, out=w.INT64, run=True)
    yield one("GlobalAveragePool of nothing", "GlobalAveragePool", {"x": (w.FLOAT, [1, 2, 0, 0])}, run=True)
    for op in ("MatMul", "Gemm"):
        yield one(f"{op} of nothing", op, {"x": (w.FLOAT, [2, 0]), "z": (w.FLOAT, [0, 3])}, run=True)
    yield one("TopK 0", "TopK", {"x": (w.FLOAT, [4]), "k": None}, [w.ints("k", [0])], ("y", "i"), run=True)
    yield one("Tile 0", "Tile", {"x": (w.FLOAT, [4]), "k": None}, [w.ints("k", [0])], run=True)
    for scale in (0.0, -1.0, float("nan"), float("inf"), 1e30):
        yield one(f"Resize by {scale}", "Resize", {**IMAGE, "": None, "s": None}, [w.floats("s", [4], [1, 1, scale, 1])], mode="nearest")


def sizes():
    huge = 2**33
    for dims in ([huge, huge], [2**62, 4], [2**31] * 3, [LARGEST, 2], [-1, 3], [2**63, 1]):
        yield one(f"input {dims}", "Relu", {"x": (w.FLOAT, dims)})
        yield graph(f"initializer {dims}", [w.node("Relu", ["c"], ["y"])], consts=[w.tensor("c", w.FLOAT, dims, b"")])
    for dims in ([huge, huge], [2**62, 4], [2**40, 2**20], [LARGEST], [-1], [2**20, 0, 2**62]):
        shape, ones = w.ints("s", dims), {"x": (w.FLOAT, [1] * len(dims))}
        yield one(f"ConstantOfShape {dims}", "ConstantOfShape", {"s": None}, [shape])
        yield one(f"Expand {dims}", "Expand", {**ones, "s": None}, [shape])
        yield one(f"Tile {dims}", "Tile", {**ones, "s": None}, [shape])
        yield one(f"Reshape {dims}", "Reshape", {"x": (w.FLOAT, [4]), "s": None}, [shape])
        yield one(f"Resize {dims}", "Resize", {**ones, "": None, "r": None, "s": None}, [w.floats("r", [0], []), shape], mode="nearest")
    for pads in ([2**62, 2**62], [LARGEST, 1], [SMALLEST, 0], [-5, 0], [2**40, 0]):
        yield one(f"Pad {pads}", "Pad", {"x": (w.FLOAT, [4]), "p": None}, [w.ints("p", pads)])
        yield one(f"Conv pads {pads}", "Conv", {"x": (w.FLOAT, [1, 2, 8]), "k": (w.FLOAT, [2, 2, 3])}, pads=pads)
    yield one("Concat whose sum overflows", "Concat", {f"x{i}": (w.FLOAT, [2**60]) for i in range(9)}, axis=0)
    for op in ("MatMul", "Add", "Where"):
        mask = {"m": (w.BOOL, [1])} if op == "Where" else {}
        yield one(f"{op} of a column and a row", op, {**mask, "x": (w.FLOAT, [2**40, 1]), "z": (w.FLOAT, [1, 2**40])})
    yield one("Flatten", "Flatten", {"x": (w.FLOAT, [2**20] * 3)})
    yield one("Range of 2^64", "Range", {"a": None, "b": None, "c": None}, [scalar("a", SMALLEST), scalar("b", LARGEST), scalar("c", 1)], out=w.INT64)
    for factor, size in ((2**40, 3), (2**61, 2**32), (2**31, 2**31)):
        nodes = [w.node("Shape", ["x"], ["s"]), w.node("Mul", ["s", "m"], ["t"], "t"), w.node("Mul", ["t", "m"], ["u"]), w.node("ConstantOfShape", ["u"], ["y"])]
        yield graph(f"{factor} {factor} n elements, n = {size}", nodes, {"x": (w.FLOAT, ["n"])}, [w.ints("m", [factor])], arguments=("--dim", f"n={size}"))
    for size in (2**62, 2**40, 2**20, 0):
        yield graph(f"n = {size}", [w.node("Relu", ["x"], ["y"])], {"x": (w.FLOAT, ["n", 8])}, arguments=("--dim", f"n={size}"))


def places():
    x = {"x": (w.FLOAT, [2, 3])}
    for axis in (SMALLEST, -3, 2, 2**31, LARGEST):
        for op in ("Concat", "Softmax", "Flatten", "ArgMax", "Split", "LayerNormalization"):
            more = {"s": (w.FLOAT, [3])} if op == "LayerNormalization" else {}
            yield one(f"{op} axis {axis}", op, {**x, **more}, out=w.INT64 if op == "ArgMax" else w.FLOAT, axis=axis)
        yield one(f"Gather axis {axis}", "Gather", {**x, "i": None}, [w.ints("i", [0])], axis=axis)
        for op in ("Squeeze", "Unsqueeze", "ReduceSum"):
            yield one(f"{op} axis {axis}", op, {**x, "a": None}, [w.ints("a", [axis])])
        yield one(f"Slice axis {axis}", "Slice", {**x, "s": None, "e": None, "a": None}, [w.ints("s", [0]), w.ints("e", [1]), w.ints("a", [axis])])
    for perm in ([0, 0], [0, 2], [-1, 0], [0], [0, 1, 2], [2**40, 0]):
        yield one(f"Transpose {perm}", "Transpose", x, perm=perm)
    for index in (SMALLEST, -3, 2, 2**31, LARGEST):
        at, words = w.ints("i", [index]), struct.pack("<q", index)
        yield one(f"Gather {index}", "Gather", {**x, "i": None}, [at], run=True)
        yield one(f"Gather {index} of constants", "Gather", {"c": None, "i": None}, [w.floats("c", [2], [1, 2]), at], run=True)
        yield one(f"GatherND {index}", "GatherND", {**x, "i": None}, [at], run=True)
        yield one(f"ScatterND {index}", "ScatterND", {**x, "i": None, "u": (w.FLOAT, [1, 3])}, [w.tensor("i", w.INT64, [1, 1], words)], run=True)
        yield one(f"Slice from {index}", "Slice", {**x, "s": None, "e": None}, [w.ints("s", [index]), w.ints("e", [LARGEST])], run=True)
        yield one(f"TopK {index}", "TopK", {"x": (w.FLOAT, [1]), "k": None}, [w.ints("k", [index])], ("y", "i"), run=True)
    for parts in ([3, 3], [-1, 5], [2**62, 2**62], [4], [4, 0], [1] * 4):
        yield one(f"Split {parts}", "Split", {"x": (w.FLOAT, [4]), "s": None}, [w.ints("s", parts)], ("y", "z"))
    for mode in ("half_pixel", "nonsense", ""):
        yield one(f"Resize '{mode}'", "Resize", {**IMAGE, "": None, "s": None}, [w.floats("s", [4], [1, 1, 2, 2])], mode="nearest", coordinate_transformation_mode=mode)


def cases():
    return {"1": [*windows(), *zeros()], "2": list(sizes()), "3": list(places())}
