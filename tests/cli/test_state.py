"""Inputs that are tied to outputs: run --repeat, --reset-state, bench and verify; a small streaming model, and keys that grow."""
import json

import numpy as np
import onnx_writer as w
import pytest

X, H, HN, Y = (w.value(n, w.FLOAT, ["n", 3]) for n in ("x", "h", "hn", "y"))
NODES = [w.node("Add", ["x", "h"], ["s"]), w.node("Tanh", ["s"], ["hn"]), w.node("Neg", ["hn"], ["y"])]


@pytest.fixture
def stream(tmp_path):
    """hn = Tanh(x + h), y = -hn: a state between two runs, the output before it."""
    path = tmp_path / "stream.onnx"
    path.write_bytes(w.model(NODES, [X, H], [Y, HN]))
    return path


@pytest.fixture
def x(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0.5, -1, 2]], np.float32))
    return f"x={tmp_path / 'x.npy'}"


def outputs(folder):
    return [np.load(folder / entry["file"]) for entry in json.loads((folder / "outputs.json").read_text())]


@pytest.mark.parametrize("options", [["--scheduler", "sequential", "--threads", 1], ["--scheduler", "layers", "--threads", 2], ["--threads", 3, "--memory-budget", "1MiB"]])
def test_repeated_runs_are_those_that_are_fed_by_hand(parallax, stream, x, tmp_path, options):
    done = parallax("run", stream, "--input", x, "--tie", "h=hn", "--repeat", 4, "--output-dir", tmp_path / "tied", *options)
    assert done.returncode == 0, done.stderr
    h = np.zeros((1, 3), np.float32)
    for i in range(4):
        np.save(tmp_path / "h.npy", h)
        assert parallax("run", stream, "--input", x, "--input", f"h={tmp_path / 'h.npy'}", "--output-dir", tmp_path / "hand", *options).returncode == 0
        hand = outputs(tmp_path / "hand")
        for ours, theirs in zip(outputs(tmp_path / "tied" / str(i)), hand, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        h = hand[1]


def test_the_state_begins_with_a_file_and_anew(parallax, stream, x, tmp_path):
    np.save(tmp_path / "h.npy", np.array([[1, 1, 1]], np.float32))
    call = ["run", stream, "--input", x, "--tie", "h=hn", "--repeat", 3, "--input", f"h={tmp_path / 'h.npy'}", "--output-dir", tmp_path / "out"]
    assert parallax(*call, "--reset-state").returncode == 0
    anew = [outputs(tmp_path / "out" / str(i))[1] for i in range(3)]
    np.testing.assert_allclose(anew[0], np.tanh([[1.5, 0, 3]]), rtol=1e-5)
    assert np.array_equal(anew[0], anew[1]) and np.array_equal(anew[0], anew[2])
    assert parallax(*call).returncode == 0
    goes_on = [outputs(tmp_path / "out" / str(i))[1] for i in range(3)]
    assert np.array_equal(goes_on[0], anew[0]) and not np.array_equal(goes_on[1], anew[1])


def test_keys_that_grow_begin_empty(parallax, refused, tmp_path):
    model = tmp_path / "grows.onnx"
    model.write_bytes(w.model([w.node("Concat", ["past", "x"], ["present"], axis=0), w.node("ReduceSum", ["present"], ["y"], keepdims=0)],
                              [w.value("x", w.FLOAT, [1, 3]), w.value("past", w.FLOAT, ["length", 3])], [w.value("y", w.FLOAT, []), w.value("present", w.FLOAT, ["longer", 3])]))
    call = ["run", model, "--tie", "past=present", "--repeat", 3, "--output-dir", tmp_path / "out"]
    assert "length" in refused(1, *call)
    assert parallax(*call, "--dim", "length=0").returncode == 0
    assert [outputs(tmp_path / "out" / str(i))[1].shape for i in range(3)] == [(1, 3), (2, 3), (3, 3)]
    assert parallax("verify", model, "--tie", "past=present", "--dim", "length=2").returncode == 0


def test_folders_of_earlier_runs_go_away(parallax, stream, tmp_path):
    out = tmp_path / "out"
    call = ["run", stream, "--dim", "n=1", "--output-dir", out]
    assert parallax(*call).returncode == 0
    assert parallax(*call, "--repeat", 3).returncode == 0
    (out / "2" / "mine").write_text("stays")
    assert parallax(*call, "--repeat", 1, "--tie", "h=hn").returncode == 0
    assert sorted(p.name for p in out.iterdir()) == ["0", "2"]
    assert [p.name for p in (out / "2").iterdir()] == ["mine"]


def test_what_is_printed(parallax, stream):
    done = parallax("run", stream, "--dim", "n=1", "--tie", "h=hn", "--repeat", 2)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["run", "y", "hn", "run", "y", "hn"]


@pytest.mark.parametrize("options", [[], ["--reset-state"], ["--concurrency", 3], ["--dim", "n=1,2,5"]])
def test_bench_and_verify(parallax, stream, options):
    sizes = [] if "--dim" in options else ["--dim", "n=2"]
    done = parallax("bench", stream, "--tie", "h=hn", "--runs", 5, *sizes, *options, "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == 5
    done = parallax("verify", stream, "--tie", "h=hn", "--dim", "n=2")
    assert done.returncode == 0 and "24 of 24 runs bit-identical" in done.stdout, done.stdout + done.stderr


def test_verify_compares_with_expected_outputs(parallax, stream, x, tmp_path):
    assert parallax("run", stream, "--input", x, "--tie", "h=hn", "--output-dir", tmp_path / "out").returncode == 0
    done = parallax("verify", stream, "--input", x, "--tie", "h=hn", "--expected", tmp_path / "out")
    assert done.returncode == 0 and "2 of 2 outputs" in done.stdout


@pytest.mark.parametrize("status, ties, message", [
    (2, ["h"], "expected INPUT=OUTPUT"),
    (2, ["=hn"], "expected INPUT=OUTPUT"),
    (2, ["h="], "expected INPUT=OUTPUT"),
    (2, ["g=hn"], "the model has no input 'g'; it has x, h"),
    (2, ["h=g"], "the model has no output 'g'; it has y, hn"),
    (2, ["h\n=hn"], "the model has no input 'h '"),
    (2, ["h=%s{}\x1b[2J"], "the model has no output"),
    (1, ["h=hn", "x=hn"], "output 'hn' is tied twice"),
    (1, ["h=hn", "h=y"], "input 'h' is tied twice"),
])
def test_ties_that_are_refused(refused, stream, status, ties, message):
    assert message in refused(status, "run", stream, "--dim", "n=1", *(option for tie in ties for option in ("--tie", tie)))


def test_other_usage_that_is_refused(refused, stream):
    assert "--tie" in refused(2, "run", stream, "--dim", "n=1", "--reset-state")
    for count in (0, -1, "many"):
        assert "--repeat" in refused(2, "run", stream, "--dim", "n=1", "--repeat", count)


def test_types_and_dimensions_that_differ(refused, tmp_path):
    model = tmp_path / "m.onnx"
    model.write_bytes(w.model([w.node("Neg", ["a"], ["b"]), w.node("Cast", ["a"], ["c"], to=w.INT64), w.node("Transpose", ["a"], ["d"], perm=[1, 0])],
                              [w.value("a", w.FLOAT, [2, 3])], [w.value("b", w.FLOAT, [2, 3]), w.value("c", w.INT64, [2, 3]), w.value("d", w.FLOAT, [3, 2])]))
    for name, text in (("c", "int64 2x3"), ("d", "float32 3x2")):
        assert f"output '{name}' ({text}) cannot be tied to input 'a' (float32 2x3)" in refused(1, "run", model, "--tie", f"a={name}")


def test_names_with_equals_signs(parallax, tmp_path):
    model = tmp_path / "m.onnx"
    values = [w.value(n, w.FLOAT, [3]) for n in ("a=b", "c=d")]
    model.write_bytes(w.model([w.node("Exp", ["a=b"], ["c=d"])], values[:1], values[1:]))
    assert parallax("run", model, "--tie", "a=b=c=d", "--repeat", 3, "--output-dir", tmp_path / "out").returncode == 0
    np.testing.assert_allclose(outputs(tmp_path / "out" / "2")[0], [np.exp(np.e)] * 3, rtol=1e-5)
