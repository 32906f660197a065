"""Class 12: arithmetic that traps or has no result. Class 15: element types that an operator does not take."""
import struct

import onnx_writer as w
from hostile import graph, one, scalar

LEAST = {w.INT8: b"\x80", w.INT32: struct.pack("<i", -2**31), w.INT64: struct.pack("<q", -2**63)}
MINUS = {w.INT8: b"\xff", w.INT32: struct.pack("<i", -1), w.INT64: struct.pack("<q", -1)}
ODD = [float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-45, -0.0]
TYPES = {"float": w.FLOAT, "uint8": w.UINT8, "int8": w.INT8, "int32": w.INT32, "int64": w.INT64, "bool": w.BOOL}


def traps():
    for kind, least in LEAST.items():
        a, b = w.tensor("a", kind, [1], least), w.tensor("b", kind, [1], MINUS[kind])
        for op in ("Div", "Mod", "Mul", "Sub", "Add", "Pow", "Max"):
            yield one(f"least {op} -1, constants of type {kind}", op, {"a": None, "b": None}, [a, b], out=kind, run=True)
            yield one(f"least {op} -1, one run, of type {kind}", op, {"x": (kind, [1]), "b": None}, [b], out=kind, run=True)
            nodes = [w.node("Mul", ["x", "zero"], ["z"]), w.node("Add", ["z", "a"], ["l"]), w.node(op, ["l", "b"], ["y"])]
            yield graph(f"least {op} -1, run, of type {kind}", nodes, {"x": (kind, [1])}, [a, b, w.tensor("zero", kind, [1], bytes(len(least)))], out=kind, run=True)
        for op in ("Abs", "Neg"):
            yield one(f"{op} of the least of type {kind}", op, {"a": None}, [a], out=kind, run=True)
    odd = w.floats("k", [len(ODD)], ODD)
    for name, to in TYPES.items():
        yield one(f"odd constants as {name}", "Cast", {"k": None}, [odd], out=to, to=to, run=True)
        yield graph(f"odd numbers as {name}", [w.node("Mul", ["x", "k"], ["z"]), w.node("Cast", ["z"], ["y"], to=to)], {"x": (w.FLOAT, [1])}, [odd], out=to, run=True)
    for op in ("Exp", "Log", "Sqrt", "Erf", "Sigmoid", "Tanh", "Reciprocal", "Softmax", "Relu", "Abs", "ReduceL2", "ReduceSum", "ReduceMax"):
        yield graph(f"{op} of odd numbers", [w.node("Mul", ["x", "k"], ["z"]), w.node(op, ["z"], ["y"])], {"x": (w.FLOAT, [1])}, [odd], run=True)
    for op in ("ArgMax", "NonZero"):
        yield graph(f"{op} of odd numbers", [w.node("Mul", ["x", "k"], ["z"]), w.node(op, ["z"], ["y"])], {"x": (w.FLOAT, [1])}, [odd], out=w.INT64, run=True)
    yield graph("TopK of odd numbers", [w.node("Mul", ["x", "k"], ["z"]), w.node("TopK", ["z", "n"], ["y", "i"])], {"x": (w.FLOAT, [1])}, [odd, w.ints("n", [5])], run=True)
    yield graph("Clip with its bounds crossed", [w.node("Clip", ["x", "a", "b"], ["y"])], {"x": (w.FLOAT, [4])}, [w.floats("a", [], [5]), w.floats("b", [], [-5])], run=True)
    boxes = w.floats("b", [1, 7, 4], ODD * 4)
    yield graph("NonMaxSuppression of odd boxes", [w.node("NonMaxSuppression", ["b", "x", "n"], ["y"])], {"x": (w.FLOAT, [1, 1, 7])}, [boxes, w.ints("n", [5])], out=w.INT64, run=True)
    for many in (-2**63, -1, 0, 2**63 - 1):
        yield graph(f"NonMaxSuppression of at most {many}", [w.node("NonMaxSuppression", ["b", "x", "n"], ["y"])], {"b": (w.FLOAT, [1, 7, 4]), "x": (w.FLOAT, [1, 1, 7])}, [scalar("n", many)], out=w.INT64, run=True)
    for epsilon in (0.0, -1.0, float("nan"), float("inf")):
        yield one(f"LayerNormalization with epsilon {epsilon}", "LayerNormalization", {"x": (w.FLOAT, [2, 3]), "s": (w.FLOAT, [3])}, run=True, epsilon=epsilon)


ARITY = {"Abs": 1, "Add": 2, "And": 2, "ArgMax": 1, "AveragePool": 1, "Concat": 2, "ConstantOfShape": 1, "Conv": 2, "Equal": 2, "Exp": 1, "Expand": 2, "Gather": 2, "GatherND": 2, "Gemm": 2, "MatMul": 2, "Mod": 2,
         "NonZero": 1, "Not": 1, "Pad": 2, "Pow": 2, "ReduceMean": 1, "Reshape": 2, "Resize": 4, "Softmax": 1, "TopK": 2, "Where": 3}


def types():
    for op, arity in ARITY.items():
        more = {"kernel_shape": [1, 1]} if op in ("AveragePool", "Conv") else {"mode": "nearest"} if op == "Resize" else {"axis": 0} if op == "Concat" else {}
        for name, kind in TYPES.items():
            yield one(f"{op} of {name}", op, {n: (kind, [1, 1, 2, 2]) for n in "abcd"[:arity]}, out=kind, **more)
    for op in ("Add", "Concat", "MatMul", "Where", "Max"):
        yield one(f"{op} of two types", op, {"a": (w.FLOAT, [2]), "b": (w.INT64, [2]), "c": (w.BOOL, [2])}, **({"axis": 0} if op == "Concat" else {}))
    for declared in (w.INT64, w.BOOL, 8, 10, 99):
        yield one(f"a float declared as {declared}", "Relu", {"x": (w.FLOAT, [2])}, out=declared)
    for value in (3, 1.5, "a", [1], w.floats("v", [1], [1]), w.graph([], [], [])):
        yield one(f"an axis that is a {type(value).__name__}", "Flatten", {"x": (w.FLOAT, [2, 3])}, axis=value)
        yield one(f"a perm that is a {type(value).__name__}", "Transpose", {"x": (w.FLOAT, [2, 3])}, perm=value)
        yield one(f"a value that is a {type(value).__name__}", "ConstantOfShape", {"s": (w.INT64, [2])}, value=value)
    for to in (-1, 0, 8, 10, 16, 99, 2**40):
        yield one(f"Cast to {to}", "Cast", {"x": (w.FLOAT, [2])}, to=to)


def cases():
    return {"12": list(traps()), "15": list(types())}
