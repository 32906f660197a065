"""Class 4: what is missing. Class 5: aliases and cycles. Class 6: control flow without end or bottom. Class 14: names and graphs that trick."""
import onnx_writer as w
from hostile import Case, graph, one, scalar

X, CONDITION = {"x": (w.FLOAT, [2, 3])}, {"x": (w.FLOAT, [2, 3]), "c": (w.BOOL, [])}


def body(nodes, outputs, inputs=(), consts=()):
    return w.graph(nodes, [w.value(n, *t) for n, t in inputs], [w.value(n, *t) for n, t in outputs], consts)


def simple(out, source="x", op="Relu"):
    return body([w.node(op, [source], [out])], [(out, (w.FLOAT, [2, 3]))])


def missing():
    arity = {"Add": 2, "Concat": 1, "Conv": 2, "Gather": 2, "Gemm": 2, "MatMul": 2, "Pad": 2, "Range": 3, "Reshape": 2, "ScatterND": 3, "Slice": 3, "Tile": 2, "TopK": 2, "Where": 3}
    for op, count in arity.items():
        yield one(f"{op} without inputs", op, {})
        yield graph(f"{op} with the first left out", [w.node(op, ["", "x", "x"][:max(count, 2)], ["y"])])
        yield graph(f"{op} with the last left out", [w.node(op, ["x"] * (count - 1) + [""], ["y"])])
    yield graph("a node without outputs", [w.node("Relu", ["x"], []), w.node("Relu", ["x"], ["y"])])
    yield graph("a node without the output that is read", [w.node("Relu", ["x"], [""]), w.node("Relu", ["x"], ["y"])])
    yield graph("reads what nothing makes", [w.node("Relu", ["nowhere"], ["y"])])
    yield graph("an output that nothing makes", [w.node("Relu", ["x"], ["z"])])
    yield graph("no outputs", [w.node("Relu", ["x"], ["y"])], outputs=())
    yield graph("no nodes", [], outputs=("x",))
    yield graph("too many inputs", [w.node("Relu", ["x"] * 9, ["y"])])
    yield graph("too many outputs", [w.node("Relu", ["x"], ["y", "z", "u"])])
    yield graph("If without branches", [w.node("If", ["c"], ["y"])], CONDITION)
    yield graph("If with one branch", [w.node("If", ["c"], ["y"], then_branch=simple("t"))], CONDITION)
    yield graph("If with a number for a branch", [w.node("If", ["c"], ["y"], then_branch=3, else_branch=simple("e"))], CONDITION)
    yield graph("If without a condition", [w.node("If", [], ["y"], then_branch=simple("t"), else_branch=simple("e"))], CONDITION)
    yield graph("If whose branches give nothing", [w.node("If", ["c"], ["y"], then_branch=body([], []), else_branch=body([], []))], CONDITION)
    yield graph("Loop without a body", [w.node("Loop", ["", "", "x"], ["y"])])
    yield graph("Loop whose body has no inputs", [w.node("Loop", ["", "", "x"], ["y"], body=simple("t"))])
    yield graph("Scan without a body", [w.node("Scan", ["x"], ["y"], num_scan_inputs=1)])
    yield graph("Scan of more inputs than it has", [w.node("Scan", ["x"], ["y"], num_scan_inputs=9, body=simple("t"))])


def aliases():
    r = lambda i, o: w.node("Relu", [i], [o], f"{i}_{o}")  # noqa: E731
    yield graph("a node reads its own output", [w.node("Add", ["x", "y"], ["y"])])
    yield graph("two nodes read each other", [r("b", "a"), r("a", "b"), r("a", "y")])
    yield graph("a cycle through a hundred", [r(f"v{i}", f"v{(i + 1) % 100}") for i in range(100)] + [r("v0", "y")])
    yield graph("a cycle through a body", [w.node("If", ["c"], ["y"], then_branch=simple("t", "y"), else_branch=simple("e"))], CONDITION)
    yield graph("a value written twice", [r("x", "y"), w.node("Exp", ["x"], ["y"])])
    yield graph("one node writes a value twice", [w.node("Split", ["x"], ["y", "y"])])
    yield graph("an input written", [r("x", "x")], outputs=("x",))
    yield graph("a constant written", [r("x", "k")], consts=[w.floats("k", [1], [1])], outputs=("k",))
    yield graph("an input is an output", [r("x", "z")], outputs=("x",), run=True)
    yield graph("a constant is an output", [r("x", "z")], consts=[w.floats("y", [1], [1])], run=True)
    yield graph("an output given twice", [r("x", "y")], outputs=("y", "y"), run=True)
    yield graph("an input given twice", [r("x", "y")], outputs=("x", "x", "y"), run=True)
    yield graph("views of one input are outputs", [w.node("Identity", ["x"], ["y"]), w.node("Flatten", ["x"], ["z"])], outputs=("y", "z", "x"), run=True)
    yield graph("a branch gives what it captures", [w.node("If", ["c"], ["y"], then_branch=body([], [("x", X["x"])]), else_branch=simple("e"))], CONDITION, run=True)
    yield graph("a branch gives one value twice", [w.node("If", ["c"], ["y", "z"], then_branch=body([r("x", "t")], [("t", X["x"])] * 2), else_branch=body([r("x", "e")], [("e", X["x"])] * 2))],
                CONDITION, outputs=("y", "z"), run=True)
    yield graph("a body swaps what it carries", [w.node("Loop", ["m", "", "x", "x"], ["y", "z"], body=body([], [("c", (w.BOOL, [])), ("b", X["x"]), ("a", X["x"])],
                [("i", (w.INT64, [])), ("c", (w.BOOL, [])), ("a", X["x"]), ("b", X["x"])]))], outputs=("y", "z"), consts=[scalar("m", 3)], run=True)
    yield graph("Where of one value", [w.node("Where", ["c", "x", "x"], ["y"])], CONDITION, run=True)
    yield graph("ScatterND of its own updates", [w.node("ScatterND", ["x", "i", "x"], ["y"])], consts=[w.tensor("i", w.INT64, [2, 1], bytes(16))], run=True)
    yield graph("Concat of a hundred of one", [w.node("Concat", ["x"] * 100, ["y"], axis=0)], run=True)
    yield graph("nodes in the wrong order", [r("b", "y"), r("a", "b"), r("x", "a")], run=True)


def loop(name, limit, state, first=None, inner=None, run=True, **more):
    inputs = [("i", (w.INT64, [])), ("go", (w.BOOL, [])), ("a", X["x"])]
    inner = inner or body(state, [("on", (w.BOOL, [])), ("b", X["x"])], inputs)
    consts = [scalar("m", limit)] if limit is not None else []
    return graph(name, [w.node("Loop", ["m" if limit is not None else "", first or "", "x"], ["y"], body=inner)], {**X, "c": (w.BOOL, [])}, consts, run=run, **more)


def nested(depth, op):
    """`op` inside `op`, `depth` deep."""
    inside = None
    for level in range(depth):
        source = [w.node(op, ["c"] if op == "If" else ["", "c", "x"], ["n"], **inside)] if inside else [w.node("Relu", ["x"], ["n"])]
        shape = ("n", X["x"])
        if op == "If":
            inside = {"then_branch": body(source, [shape]), "else_branch": body([w.node("Exp", ["x"], ["n"])], [shape])}
        else:
            inputs = [("i", (w.INT64, [])), ("go", (w.BOOL, [])), ("v", X["x"])]
            inside = {"body": body([w.node("Identity", ["go"], ["on"]), *source], [("on", (w.BOOL, [])), shape], inputs)}
    return graph(f"{op} {depth} deep", [w.node(op, ["c"] if op == "If" else ["", "c", "x"], ["y"], **inside)], CONDITION)


def bottomless(depth):
    """If inside If, as bytes that are written once from the outside in: `depth` levels take time linear in their number."""
    leaf = simple("n", op="Exp")
    around, inside = [], len(leaf)
    for _ in range(depth):
        then = w.blob(1, "then_branch") + w.varint(6 << 3 | 2) + w.varint(inside), w.number(20, 5)
        length = sum(map(len, then)) + inside
        node = w.blob(1, "c") + w.blob(2, "n") + w.blob(4, "If") + w.blob(5, w.attribute("else_branch", leaf)) + w.varint(5 << 3 | 2) + w.varint(length)
        length += len(node)
        begin, end = w.varint(1 << 3 | 2) + w.varint(length) + node + then[0], then[1] + w.blob(12, w.value("n", *X["x"]))
        inside += len(begin) + len(end)
        around.append((begin, end))
    body_ = b"".join(begin for begin, _ in reversed(around)) + leaf + b"".join(end for _, end in around)
    return Case(f"If {depth} deep", w.number(1, 8) + w.blob(7, body_ + b"".join(w.blob(11, w.value(n, *t)) for n, t in CONDITION.items())) + w.blob(8, w.blob(1, "") + w.number(2, 17)))


def endless():
    same = [w.node("Identity", ["go"], ["on"]), w.node("Relu", ["a"], ["b"])]
    quick = ("--max-loop-trips", "1000")
    yield loop("a loop without a limit", None, same, limits=quick)
    yield loop("a loop of 2^63 trips", 2**63 - 1, same, limits=quick)
    yield loop("a loop of -1 trips", -1, same)
    yield loop("a loop of -2^63 trips", -2**63, same)
    yield loop("a loop of no trips", 0, same)
    yield loop("a condition that is always true", None, [w.node("Not", ["no"], ["on"]), w.node("And", ["no", "go"], ["no2"]), w.node("Relu", ["a"], ["b"])], run=False)
    yield loop("a time limit", None, same, limits=("--time-limit", "0.2", "--max-loop-trips", "100000000"))
    grows = [w.node("Identity", ["go"], ["on"]), w.node("Concat", ["a", "a"], ["b"], axis=0)]
    yield loop("a state that doubles 60 times", 60, grows, arguments=("--memory-budget", "16MiB"))
    yield loop("a state that changes its rank", 3, [w.node("Identity", ["go"], ["on"]), w.node("ReduceMax", ["a"], ["b"], keepdims=0)])
    yield loop("a state that changes its type", 3, [w.node("Identity", ["go"], ["on"]), w.node("Cast", ["a"], ["b"], to=w.INT64)])
    inner = body(same, [("on", (w.BOOL, [])), ("b", X["x"])], [("i", (w.INT64, [])), ("go", (w.BOOL, [])), ("a", X["x"])])
    for depth in (2, 3):
        nodes = [w.node("Identity", ["go"], ["on"]), w.node("Loop", ["m", "", "a"], ["b"], body=inner)]
        inner = body(nodes, [("on", (w.BOOL, [])), ("b", X["x"])], [("i", (w.INT64, [])), ("go", (w.BOOL, [])), ("a", X["x"])])
        yield loop(f"{depth} loops of 2^40 trips", 2**40, None, inner=inner, limits=quick)
    for depth in (1, 15, 16, 17, 64, 65, 300, 3000):
        yield nested(depth, "If")
        yield nested(depth, "Loop")
    yield bottomless(100_000)
    outputs = body([w.node("Identity", ["go"], ["on"])], [("on", (w.BOOL, [])), ("x", X["x"])], [("i", (w.INT64, [])), ("go", (w.BOOL, []))])
    for trips in (3, 2**40, 2**62):
        yield graph(f"Loop output of {trips} slices", [w.node("Loop", ["m", ""], ["y"], body=outputs)], consts=[scalar("m", trips)], run=trips == 3)
    yield graph("Scan of nothing", [w.node("Scan", ["x"], ["y"], num_scan_inputs=1, body=body([w.node("Relu", ["s"], ["t"])], [("t", (w.FLOAT, [3]))], [("s", (w.FLOAT, [3]))]))],
                {"x": (w.FLOAT, [0, 3])}, run=True)
    for axis in (-3, 2, 2**62):
        yield graph(f"Scan along {axis}", [w.node("Scan", ["x"], ["y"], num_scan_inputs=1, scan_input_axes=[axis],
                    body=body([w.node("Relu", ["s"], ["t"])], [("t", (w.FLOAT, [3]))], [("s", (w.FLOAT, [3]))]))])


def names():
    r = lambda i, o, name="": w.node("Relu", [i], [o], name)  # noqa: E731
    good = [r("x", "y")]
    info = [w.value("x", w.FLOAT, [2])], [w.value("y", w.FLOAT, [2])]
    for name in ("a\nb", "a\0b", "\x1b[31m", "%s%n", "'; drop", "\u202e", "a" * 65535, "a" * 65536, "../../etc/passwd", "\x7f"):
        yield graph(f"a value named {name[:12]!r} of {len(name)}", [r("x", name), r(name, "y")])
        yield graph(f"a node named {name[:12]!r} of {len(name)}", [w.node("Relu", ["x"], ["y"], name)])
    yield graph("two nodes of one name", [w.node("Relu", ["x"], ["z"], "same"), w.node("Relu", ["z"], ["y"], "same")], run=True)
    yield graph("a node named as another's value", [w.node("Relu", ["x"], ["z"], "y"), w.node("Relu", ["z"], ["y"], "z")], run=True)
    yield graph("an initializer twice", good, consts=[w.floats("k", [1], [1])] * 2)
    yield Case("an input twice", w.model(good, info[0] * 2, info[1]))
    yield graph("a branch hides a name", [w.node("Exp", ["x"], ["t"]), w.node("If", ["c"], ["y"], then_branch=simple("t"), else_branch=simple("e", "t"))], CONDITION, run=True)
    yield graph("branches use one name", [w.node("If", ["c"], ["y"], then_branch=simple("t"), else_branch=simple("t"))], CONDITION, run=True)
    yield graph("a branch reads the other's name", [w.node("If", ["c"], ["y"], then_branch=simple("t"), else_branch=simple("e", "t"))], CONDITION)
    yield graph("a branch reads the node's output", [w.node("If", ["c"], ["y"], then_branch=simple("t", "y"), else_branch=simple("e"))], CONDITION)
    yield graph("the graph reads a branch's name", [w.node("If", ["c"], ["z"], then_branch=simple("t"), else_branch=simple("e")), r("t", "y")], CONDITION)
    yield graph("names like those that passes make", [w.node("MatMul", ["x", "k"], ["y/row"], "y/row"), w.node("Add", ["y/row", "b"], ["y/nhwc"], "b/row"), r("y/nhwc", "y", "y/shape")],
                consts=[w.floats("k", [3, 3], [1] * 9), w.floats("b", [1, 3], [1] * 3)], run=True)
    yield graph("symbols like those of nodes", [w.node("NonZero", ["x"], ["z"], "n"), w.node("Cast", ["z"], ["y"], to=1)], {"x": (w.FLOAT, ["n.0", "n.0'"])}, run=True, arguments=("--dim", "n.0=2", "--dim", "n.0'=3"))
    for opset in (-1, 0, 1, 6, 24, 99, 2**62):
        yield graph(f"operator set {opset}", good, opset=opset)
    body_ = w.graph(good, *info)
    yield Case("no operator set", w.number(1, 8) + w.blob(7, body_))
    yield Case("two operator sets", w.model(good, *info) + w.blob(8, w.blob(1, "") + w.number(2, 13)))
    yield Case("another domain's operator set", w.number(1, 8) + w.blob(7, body_) + w.blob(8, w.blob(1, "com.acme") + w.number(2, 17)))
    for version in (-1, 0, 2, 15, 2**62):
        yield Case(f"IR version {version}", w.number(1, version) + w.blob(7, body_) + w.blob(8, w.blob(1, "") + w.number(2, 17)))
    yield graph("an operator of another domain", [w.node("Relu", ["x"], ["y"], domain="com.acme")])
    function = w.blob(1, "F") + w.blob(4, "a") + w.blob(5, "b") + w.blob(7, w.node("F", ["a"], ["b"], domain="f")) + w.blob(10, "f")
    yield Case("a function that calls itself", w.model([w.node("F", ["x"], ["y"], domain="f")], *info) + w.blob(25, function))
    yield graph("an attribute twice", [w.node("Flatten", ["x"], ["y"], axis=0) + w.blob(5, w.attribute("axis", 1))])
    yield graph("a thousand attributes", [w.node("Flatten", ["x"], ["y"], **{f"a{i}": i for i in range(1000)})])
    yield graph("an attribute without a type", [w.node("Flatten", ["x"], ["y"]) + w.blob(5, w.blob(1, "axis") + w.number(3, 0))])
    yield graph("an attribute of an unknown type", [w.node("Flatten", ["x"], ["y"]) + w.blob(5, w.blob(1, "axis") + w.number(20, 99))])
    yield graph("a list of 100,000 as perm", [w.node("Transpose", ["x"], ["y"], perm=[0] * 100_000)])


def cases():
    return {"4": list(missing()), "5": list(aliases()), "6": list(endless()), "14": list(names())}
