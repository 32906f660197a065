"""Models with If, Loop and Scan: outputs against ONNX Runtime's on graphs made at random, limits, and hostile bodies."""
import numpy as np
import pytest
from conftest import SANITIZED, needs_onnxruntime, peer

onnx, onnxruntime = peer("onnx"), peer("onnxruntime")
TensorProto, helper, numpy_helper = onnx.TensorProto, onnx.helper, onnx.numpy_helper
pytestmark = needs_onnxruntime

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, dtype=F, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def const(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


class Maker:
    """Bodies at random: float tensors of one shape, values of the graphs around read at will."""

    def __init__(self, seed):
        self.random, self.count = np.random.default_rng(seed), 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def chain(self, seen, depth):
        """Nodes over the values `seen`, and the name of their result."""
        nodes = []
        for _ in range(self.random.integers(1, 4)):
            kind = self.random.integers(0, 8 if depth < 3 else 5)
            made = self.name()
            if kind < 3:
                nodes.append(helper.make_node(("Tanh", "Abs", "Sigmoid")[kind], [self.pick(seen)], [made]))
            elif kind < 5:
                nodes.append(helper.make_node(("Add", "Mul")[kind - 3], [self.pick(seen), self.pick(seen)], [made]))
            elif kind == 5:
                nodes += self.branch(seen, depth, made)
            elif kind == 6:
                nodes += self.loop(seen, depth, made)
            else:
                nodes.append(self.scan(seen, depth, made))
            seen = seen + [made]
        return nodes, seen[-1]

    def pick(self, seen):
        return seen[self.random.integers(0, len(seen))]

    def body(self, seen, depth, inputs=(), before=(), more=()):
        nodes, result = self.chain(seen, depth + 1)
        out = self.name()  # never a value from outside itself: ONNX Runtime refuses that
        nodes.append(helper.make_node("Identity", [result], [out]))
        return list(before) + nodes, out

    def branch(self, seen, depth, made):
        sum_, flag = self.name(), self.name()
        bodies = []
        for _ in range(2):
            nodes, out = self.body(seen, depth)
            bodies.append(helper.make_graph(nodes, "branch", [], [info(out)]))
        return [helper.make_node("ReduceSum", [self.pick(seen)], [sum_], keepdims=0), helper.make_node("Greater", [sum_, "zero"], [flag]),
                helper.make_node("If", [flag], [made], then_branch=bodies[0], else_branch=bodies[1])]

    def loop(self, seen, depth, made):
        i, go, v, on, slice_, all_ = (self.name() for _ in range(6))
        inner, out = self.body(seen + [v], depth)
        inner.append(helper.make_node("Identity", [go], [on]))
        inner.append(helper.make_node("Neg", [out], [slice_]))
        body = helper.make_graph(inner, "body", [info(i, I, []), info(go, B, []), info(v)], [info(on, B, []), info(out), info(slice_)])
        last, trips = self.name(), ("three", "m")[self.random.integers(0, 2)]
        return [helper.make_node("Loop", [trips, "", self.pick(seen)], [last, all_], body=body), helper.make_node("ReduceSum", [all_, "axis0"], [all_ + "s"], keepdims=0),
                helper.make_node("Add", [last, all_ + "s"], [made])]

    def scan(self, seen, depth, made):
        state, row, out_row = self.name(), self.name(), self.name()
        inner = [helper.make_node("Add", [state, row], [out_row]), helper.make_node("Sigmoid", [out_row], [out_row + "s"])]
        body = helper.make_graph(inner, "body", [info(state, F, [5]), info(row, F, [5])], [info(out_row + "s", F, [5]), info(out_row, F, [5])])
        return helper.make_node("Scan", ["row0", self.pick(seen)], [self.name(), made], body=body, num_scan_inputs=1,
                                scan_input_directions=[int(self.random.integers(0, 2))], scan_output_directions=[int(self.random.integers(0, 2))])


def compare(parallax, path, tmp_path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    expected = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)
    arguments = []
    for name, value in feeds.items():
        np.save(tmp_path / f"in_{name}.npy", value)
        arguments += ["--input", f"{name}={tmp_path / f'in_{name}.npy'}"]
    on_delegate = ["--delegate", "cores", "--offload", "all", "--rates", "described"]
    for extra in ([], ["--scheduler", "sequential", "--threads", "1"], on_delegate, ["--delegate", "cores:opencl-mobile", *on_delegate[2:]]):
        done = parallax("run", path, "--output-dir", tmp_path, *arguments, *extra)
        assert done.returncode == 0, done.stderr
        for n, want in enumerate(expected):
            got = np.load(tmp_path / f"{n}.npy")
            assert got.shape == want.shape and got.dtype == want.dtype
            assert np.allclose(got, want, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(want).max(initial=0))))


@pytest.mark.skipif(SANITIZED, reason="compared in the release build")
@pytest.mark.parametrize("seed", range(24))
def test_random_graphs_against_onnx_runtime(parallax, tmp_path, seed):
    maker = Maker(seed)
    nodes, result = maker.chain(["x", "w"], 0)
    rows = [4, "n"][seed % 2]
    constants = [const("w", maker.random.random((4, 5), np.float32) - 0.5), const("zero", np.float32(0)), const("three", np.int64(3)),
                 const("axis0", np.array([0], np.int64)), const("row0", np.zeros(5, np.float32))]
    path = save(tmp_path / "m.onnx", nodes + [helper.make_node("Identity", [result], ["y"])], [info("x", F, [rows, 5]), info("m", I, [])], [info("y", F, None)], constants)
    compare(parallax, path, tmp_path, {"x": maker.random.random((4, 5), np.float32) - 0.5, "m": np.array(seed % 4, np.int64)})
    done = parallax("verify", path, "--dim", "n=4") if rows == "n" else parallax("verify", path)
    assert done.returncode == 0, done.stderr or done.stdout


@pytest.mark.parametrize("direction", (0, 1))
def test_a_scan_of_batches_against_onnx_runtime(parallax, tmp_path, direction):
    """Operator set 8: a state and rows for each sample."""
    body = helper.make_graph([helper.make_node("Add", ["h", "r"], ["s"]), helper.make_node("Mul", ["s", "w"], ["t"]), helper.make_node("Identity", ["t"], ["all"])],
                             "body", [info("h", F, [3]), info("r", F, [3])], [info("t", F, [3]), info("all", F, [3])])
    scan = helper.make_node("Scan", ["", "first", "x"], ["last", "rows"], body=body, num_scan_inputs=1, directions=[direction])
    inputs = [info("first", F, ["b", 3]), info("x", F, ["b", "n", 3])]
    path = save(tmp_path / "m.onnx", [scan], inputs, [info("last", F, ["b", 3]), info("rows", F, ["b", "n", 3])], [const("w", np.array([0.5, -1, 2], np.float32))], opset=8)
    random = np.random.default_rng(1)
    compare(parallax, path, tmp_path, {"first": random.random((2, 3), np.float32), "x": random.random((2, 4, 3), np.float32)})


def endless(path, condition="go"):
    body = helper.make_graph([helper.make_node("Identity", [condition], ["on"]), helper.make_node("Neg", ["v"], ["w"])], "body",
                             [info("i", I, []), info("go", B, []), info("v", F, [2])], [info("on", B, []), info("w", F, [2])])
    loop = helper.make_node("Loop", ["m", "yes", "x"], ["y"], "for_ever", body=body)
    return save(path, [loop], [info("x", F, [2])], [info("y", F, [2])], [const("m", np.int64(2**62)), const("yes", np.bool_(True))])


def test_endless_loops_are_stopped(refused, tmp_path):
    path = endless(tmp_path / "m.onnx")
    line = refused(1, "run", path, "--max-loop-trips", "1000")
    assert "for_ever" in line and "1000 trips" in line and "--max-loop-trips" in line
    assert "for_ever" in refused(1, "run", path)
    changing = endless(tmp_path / "n.onnx", "yes")
    line = refused(1, "run", changing, "--max-loop-trips", str(2**62 + 1), "--time-limit", "0.05")
    assert "time limit" in line


def test_nesting_is_limited(refused, parallax, tmp_path):
    def nested(depth):
        out = f"y{depth}"
        if depth == 0:
            return [helper.make_node("Neg", ["x"], [out])]
        body = [helper.make_graph(nested(depth - 1), "b", [], [info(f"y{depth - 1}", F, [2])]) for _ in range(1)] * 2
        return [helper.make_node("If", ["c"], [out], then_branch=body[0], else_branch=body[1])]

    def model(depth):
        return save(tmp_path / f"d{depth}.onnx", nested(depth), [info("x", F, [2]), info("c", B, [])], [info(f"y{depth}", F, [2])])

    assert parallax("run", model(4)).returncode == 0
    assert "more than 3 deep" in refused(1, "run", model(4), "--max-nesting", "3")


def hostile(body_nodes, body_inputs, body_outputs, node_inputs=("m", "", "x"), outputs=("y",), op="Loop", **attributes):
    body = helper.make_graph(body_nodes, "body", body_inputs, body_outputs)
    return [helper.make_node(op, list(node_inputs), list(outputs), "bad", body=body, **attributes)]


COUNTERS = [info("i", I, []), info("go", B, [])]
V, ON, W = info("v", F, [2]), info("on", B, []), info("w", F, [2])
KEEP, NEG = helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["v"], ["w"])


@pytest.mark.parametrize("nodes, words", [
    (hostile([KEEP, NEG], COUNTERS + [V], [ON]), "outputs"),
    (hostile([KEEP, NEG], COUNTERS + [V], []), "outputs"),
    (hostile([KEEP, NEG], COUNTERS, [ON, W]), "no node, input or initializer defines"),
    (hostile([KEEP, NEG], COUNTERS + [V, info("u", F, [2])], [ON, W]), "inputs"),
    (hostile([KEEP], COUNTERS + [V], [ON, W]), "no node, input or initializer defines"),
    (hostile([KEEP, helper.make_node("Neg", ["y"], ["w"])], COUNTERS + [V], [ON, W]), "own output"),
    (hostile([KEEP, helper.make_node("Neg", ["w"], ["w"])], COUNTERS + [V], [ON, W]), "own output"),
    (hostile([helper.make_node("Identity", ["v"], ["on"]), NEG], COUNTERS + [V], [info("on", F), W]), "condition"),
    (hostile([KEEP, helper.make_node("Cast", ["v"], ["w"], to=I)], COUNTERS + [V], [ON, info("w", I, [2])]), "int64"),
    (hostile([KEEP, NEG], COUNTERS + [info("v", I, [2])], [ON, W]), "declared"),
    (hostile([KEEP, NEG], COUNTERS + [V], [ON, W], ("x", "", "x")), "Loop"),
    (hostile([KEEP, NEG], COUNTERS + [V], [ON, W], ("m", "", "")), "left out"),
    (hostile([NEG], [V], [W], ("x",), op="Scan", num_scan_inputs=2**40), "scan inputs"),
    (hostile([NEG], [V], [W], ("x",), op="Scan", num_scan_inputs=1, scan_input_axes=[7]), "axis"),
    (hostile([NEG], [V], [W], ("x",), op="Scan", num_scan_inputs=1, scan_input_directions=[1, 1]), "scan inputs"),
    ([helper.make_node("If", ["c"], ["y"], "bad", then_branch=helper.make_graph([], "b", [], [info("x", F, [2])]))], "then_branch"),
    ([helper.make_node("Loop", ["m", "", "x"], ["y"], "bad")], "body"),
])
def test_hostile_bodies(refused, tmp_path, nodes, words):
    path = save(tmp_path / "m.onnx", nodes, [info("x", F, [2]), info("m", I, []), info("c", B, [])], [info("y")])
    assert words in refused(1, "run", path)


def test_a_tensor_is_no_sequence(refused, tmp_path):
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, None))
    body = helper.make_graph([KEEP, helper.make_node("Identity", ["s"], ["t"])], "body", COUNTERS + [helper.make_value_info("s", sequence)],
                             [ON, helper.make_value_info("t", sequence)])
    path = save(tmp_path / "m.onnx", [helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)], [info("x", F, [2]), info("m", I, [])], [info("y")])
    assert "declared as another type" in refused(1, "run", path)
