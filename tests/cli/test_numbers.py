"""Elements of other types than the input's, and elements that are no numbers."""
import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS

ONNX = {np.float32: w.FLOAT, np.int64: w.INT64, np.int32: w.INT32, np.int8: w.INT8, np.uint8: w.UINT8, np.bool_: w.BOOL}


@pytest.fixture
def through(parallax, tmp_path):
    """through(array, dtype) -> the finished run of an Identity whose input has that type, and the folder of its outputs."""

    def call(array, dtype, *options):
        model = tmp_path / "same.onnx"
        model.write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", ONNX[dtype], ["n"])], [w.value("y", ONNX[dtype], ["n"])]))
        np.save(tmp_path / "x.npy", array)
        return parallax("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out", *options), tmp_path / "out" / "0.npy"

    return call


def test_float64_says_what_it_has_and_what_is_wanted(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8)))
    line = refused(1, "run", DIGITS, "--input", f"image={tmp_path / 'x.npy'}")
    assert all(words in line for words in ("x.npy", "'image'", "float64", "float32", "--cast"))


@pytest.mark.parametrize("source", [np.float64, np.float16, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8, np.bool_])
@pytest.mark.parametrize("wanted", ONNX)
def test_cast_gives_what_numpy_gives(through, source, wanted):
    array = np.array([0, 1, 0, 1, 1], source) if np.bool_ in (source, wanted) else np.array([0, 1, 5, 100, 127], source)
    done, file = through(array, wanted, "--cast")
    assert done.returncode == 0, done.stderr
    result = np.load(file)
    assert result.dtype == wanted and np.array_equal(result, array.astype(wanted))
    assert through(array, wanted)[0].returncode == (0 if source == wanted else 1)


def test_cast_rounds_floats(through):
    array = np.array([0.1, -1 / 3, 1e-45, 1e-50, np.nan, np.inf, -np.inf, 3.4e38])
    done, file = through(array, np.float32, "--cast")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(file).view(np.uint32), array.astype(np.float32).view(np.uint32))
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)  # all of them
    done, file = through(halves, np.float32, "--cast")
    assert np.array_equal(np.load(file), halves.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("array, wanted, words", [
    (np.array([1, 2.5]), np.int64, ["element 1", "2.5", "int64"]), (np.array([np.nan]), np.int32, ["nan"]), (np.array([2.0**63]), np.int64, ["element 0"]),
    (np.array([300]), np.uint8, ["300", "uint8"]), (np.array([-1]), np.uint8, ["-1"]), (np.array([1e39]), np.float32, ["1e+39"]),
    (np.array([2**64 - 1], np.uint64), np.int64, ["int64"]), (np.array(["a"]), np.float32, ["'<U1'"]), (np.array([1.5 + 2j]), np.float32, ["'<c16'"]),
])
def test_cast_refuses_what_does_not_fit(through, array, wanted, words):
    done, file = through(array, wanted, "--cast")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and all(word in done.stderr for word in words), done.stderr
    assert not file.exists()


def test_big_endian_numbers_are_named(through):
    done, _ = through(np.array([1.0], ">f4"), np.float32)
    assert done.returncode == 1 and "big-endian float32" in done.stderr and "--cast" not in done.stderr


def test_a_file_of_another_size_than_it_says_is_not_cast(parallax, through, tmp_path):
    through(np.zeros(5), np.float32)
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-3])
    done = parallax("run", tmp_path / "same.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--cast")
    assert done.returncode == 1 and "bytes of data" in done.stderr


@pytest.fixture
def roots(tmp_path):
    """The root of x, and x itself: of -1 and 4."""
    model = tmp_path / "roots.onnx"
    model.write_bytes(w.model([w.node("Sqrt", ["x"], ["root"]), w.node("Identity", ["x"], ["same"])], [w.value("x", w.FLOAT, [2])],
                              [w.value("root", w.FLOAT, [2]), w.value("same", w.FLOAT, [2])]))
    np.save(tmp_path / "x.npy", np.array([-1, 4], np.float32))
    return model, "--input", f"x={tmp_path / 'x.npy'}"


def test_nan_is_printed_as_nan(parallax, roots):
    lines = parallax("run", *roots).stdout.splitlines()
    assert lines[0].endswith("min nan  mean nan  max nan  (1 of 2 elements are NaN)")
    assert lines[1].endswith("min -1  mean 1.5  max 4")


def test_verify_says_that_outputs_are_nan(parallax, roots):
    done = parallax("verify", *roots)
    assert done.returncode == 0, done.stderr
    assert "root: 1 of 2 elements are NaN" in done.stdout and "same" not in done.stdout
