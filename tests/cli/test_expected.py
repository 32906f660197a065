"""`verify --expected`: outputs that somebody else made."""
import json

import numpy as np
import onnx_writer as w
import pytest

X = np.float32([[1, -2, 3], [-4, 5, -6]])


@pytest.fixture
def model(tmp_path):
    """max(x, 0), -x and its sign as int64, and the input beside it."""
    nodes = [w.node("Relu", ["x"], ["a"]), w.node("Neg", ["x"], ["b"]), w.node("Cast", ["x"], ["c"], to=w.INT64)]
    outputs = [w.value("a", w.FLOAT, [2, 3]), w.value("b", w.FLOAT, [2, 3]), w.value("c", w.INT64, [2, 3])]
    (tmp_path / "model.onnx").write_bytes(w.model(nodes, [w.value("x", w.FLOAT, [2, 3])], outputs))
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "model.onnx", "--input", f"x={tmp_path / 'x.npy'}"


@pytest.fixture
def folder(tmp_path):
    """folder(a, b, c) -> what somebody else made"""

    def call(*arrays):
        made = tmp_path / "expected"
        made.mkdir()
        for k, array in enumerate(arrays):
            np.save(made / f"{k}.npy", array)
        return made

    return call


RIGHT = (np.maximum(X, 0), -X, X.astype(np.int64))


def changed(k, value, dtype=None):
    arrays = [a.copy() for a in RIGHT]
    arrays[k][0, 1] = value
    return [a.astype(dtype) if dtype and i == k else a for i, a in enumerate(arrays)]


def test_the_same(parallax, model, folder):
    done = parallax("verify", *model, "--expected", folder(*RIGHT))
    assert done.returncode == 0, done.stderr
    assert "3 of 3 outputs" in done.stdout and "a: largest 0.0e+00" in done.stdout and "c: equal" in done.stdout


@pytest.mark.parametrize("arrays, output, text", [
    (changed(0, 1.0), "a", "largest 1.0e+00, 2.0e-01"), (changed(0, np.nan), "a", "NaN"), (changed(1, np.inf), "b", "infinities"),
    (changed(2, 7), "c", "1 of 6 elements differ, at most by 9"), (changed(1, 2, np.float32)[:1] + [np.float32([1, 2])] + [RIGHT[2]], "b", "is float32 2x3, expected is float32 2"),
    ([RIGHT[0], RIGHT[1], RIGHT[2].astype(np.int32)], "c", "expected is int32")])
def test_differences_are_named(parallax, model, folder, arrays, output, text):
    done = parallax("verify", *model, "--expected", folder(*arrays))
    assert done.returncode == 1 and "1 of 3 outputs differ" in done.stderr and len(done.stderr.splitlines()) == 1
    line, = [line for line in done.stdout.splitlines() if line.startswith(f"  {output}: ")]
    assert text in line and line.endswith("DIFFERENT")
    assert done.stdout.count("DIFFERENT") == 1


def test_nan_where_nan_is_expected(parallax, tmp_path):
    x = np.float32([[np.nan, np.inf, -np.inf]])
    (tmp_path / "m.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", w.FLOAT, [1, 3])], [w.value("y", w.FLOAT, [1, 3])]))
    np.save(tmp_path / "x.npy", x)
    for expected, status in ((x, 0), (-x, 1)):
        np.save(tmp_path / "0.npy", expected)
        assert parallax("verify", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--expected", tmp_path).returncode == status


@pytest.mark.parametrize("error, options, status", [(0.9e-3, [], 0), (1.1e-3, [], 1), (1.1e-3, ["--tolerance", 2e-3], 0), (1e-4, ["--tolerance", 0], 1)])
def test_tolerance_is_relative_to_the_largest_magnitude(parallax, model, folder, error, options, status):
    assert parallax("verify", *model, "--expected", folder(*changed(0, 5 * error)), *options).returncode == status


def test_what_run_wrote(parallax, model, tmp_path):
    assert parallax("run", *model, "--output-dir", tmp_path / "out").returncode == 0
    # The list says which file is whose: in another order, under other names.
    entries = json.loads((tmp_path / "out" / "outputs.json").read_text())
    (tmp_path / "out" / "0.npy").rename(tmp_path / "out" / "first.npy")
    entries[0]["file"] = "first.npy"
    (tmp_path / "out" / "outputs.json").write_text(json.dumps(entries[::-1]))
    assert parallax("verify", *model, "--expected", tmp_path / "out").returncode == 0


@pytest.mark.parametrize("listing", ["", "{}", "[]", '[{"name": "a"}]', '[{"name": 1, "file": 2}]', '["a"]'])
def test_wrong_lists(refused, model, folder, listing):
    made = folder(*RIGHT)
    (made / "outputs.json").write_text(listing)
    assert "no file for output 'a'" in refused(1, "verify", *model, "--expected", made)


def test_files_that_are_not_there(parallax, refused, model, folder, tmp_path):
    assert "nowhere" in refused(1, "verify", *model, "--expected", tmp_path / "nowhere")
    done = parallax("verify", *model, "--expected", folder(*RIGHT[:2]))
    assert done.returncode == 1 and "2.npy" in done.stderr


def test_a_tolerance_without_outputs(refused, model):
    assert "--expected" in refused(2, "verify", *model, "--tolerance", 1)
