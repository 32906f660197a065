"""`run --top`: the largest scores of each row."""
import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS, ROOT


@pytest.fixture
def top(parallax, tmp_path):
    """top(array, *options) -> [(row, index, score text, label)]"""

    def call(scores, *options):
        shape = list(scores.shape)
        (tmp_path / "model.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", w.FLOAT, shape)], [w.value("y", w.FLOAT, shape)]))
        np.save(tmp_path / "x.npy", scores.astype(np.float32))
        done = parallax("run", tmp_path / "model.onnx", "--input", f"x={tmp_path / 'x.npy'}", *options)
        assert done.returncode == 0, done.stderr
        lines = [line.split(maxsplit=4) for line in done.stdout.splitlines() if line.startswith("  row")]
        return [(int(row), int(index), float(score), *label) for _, row, index, score, *label in lines]

    return call


@pytest.mark.parametrize("shape", [(7,), (1, 7), (1, 7, 1, 1), (1, 1, 7)])
def test_one_row(top, shape):
    assert top(np.float32([1, 9, 3, 9, -2, 0, 5]).reshape(shape), "--top", 3) == [(0, 1, 9), (0, 3, 9), (0, 6, 5)]


def test_rows_and_fewer_classes_than_asked_for(top):
    assert top(np.float32([[1, 2], [4, 3]]), "--top", 5) == [(0, 1, 2), (0, 0, 1), (1, 0, 4), (1, 1, 3)]


def test_nan_comes_last(top):
    got = top(np.float32([[np.nan, -np.inf, 2]]), "--top", 3)
    assert [index for _, index, _ in got] == [2, 1, 0] and np.isnan(got[2][2])


def test_labels(top, tmp_path):
    (tmp_path / "labels.txt").write_bytes(b"cat\r\nsmall dog\nbird")
    assert top(np.float32([[1, 3, 2]]), "--top", 2, "--labels", tmp_path / "labels.txt") == [(0, 1, 3, "small dog"), (0, 2, 2, "bird")]


def test_outputs_are_written_too(parallax, tmp_path):
    done = parallax("run", DIGITS, "--input", f"image={ROOT / 'models' / 'digits' / 'images.npy'}", "--top", 1, "--output-dir", tmp_path)
    best = [int(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("  row")]
    assert best == np.load(tmp_path / "0.npy").argmax(1).tolist()


@pytest.mark.parametrize("shape, dtype", [([1, 84, 8400], w.FLOAT), ([5, 1], w.FLOAT), ([], w.FLOAT), ([0, 4], w.FLOAT), ([1, 10], w.INT64)])
def test_outputs_without_scores(refused, tmp_path, shape, dtype):
    (tmp_path / "model.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", dtype, shape)], [w.value("y", dtype, shape)]))
    assert "no output has scores" in refused(1, "run", tmp_path / "model.onnx", "--top", 3)


@pytest.mark.parametrize("labels, why", [(b"a\nb\n", "ROWSx2"), (b"", "no lines"), (None, "No such file")])
def test_labels_of_something_else(refused, tmp_path, labels, why):
    if labels is not None:
        (tmp_path / "labels.txt").write_bytes(labels)
    assert why in refused(1, "run", DIGITS, "--dim", "batch=1", "--top", 1, "--labels", tmp_path / "labels.txt")


@pytest.mark.parametrize("options", [["--top", 0], ["--top", "x"], ["--labels", "file"]])
def test_wrong_options(refused, options):
    assert "--top" in refused(2, "run", DIGITS, "--dim", "batch=1", *options)
