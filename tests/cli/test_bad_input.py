"""Whatever is wrong with a model, an input or the command line ends in one clear line, the right exit status, and no output."""
import os
import struct

import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS, SANITIZED

X = [w.value("x", w.FLOAT, [2, 3])]
Y = [w.value("y", w.FLOAT, [2, 3])]


@pytest.fixture
def model(tmp_path):
    def write(data):
        path = tmp_path / "model.onnx"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("data, words", [
    (b"", "empty"), (b"hello, world\n" * 9, ""), (b"\x00" * 64, ""), (b"\xff" * 64, ""), (b"PK\x03\x04" + b"\x00" * 60, ""),
])
def test_not_an_onnx_file(refused, model, data, words):
    assert words in refused(1, "plan", model(data))


def test_no_such_file_and_a_folder(refused, tmp_path):
    assert "nowhere.onnx" in refused(1, "run", tmp_path / "nowhere.onnx")
    assert str(tmp_path) in refused(1, "run", tmp_path)


def test_truncated(refused, model):
    whole = DIGITS.read_bytes()
    for i in range(6 if SANITIZED else 25):
        refused(1, "plan", model(whole[: len(whole) * i // (6 if SANITIZED else 25)]), "--dim", "batch=1")


def test_unsupported_operators_are_all_listed(refused, model):
    nodes = [w.node("Frobnicate", ["x"], ["a"], "first", "com.acme"), w.node("Frobnicate", ["a"], ["b"], "second", "com.acme"), w.node("StringSplit", ["b"], ["y"])]
    line = refused(1, "run", model(w.model(nodes, X, Y)))
    assert "Frobnicate" in line and "com.acme" in line and "2" in line and "StringSplit" in line and "17" in line


def test_an_attribute_that_is_not_read(refused, model):
    line = refused(1, "run", model(w.model([w.node("Relu", ["x"], ["y"], "the_node", alpha=3)], X, Y)))
    assert "the_node" in line and "alpha" in line


def test_unknown_input(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    assert "'nope'" in refused(2, "run", DIGITS, "--input", f"nope={tmp_path / 'x.npy'}")


@pytest.mark.parametrize("array, words", [
    (np.zeros((1, 1, 8, 8), np.int64), ["int64", "float32"]), (np.zeros((1, 1, 8, 9), np.float32), ["8x9"]), (np.zeros((8, 8), np.float32), ["8x8"]),
    (np.zeros((1, 1, 8, 8), np.float64), []),
])
def test_wrong_dtype_or_shape(refused, tmp_path, array, words):
    np.save(tmp_path / "x.npy", array)
    line = refused(1, "run", DIGITS, "--input", f"image={tmp_path / 'x.npy'}", "--dim", "batch=1")
    assert all(word in line for word in words)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff", b"hello" * 20, b"\x93NUMPY\x01\x00\x3c\x00{'descr': '<f4', 'fortran_order': 1, 'shape': (1, 1, 8, 8)}\n" + bytes(256)])
def test_npy_nonsense(refused, tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    refused(1, "run", DIGITS, "--input", f"image={tmp_path / 'x.npy'}")


def test_an_input_that_is_no_regular_file(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    assert "pipe" in refused(1, "run", DIGITS, "--input", f"image={tmp_path / 'pipe'}")
    assert str(tmp_path) in refused(1, "run", DIGITS, "--input", f"image={tmp_path}")


def test_npy_of_another_size_than_it_says(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-3])
    refused(1, "run", DIGITS, "--input", f"image={tmp_path / 'x.npy'}")


def test_unbound_symbol(refused):
    assert "batch" in refused(1, "run", DIGITS)
    assert "batch" in refused(1, "plan", DIGITS)


@pytest.mark.parametrize("extra", [["--dim", "batch"], ["--dim", "batch=x"], ["--dim", "batch=-1"], ["--dim", "other=3"], ["--shape", "image=1x1x8"],
                                   ["--shape", "image=1x1x8x9"], ["--shape", "nope=1"], ["--dim", "batch=9..1"]])
def test_dims_that_mean_nothing(refused, extra):
    refused(2, "plan", DIGITS, *extra)


@pytest.mark.parametrize("command", ["run", "plan", "verify"])
@pytest.mark.parametrize("values", ["1..3", "1,2"])
def test_several_values_where_one_is_taken(refused, command, values):
    assert "one value" in refused(2, command, DIGITS, "--dim", f"batch={values}")


@pytest.mark.parametrize("index", [7, -8, 2**62, -(2**63)])
def test_an_index_out_of_range(refused, model, tmp_path, index):
    path = model(w.model([w.node("Gather", ["table", "i"], ["y"], "lookup")], [w.value("i", w.INT64, [1])], Y,
                         [w.floats("table", [7, 1], [0] * 7)]))
    np.save(tmp_path / "i.npy", np.array([index], np.int64))
    line = refused(1, "run", path, "--input", f"i={tmp_path / 'i.npy'}", "--output-dir", tmp_path / "out")
    assert "lookup" in line and str(index) in line
    assert list((tmp_path / "out").glob("*")) == []


def test_nan_where_an_index_is_expected(refused, model, tmp_path):
    nodes = [w.node("Cast", ["x"], ["i"], to=w.INT64), w.node("Gather", ["table", "i"], ["y"], "lookup")]
    path = model(w.model(nodes, [w.value("x", w.FLOAT, [1])], Y, [w.floats("table", [7, 1], [0] * 7)]))
    np.save(tmp_path / "x.npy", np.array([np.nan], np.float32))
    assert "lookup" in refused(1, "run", path, "--input", f"x={tmp_path / 'x.npy'}")


def test_a_tensor_larger_than_the_budget(refused, parallax):
    line = refused(1, "run", DIGITS, "--dim", "batch=100", "--memory-budget", "10KiB")
    assert "missing" in line
    assert parallax("run", DIGITS, "--dim", "batch=1", "--memory-budget", "64MiB").returncode == 0


def test_an_output_larger_than_the_budget(refused, model):
    path = model(w.model([w.node("ConstantOfShape", ["n"], ["y"])], [w.value("x", w.FLOAT, [1])], [w.value("y", w.FLOAT, ["m"])], [w.ints("n", [2**31 - 1])]))
    assert "'y'" in refused(1, "run", path, "--memory-budget", "256MiB")


def test_huge_dimensions(refused):
    refused(1, "plan", DIGITS, "--dim", f"batch={2**62}")


def test_bombs(refused, model):
    """Small files that ask for huge tensors."""
    huge = w.ints("shape", [2**40, 2**20])
    refused(1, "run", model(w.model([w.node("ConstantOfShape", ["shape"], ["y"])], [], Y, [huge])), "--memory-budget", "1GiB")
    refused(1, "run", model(w.model([w.node("Expand", ["x", "shape"], ["y"])], X, Y, [w.ints("shape", [2**33, 2**33, 2, 3])])))
    refused(1, "run", model(w.model([w.node("Relu", ["w"], ["y"])], [], Y, [w.tensor("w", w.FLOAT, [2**31, 2**31], b"1234")])))


def test_declared_and_stored_sizes_differ(refused, model):
    data = w.model([w.node("Add", ["x", "w"], ["y"], "sum")], X, Y, [w.tensor("w", w.FLOAT, [2, 3], struct.pack("<5f", *range(5)))])
    assert "'w'" in refused(1, "run", model(data))


@pytest.mark.parametrize("location", ["/etc/passwd", "../secret", "a/../../secret", "link", "missing"])
def test_external_data_stays_in_the_folder(refused, tmp_path, location):
    (tmp_path / "secret").write_bytes(b"\0" * 24)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    outside = (b"".join(w.number(1, d) for d in (2, 3)) + w.number(2, w.FLOAT) + w.blob(8, "w") + w.blob(13, w.blob(1, "location") + w.blob(2, location)) + w.number(14, 1))
    (folder / "m.onnx").write_bytes(w.model([w.node("Add", ["x", "w"], ["y"])], X, Y, [outside]))
    refused(1, "run", folder / "m.onnx")


@pytest.mark.parametrize("content, name", [(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "Git LFS pointer"), (b"<!DOCTYPE html><html>", "HTML page"),
                                           (b"\x18\0\0\0ORTM" + bytes(20), ".ort"),
                                           (b"\x02" + bytes(7) + b"{}", "safetensors"), (b"GGUF\x03" + bytes(30), "GGUF")])
def test_files_of_other_formats_are_named(refused, model, content, name):
    for command in ("run", "info"):
        line = refused(1, command, model(content))
        assert "not an ONNX model but " in line and name in line


def test_a_damaged_tflite_file_is_refused(refused, model):
    for command in ("run", "info"):
        assert "no valid flatbuffer of a TFLite model" in refused(1, command, model(b"\x1c\0\0\0TFL3" + bytes(20)))


def test_limits_name_the_options_that_raise_them(refused, parallax, model):
    flag, y = w.value("c", w.BOOL, []), [w.value("y", w.FLOAT, [2, 3])]
    body = w.graph([w.node("Relu", ["x"], ["y"])], [], y)
    for _ in range(16):
        body = w.graph([w.node("If", ["c"], ["y"], then_branch=w.graph([w.node("Neg", ["x"], ["y"])], [], y), else_branch=body)], [], y)
    path = model(w.model([w.node("If", ["c"], ["y"], then_branch=body, else_branch=body)], [flag, *X], y))
    assert "--max-nesting: at most 64" in refused(1, "plan", path)
    assert parallax("plan", path, "--max-nesting", "17").returncode == 0
    step = w.graph([w.node("Identity", ["go"], ["on"]), w.node("Relu", ["v"], ["r"])], [w.value("i", w.INT64, []), w.value("go", w.BOOL, []), w.value("v", w.FLOAT, [2, 3])],
                   [w.value("on", w.BOOL, []), w.value("r", w.FLOAT, [2, 3])])
    path = model(w.model([w.node("Loop", ["m", "", "x"], ["y"], body=step)], [w.value("m", w.INT64, []), *X], y))
    assert "--max-loop-trips" in refused(1, "run", path, "--max-loop-trips", "0")


def test_cycles_and_missing_producers(refused, model):
    cycle = [w.node("Add", ["x", "b"], ["a"]), w.node("Relu", ["a"], ["b"]), w.node("Neg", ["b"], ["y"])]
    assert "own output" in refused(1, "run", model(w.model(cycle, X, Y)))
    assert "ghost" in refused(1, "run", model(w.model([w.node("Add", ["x", "ghost"], ["y"])], X, Y)))
    twice = [w.node("Relu", ["x"], ["y"], "one"), w.node("Neg", ["x"], ["y"], "two")]
    assert "'y'" in refused(1, "run", model(w.model(twice, X, Y)))


def test_an_output_folder_that_cannot_be_written(refused, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in refused(1, "run", DIGITS, "--dim", "batch=1", "--output-dir", tmp_path / "file" / "out")


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["run", DIGITS, "--threads", "0"], ["run", DIGITS, "--threads", "many"], ["run", DIGITS, "--scheduler", "psychic"],
                                       ["run", DIGITS, "--memory-budget", "lots"], ["run", DIGITS, "--memory-budget", "-5MiB"], ["bench", DIGITS, "--runs", "0"], ["run", DIGITS, "extra"]])
def test_wrong_usage(refused, arguments):
    refused(2, *arguments)


def test_a_wrong_scheduler_is_told_the_right_ones(refused, parallax):
    line = refused(2, "run", DIGITS, "--scheduler", "psychic")
    assert all(name in line for name in ("psychic", "layers", "sequential")) and "->" not in line
    assert "->" not in parallax("run", "--help").stdout
