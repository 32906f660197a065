"""Sizes and values of inputs that decide how a model is loaded: --dim, --shape and the files of --input."""
import numpy as np
import onnx_writer as w
import pytest

ONE = w.ints("one", [1])


@pytest.fixture
def outputs(parallax, tmp_path):
    """outputs(model bytes, {input: array}, *options) -> [the outputs]; run twice, from the file and from a cache."""

    def call(model, arrays, *options):
        (tmp_path / "m.onnx").write_bytes(model)
        words = []
        for name, array in arrays.items():
            np.save(tmp_path / f"{name}.npy", array)
            words += ["--input", f"{name}={tmp_path / name}.npy"]
        for _ in range(2):
            done = parallax("run", tmp_path / "m.onnx", *words, *options, "--output-dir", tmp_path / "out", "--cache", tmp_path / "kept")
            assert done.returncode == 0, done.stderr
        return [np.load(path) for path in sorted((tmp_path / "out").glob("*.npy"))]

    return call


def squeeze_if_one(axes):
    """If the first size is 1, Squeeze: ranks differ between the branches."""
    def branch(op, *inputs):
        return w.graph([w.node(op, ["x", *inputs], ["b"])], [], [w.blob(1, "b")])
    nodes = [w.node("Shape", ["x"], ["s"]), w.node("Slice", ["s", "zero", "one"], ["n"]), w.node("Equal", ["n", "one"], ["c"]),
             w.node("If", ["c"], ["y"], then_branch=branch("Squeeze", *axes), else_branch=branch("Identity"))]
    return w.model(nodes, [w.value("x", w.FLOAT, ["n", 3])], [w.blob(1, "y")], [w.ints("zero", [0]), ONE])


@pytest.mark.parametrize("axes", [(), ("zero",)], ids=["any", "first"])
@pytest.mark.parametrize("rows, shape", [(1, (3,)), (2, (2, 3))])
def test_a_size_that_decides_a_branch(outputs, rows, shape, axes):
    x = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
    for options in ([], ["--dim", f"n={rows}"], ["--shape", f"x={rows}x3"]):
        [y] = outputs(squeeze_if_one(axes), {"x": x} if not options else {}, *options)
        assert y.shape == shape


def test_a_branch_that_is_not_taken_need_not_suit_the_sizes(outputs):
    """As in Silero VAD: each branch of an If on a value squeezes another axis, of which one has an element."""
    def squeezed(axis, name):
        inner = [w.graph([w.node(op, ["x", *axes], [name])], [], [w.blob(1, name)]) for op, axes in (("Squeeze", [axis]), ("Identity", []))]
        nodes = [w.node("Shape", ["x"], ["s"]), w.node("Gather", ["s", axis], ["n"], axis=0), w.node("Equal", ["n", "one"], ["c"]),
                 w.node("If", ["c"], [name], then_branch=inner[0], else_branch=inner[1])]
        return w.graph(nodes, [], [w.blob(1, name)])
    nodes = [w.node("If", ["first"], ["y"], then_branch=squeezed("zero", "a"), else_branch=squeezed("one", "b"))]
    model = w.model(nodes, [w.value("x", w.FLOAT, ["n", "m"]), w.value("first", w.BOOL, [])], [w.blob(1, "y")], [w.ints("zero", [0]), ONE])
    x = np.ones((1, 3), np.float32)
    [y] = outputs(model, {"x": x, "first": np.array(True)})
    assert y.shape == (3,)


def test_an_input_without_a_shape(outputs, refused, tmp_path):
    untyped = w.blob(1, "x") + w.blob(2, w.blob(1, w.number(1, w.FLOAT)))
    model = w.model([w.node("Relu", ["x"], ["y"])], [untyped], [w.value("y", w.FLOAT, ["a", "b"])])
    [y] = outputs(model, {"x": np.float32([[-1, 2]])})
    assert y.tolist() == [[0, 2]]
    [y] = outputs(model, {}, "--shape", "x=2x5")
    assert y.shape == (2, 5)
    assert "--shape" in refused(1, "run", tmp_path / "m.onnx")


def test_one_name_for_two_sizes(outputs, refused, tmp_path):
    model = w.model([w.node("Relu", ["x"], ["y"])], [w.value("x", w.FLOAT, ["size", "size"])], [w.value("y", w.FLOAT, ["size", "size"])])
    x = np.ones((2, 3), np.float32)
    [y] = outputs(model, {"x": x}, "--shape", "x=2x3")
    assert y.shape == (2, 3)
    assert "--shape x=2x3" in refused(1, "run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}")


def test_a_default_that_a_run_replaces(outputs, parallax, tmp_path):
    model = w.model([w.node("Add", ["x", "w"], ["y"])], [w.value("x", w.FLOAT, [2]), w.value("w", w.FLOAT, [1])], [w.value("y", w.FLOAT, [2])],
                    [w.floats("w", [1], [1])])
    x = np.float32([1, 2])
    assert outputs(model, {"x": x})[0].tolist() == [2, 3]
    assert outputs(model, {"x": x, "w": np.float32([5])})[0].tolist() == [6, 7]
    assert "w  float32 [1], has a default" in parallax("info", tmp_path / "m.onnx").stdout
    assert "--dim" in parallax("run", tmp_path / "m.onnx", "--dim", "z=3").stderr
