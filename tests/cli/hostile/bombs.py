"""Class 7: small files that ask for much memory or work, by one tensor or by what many nodes and bodies add up to."""
import onnx_writer as w
from hostile import graph, one, scalar
from hostile.stored import external_tensor

X = {"x": (w.FLOAT, [4])}
CONDITION = {**X, "c": (w.BOOL, [])}
MIB = 2**20


def filled(out, shape="s", value=1.0, name=""):
    return w.node("ConstantOfShape", [shape], [out], name or out, value=w.floats("v", [1], [value]))


def branch(nodes, out, inputs=(), consts=()):
    return w.graph(nodes, [w.value(n, *t) for n, t in inputs], [w.value(out, w.FLOAT, [])], consts)


def choice(out, then, other):
    return w.node("If", ["c"], [out], out, then_branch=then, else_branch=other)


def tensors():
    """One tensor is huge; the model may load, and is refused where its bytes would be taken."""
    for size in (2**24, 2**28, 2**31, 2**36):
        shape = w.ints("s", [size])
        yield graph(f"ConstantOfShape {size}", [filled("k"), w.node("Add", ["x", "k"], ["y"])], {"x": (w.FLOAT, [1])}, [shape])
        yield graph(f"Expand {size}", [w.node("Expand", ["k", "s"], ["y"])], consts=[shape, w.floats("k", [1], [1])])
        yield graph(f"Tile {size}", [w.node("Tile", ["k", "s"], ["y"])], consts=[shape, w.floats("k", [1], [1])])
        yield graph(f"Range {size}", [w.node("Range", ["a", "b", "d"], ["y"])], consts=[scalar("a", 0), scalar("b", size), scalar("d", 1)], out=w.INT64)
        yield graph(f"Pad by {size}", [w.node("Pad", ["k", "p"], ["y"])], consts=[w.ints("p", [0, size]), w.floats("k", [1], [1])])
        scale = w.floats("r", [4], [1, 1, 1, size / 8])
        yield one(f"Resize to {size}", "Resize", {"x": (w.FLOAT, [1, 1, 1, 8]), "": None, "r": None}, [scale], mode="nearest")
        yield one(f"Resize to {size}, linear", "Resize", {"x": (w.FLOAT, [1, 1, 8, 8]), "": None, "r": None}, [scale], mode="linear")
        yield graph(f"Gather of {size}", [filled("k"), w.node("Gather", ["k", "i"], ["y"])], consts=[shape, w.ints("i", [5])])
        yield one(f"Conv padded by {size}", "Conv", {"x": (w.FLOAT, [1, 1, 8, 8]), "k": (w.FLOAT, [1, 1, 3, 3])}, pads=[0, size // 2, 0, size // 2])
        yield one(f"MaxPool padded by {size}", "MaxPool", {"x": (w.FLOAT, [1, 1, 8, 8])}, kernel_shape=[1, size], pads=[0, size // 2, 0, size // 2])
        yield one(f"softmax of {size}", "Softmax", {"x": (w.FLOAT, [1, size])})
        yield one(f"Transpose of {size}", "Transpose", {"x": (w.FLOAT, [2, size])})
        yield one(f"best of {size}", "TopK", {"x": (w.FLOAT, [size]), "k": None}, [w.ints("k", [size])], ("y", "i"))
        yield graph(f"runs of {size}, moved", [w.node("Reshape", ["x", "a"], ["b"]), w.node("Transpose", ["b"], ["d"], perm=[1, 0, 2]), w.node("Reshape", ["d", "a"], ["e"]), w.node("Slice", ["e", "p", "q"], ["y"])],
                    {"x": (w.FLOAT, [size])}, [w.ints("a", [256, 256, -1]), w.ints("p", [1]), w.ints("q", [200])])
    for side in (256, 2048, 8192):
        image = w.ints("s", [1, 16, side, side])
        yield graph(f"Conv of a constant image of {side}", [filled("i"), filled("k", "f"), w.node("Conv", ["i", "k"], ["y"])], consts=[image, w.ints("f", [16, 16, 7, 7])])
        yield one(f"Conv of {side} with a window as large", "Conv", {"x": (w.FLOAT, [1, 1, side, side]), "k": (w.FLOAT, [1, 1, side, side])})
        yield graph(f"MatMul of constants of {side}", [filled("i", "t"), w.node("MatMul", ["i", "i"], ["y"])], consts=[w.ints("t", [side, side])])


def bodies():
    """What limits for one body or one node would let many add up to."""
    def chain(tag, count):
        nodes, last = [], "x"
        for i in range(count):
            nodes += [filled(f"{tag}k{i}", value=float(i + 1)), w.node("Add", [last, f"{tag}k{i}"], [f"{tag}a{i}"])]
            last = f"{tag}a{i}"
        return nodes

    def adds(tag, count, consts=()):
        return branch(chain(tag, count), f"{tag}a{count - 1}", (), consts)

    for count, each in ((4, 60), (60, 4), (240, 1)):
        nodes = [choice(f"y{b}", adds(f"t{b}", each), adds(f"e{b}", each)) for b in range(count)]
        yield graph(f"{2 * count} branches of {each} constants of a MiB", nodes, {"x": (w.FLOAT, [MIB // 4]), "c": (w.BOOL, [])}, [w.ints("s", [MIB // 4])], [f"y{b}" for b in range(count)])

    def sparse(folder):
        with (folder / "w.bin").open("wb") as file:
            file.truncate(2**40)

    big = {"x": (w.FLOAT, [MIB // 4]), "c": (w.BOOL, [])}
    for used in (1, 2**38):
        weights = external_tensor([("location", "w.bin")], [used], name="w")
        read = w.node("Shape", ["w"], ["n"])
        inside = choice("z", adds("t", 400, [weights]), adds("e", 400, [weights]))
        for name, nodes, consts in (("the graph", [*chain("k", 800), read, w.node("Relu", ["ka799"], ["z"])], [weights]), ("branches", [choice("z", adds("t", 400), adds("e", 400)), read], [weights]),
                                    ("branches that have it", [inside], [])):
            yield graph(f"800 constants in {name}, and {used} elements of a sparse file of a TiB", [*nodes, w.node("ReduceMax", ["z"], ["y"], keepdims=0)], big, [w.ints("s", [MIB // 4]), *consts], setup=sparse)

    def products(tag, count, size):
        nodes, last = [filled(f"{tag}m", value=1e-3)], f"{tag}m"
        for i in range(count):
            nodes.append(w.node("MatMul", [last, f"{tag}m"], [f"{tag}{i}"]))
            last = f"{tag}{i}"
        return branch([*nodes, w.node("ReduceSum", [last], [f"{tag}r"], keepdims=0), w.node("Add", ["x", f"{tag}r"], [f"{tag}o"])], f"{tag}o")

    for count, each, size in ((2, 31, 512), (50, 4, 512), (4, 4, 1024)):
        nodes = [choice(f"y{b}", products(f"t{b}", each, size), products(f"e{b}", each, size)) for b in range(count)]
        yield graph(f"{2 * count} branches of {each} products of {size}", nodes, CONDITION, [w.ints("s", [size, size])], [f"y{b}" for b in range(count)])
    same = choice("y", branch([w.node("Identity", ["x"], ["t"])], "t"), branch([w.node("Identity", ["x"], ["e"])], "e"))
    contents = [w.node("ConstantOfShape", ["s"], [f"v{i}"], f"v{i}", value=w.ints("v", [i])) for i in range(10_000)]
    yield graph("10,000 lists and an If", [*contents, same], CONDITION, [w.ints("s", [1024])])
    sizes = [w.node("NonZero", ["x"], [f"n{i}"], f"n{i}") for i in range(8000)]
    yield graph("8,000 unknown sizes and an If", [*sizes, same], CONDITION)
    read = branch([w.node("Concat", [f"n{i}" for i in range(8000)], ["m"], axis=1), w.node("ReduceSum", ["m"], ["r"], keepdims=0), w.node("Cast", ["r"], ["t"], to=1)], "t")
    zero = branch([w.node("ReduceSum", ["x"], ["e"], keepdims=0)], "e")
    yield graph("8,000 unknown sizes in a branch", [*sizes, choice("y", read, zero)], CONDITION, opset=13)
    listed = branch([w.node("Cast", ["v"], ["f"], to=1), w.node("ReduceSum", ["f"], ["t"], keepdims=0)], "t")
    yield graph("a list in 4,000 branches", [w.node("ConstantOfShape", ["s"], ["k"], value=w.ints("v", [3])), w.node("Shape", ["z"], ["n"]), w.node("Mul", ["k", "n"], ["v"])]
                + [choice(f"y{i}", listed, zero) for i in range(2000)], {**CONDITION, "z": (w.FLOAT, ["n"])}, [w.ints("s", [1024])], [f"y{i}" for i in range(2000)], opset=13, arguments=("--dim", "n=3"))
    inner, names = None, [f"x{i}" for i in range(500)]
    for level in range(14):
        nodes = [choice("d", *inner)] if inner else [w.node("Concat", names, ["d"], axis=0)]
        inner = (branch(nodes, "d"), branch([w.node("Concat", ["x0", "x1"], ["d"], axis=0)], "d"))
    yield graph("500 captures through 15 bodies", [choice("y", *inner)], {**{n: (w.FLOAT, [2]) for n in names}, "c": (w.BOOL, [])})
    nodes, inner = [w.node("Relu", ["x"], ["z0"]), *(w.node("Exp", [f"z{i}"], [f"z{i + 1}"]) for i in range(500)), w.node("Relu", ["z500"], ["d"])], None
    for level in range(62):
        inner = (branch([choice("d", *inner)] if inner else nodes, "d"), branch([w.node("Relu", ["x"], ["d"])], "d"))
    yield graph("500 nodes 63 deep", [choice("y", *inner)], CONDITION, arguments=("--max-nesting", "64"))
    inner = None
    for level in range(40):
        before = [w.node("Identity", ["go"], ["on"], f"on{level}"), w.node("Concat", ["v", "x"], ["u"], axis=0)]
        within = [w.node("Loop", ["", "go", "u"], ["d"], f"l{level}", body=inner)] if inner else [w.node("Relu", ["u"], ["d"])]
        inner = w.graph([*before, *within], [w.value("i", w.INT64, []), w.value("go", w.BOOL, []), w.value("v", w.FLOAT, [])], [w.value("on", w.BOOL, []), w.value("d", w.FLOAT, [])])
    yield graph("loops 40 deep whose states grow", [w.node("Loop", ["", "c", "x"], ["y"], body=inner)], CONDITION, arguments=("--max-nesting", "64"))
    kernel = w.tensor("k", w.FLOAT, [64, 64, 3, 3], bytes(64 * 64 * 36))
    ones = [w.floats(n, [64], [1.0] * 64) for n in "sbmv"]
    nodes = [n for i in range(1000) for n in (w.node("Conv", ["x", "k"], [f"d{i}"]), w.node("BatchNormalization", [f"d{i}", "s", "b", "m", "v"], [f"y{i}"]))]
    yield graph("1,000 normalised convolutions of one kernel", nodes, {"x": (w.FLOAT, [1, 64, 3, 3])}, [kernel, *ones], [f"y{i}" for i in range(1000)])
    nodes = []
    for i in range(1000):
        nodes += [w.node("Transpose", ["x"], [f"a{i}"], perm=[1, 0, 2]), w.node("Slice", [f"a{i}", f"p{i}", "q"], [f"y{i}"])]
    yield graph("1,000 movements of many rows", nodes, {"x": (w.FLOAT, [128, 128, 16])}, [w.ints("q", [127]), *(w.ints(f"p{i}", [i % 100]) for i in range(1000))], [f"y{i}" for i in range(1000)])


def expressions():
    """Shapes and lists whose expressions grow."""
    dims = [f"s{i}" for i in range(8)]
    inputs = {"x": (w.FLOAT, dims)}
    bound = tuple(a for d in dims for a in ("--dim", f"{d}=1"))
    nodes = [w.node("Shape", ["x"], ["h"]), w.node("ReduceSum", ["h"], ["sum"], keepdims=1), w.node("Expand", ["h", "eight"], ["v0"])]
    for i in range(400):
        nodes.append(w.node("Mul" if i % 2 else "Add", [f"v{i}", "h" if i % 3 else "v0"], [f"v{i + 1}"]))
    nodes.append(w.node("Cast", ["v400"], ["y"], to=1))
    yield graph("sums and products of eight symbols", nodes, inputs, [w.ints("eight", [128, 8])], opset=13, arguments=bound)
    for op in ("Div", "Mod", "Max", "Min"):
        nodes = [w.node("Shape", ["x"], ["h"]), w.node("Expand", ["h", "eight"], ["v0"]), w.node("Shape", ["z"], ["g"])]
        nodes += [n for i in range(200) for n in (w.node(op, [f"v{i}", "g"], [f"q{i}"]), w.node("Add", [f"q{i}", "v0"], [f"v{i + 1}"]))]
        nodes.append(w.node("Cast", ["v200"], ["y"], to=1))
        yield graph(f"{op} in {op}", nodes, {**inputs, "z": (w.FLOAT, ["t"])}, [w.ints("eight", [128, 8])], arguments=(*bound, "--dim", "t=1"))
    nodes, last = [], "x"
    for i in range(1000):
        nodes.append(w.node("Concat", [last, "x"], [f"c{i}"], axis=i % 8))
        last = f"c{i}"
    yield graph("1,000 growing dimensions", [*nodes, w.node("ReduceMax", [last], ["y"], keepdims=0)], inputs, arguments=bound)
    nodes = [w.node("Concat", ["x", "x"], ["a0"], axis=0)]
    nodes += [w.node("Concat", [f"a{i}", f"a{i}"], [f"a{i + 1}"], axis=0) for i in range(70)]
    yield graph("a dimension doubled 70 times", [*nodes, w.node("ReduceMax", ["a70"], ["y"], keepdims=0)], {"x": (w.FLOAT, ["n"])}, arguments=("--dim", "n=1"))
    yield graph("Concat of 20,000 lists", [w.node("ConstantOfShape", ["s"], ["k"], value=w.ints("v", [3])), w.node("Concat", ["k"] * 20_000, ["j"], axis=0), w.node("Cast", ["j"], ["y"], to=1)], consts=[w.ints("s", [1024])])


def many():
    """Many of one kind, each of a few bytes: more must not take more than linear time, nor much more memory than the file has."""
    count = 5000
    r = lambda i, o: w.node("Relu", [i], [o], o)  # noqa: E731
    yield graph("a chain", [r(f"v{i}" if i else "x", f"v{i + 1}") for i in range(count)] + [r(f"v{count}", "y")])
    yield graph("a chain of 40,000", [r(f"v{i}" if i else "x", f"v{i + 1}") for i in range(40_000)] + [r("v40000", "y")])
    yield graph("a chain of 100,000", [r(f"v{i}" if i else "x", f"v{i + 1}") for i in range(100_000)] + [r("v100000", "y")], main_nodes=100_000)
    yield graph("100,000 nodes that no other absorbs", [w.node("Softmax", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(100_000)] + [r("v100000", "y")], main_nodes=100_000)
    yield graph("20,000 weights", [w.node("Add", [f"v{i}" if i else "x", f"k{i}"], [f"v{i + 1}"], f"n{i}") for i in range(20_000)] + [r("v20000", "y")], consts=[w.floats(f"k{i}", [3], [1.0, i, 2]) for i in range(20_000)])
    yield graph("branches", [r("x", f"v{i}") for i in range(count)] + [w.node("Concat", [f"v{i}" for i in range(count)], ["y"], axis=0)])
    yield graph("nodes that are the same", [w.node("Exp", ["x"], [f"v{i}"]) for i in range(count)] + [w.node("Concat", [f"v{i}" for i in range(count)], ["y"], axis=0)])
    yield graph("nodes in reverse", [r(f"v{i}" if i else "x", f"v{i + 1}") for i in reversed(range(count))] + [r(f"v{count}", "y")])
    yield graph("nodes that nothing reads", [r("x", f"v{i}") for i in range(count)] + [r("x", "y")])
    yield graph("sums of one bias", [n for i in range(2000) for n in (w.node("MatMul", ["x", "k"], [f"p{i}"]), w.node("Add", [f"p{i}", "b"], [f"y{i}"]))],
                {"x": (w.FLOAT, [1, 4])}, [w.floats("k", [4, 4], [1] * 16), w.floats("b", [1, 4], [1] * 4)], [f"y{i}" for i in range(2000)])
    ladder = [n for i in range(count // 2) for n in (w.node("Add", [f"a{i}", f"b{i}"], [f"a{i + 1}"]), w.node("Mul", [f"a{i}", f"b{i}"], [f"b{i + 1}"]))]
    yield graph("a ladder of 2^2500 paths", [r("x", "a0"), w.node("Exp", ["x"], ["b0"]), *ladder, w.node("Add", [f"a{count // 2}", f"b{count // 2}"], ["y"])])
    yield graph("inputs", [w.node("Concat", [f"i{i}" for i in range(count)], ["y"], axis=0)], {f"i{i}": (w.FLOAT, [1]) for i in range(count)})
    symbols = {f"i{i}": (w.FLOAT, [f"n{i}"]) for i in range(2000)}
    yield graph("free dimensions", [w.node("Concat", list(symbols), ["y"], axis=0)], symbols, arguments=tuple(a for i in range(2000) for a in ("--dim", f"n{i}=1")))
    yield graph("outputs", [r("x", f"y{i}") for i in range(count)], outputs=[f"y{i}" for i in range(count)])
    yield graph("splits", [w.node("Split", ["x"], [f"v{i}" for i in range(count)]), w.node("Concat", [f"v{i}" for i in range(count)], ["y"], axis=0)], {"x": (w.FLOAT, [count])})
    yield graph("casts there and back", [w.node("Cast", [f"v{i}" if i else "x"], [f"v{i + 1}"], to=7 if i % 2 == 0 else 1) for i in range(2000)] + [r("v2000", "y")])
    yield graph("transposes", [w.node("Transpose", [f"v{i}" if i else "x"], [f"v{i + 1}"], perm=[1, 0]) for i in range(count)] + [r(f"v{count}", "y")], {"x": (w.FLOAT, [2, 3])})
    yield graph("movements of one source", [n for i in range(1500) for n in (w.node("Transpose", [f"v{i}" if i else "x"], [f"t{i}"], perm=[1, 0, 2]), r(f"t{i}", f"y{i}"), w.node("Transpose", [f"t{i}"], [f"v{i + 1}"], perm=[1, 0, 2]))],
                {"x": (w.FLOAT, [4, 4, 16])}, outputs=[f"y{i}" for i in range(1500)])
    choices = [choice(f"y{i}", branch([r("x", "t")], "t"), branch([w.node("Exp", ["x"], ["e"])], "e")) for i in range(1500)]
    yield graph("choices", choices, CONDITION, outputs=[f"y{i}" for i in range(1500)])
    hundred = {f"x{i}": (w.FLOAT, [4]) for i in range(100)}
    choices = [choice(f"y{i}", branch([w.node("Max", list(hundred), ["t"])], "t"), branch([w.node("Exp", ["x"], ["e"])], "e")) for i in range(250)]
    yield graph("choices of which one branch reads a hundred values", choices, {**CONDITION, **hundred}, outputs=[f"y{i}" for i in range(250)])
    known = [w.node("If", ["k"], [f"y{i}"], f"i{i}", then_branch=branch([r("x", "t")], "t"), else_branch=branch([w.node("Exp", ["x"], ["e"])], "e")) for i in range(1500)]
    yield graph("choices that are known", known, X, [w.tensor("k", w.BOOL, [], b"\1")], [f"y{i}" for i in range(1500)])
    nest = branch([r("x", "d")], "d")
    for _ in range(62):
        nest = branch([w.node("If", ["k"], ["d"], then_branch=nest, else_branch=branch([r("x", "d")], "d"))], "d")
    yield graph("known choices 63 deep", [w.node("If", ["k"], ["y"], then_branch=nest, else_branch=nest)], X, [w.tensor("k", w.BOOL, [], b"\1")], arguments=("--max-nesting", "64"))
    images = [n for i in range(500) for n in (w.node("Conv", [f"v{i}" if i else "x", "k"], [f"c{i}"]), r(f"c{i}", f"v{i + 1}"))]
    yield graph("convolutions of one kernel", [*images, r("v500", "y")], {"x": (w.FLOAT, [1, 64, 2, 2])}, [w.tensor("k", w.FLOAT, [64, 64, 1, 1], bytes(4 * 64 * 64))])
    yield graph("products of one matrix", [w.node("MatMul", [f"v{i}" if i else "x", "k"], [f"v{i + 1}"]) for i in range(500)] + [r("v500", "y")],
                {"x": (w.FLOAT, [2, 256])}, [w.tensor("k", w.FLOAT, [256, 256], bytes(4 * 256 * 256))])


def weights():
    """64 MiB in another file: its pages, the room for packing that loading gets ahead, and copies of it."""
    def setup(folder):
        (folder / "w.bin").write_bytes(b"\0\0\x80\x3f" * (16 * MIB))

    stored = external_tensor([("location", "w.bin")], [4096, 4096], name="w")
    product = w.node("MatMul", ["x", "m"], ["y"])
    x = {"x": (w.FLOAT, [1, 4096])}
    yield graph("64 MiB of weights", [w.node("Identity", ["w"], ["m"]), product], x, [stored], setup=setup, weights=128 * MIB)
    yield graph("64 MiB of weights, turned", [w.node("Transpose", ["w"], ["m"]), product], x, [stored], setup=setup, weights=128 * MIB)
    chain = [w.node("Div", ["w", "s"], ["a"]), w.node("Mul", ["a", "s"], ["b"]), w.node("Transpose", ["b"], ["m"]), product]
    yield graph("64 MiB of weights, normalised and turned", chain, x, [stored, w.floats("s", [4096, 1], [2.0] * 4096)], setup=setup, weights=192 * MIB)
    branches = [branch([w.node("Transpose", ["w"], [f"{tag}m"]), w.node("MatMul", ["x", f"{tag}m"], [tag])], tag, consts=[stored]) for tag in ("t", "e")]
    def sparse(folder):
        with (folder / "w.bin").open("wb") as file:
            file.truncate(128 * MIB)

    yield graph("128 MiB of a sparse file, turned", [w.node("Transpose", ["w"], ["m"]), product], {"x": (w.FLOAT, [1, 8192])}, [external_tensor([("location", "w.bin")], [4096, 8192], name="w")], setup=sparse)
    yield graph("64 MiB of weights in branches", [choice("y", *branches)], {**x, "c": (w.BOOL, [])}, setup=setup, weights=256 * MIB)


def broke():
    """What crashed, gave wrong results or took much memory before; what comes out is tested elsewhere."""
    r = lambda i, o: w.node("Relu", [i], [o], o)  # noqa: E731
    two = {"x": (w.FLOAT, [6]), "s": (w.INT64, [2])}
    yield graph("a shape that only running tells", [r("x", "a"), w.node("Reshape", ["a", "s"], ["y"])], two)
    yield graph("such a shape behind Split", [w.node("Split", ["x"], ["a", "b"]), w.node("Reshape", ["b", "s"], ["y"])], two)
    meet = {"a": (w.FLOAT, ["n", 4]), "b": (w.FLOAT, ["m", 4])}
    yield graph("two free dimensions that meet", [w.node("Add", ["a", "b"], ["c"]), w.node("Shape", ["c"], ["y"])], meet, out=w.INT64, arguments=("--dim", "n=1", "--dim", "m=3"))
    loop_inputs = [w.value("i", w.INT64, []), w.value("go", w.BOOL, []), w.value("v", w.FLOAT, ["t", 4])]
    body = w.graph([w.node("Identity", ["go"], ["on"]), w.node("Concat", ["v", "z"], ["u"], axis=0)], loop_inputs, [w.value("on", w.BOOL, []), w.value("u", w.FLOAT, ["t", 4])])
    grows = w.node("Loop", ["m", "", "z"], ["y"], body=body)
    yield graph("a loop that grows its state", [grows], {"z": (w.FLOAT, [1, 4])}, [scalar("m", 400)])
    yield graph("a loop beside an index that is wrong", [grows, w.node("Gather", ["x", "k"], ["g"])], {"z": (w.FLOAT, [1, 4]), "x": (w.FLOAT, [4]), "k": (w.INT64, [2])}, [scalar("m", 400)], ["y", "g"])
    yield graph("Relu of NaN", [w.node("Conv", ["x", "k"], ["c"]), r("c", "y")], {"x": (w.FLOAT, [1, 3, 8, 8])}, [w.floats("k", [8, 3, 3, 3], [float("nan")] * 216)], run=True)
    yield graph("a product of matrices", [w.node("MatMul", ["a", "b"], ["y"])], {"a": (w.FLOAT, [32, 32]), "b": (w.FLOAT, [32, 32])}, run=True)


def cases():
    return {"7": [*tensors(), *bodies(), *expressions(), *many(), *weights(), *broke()]}
