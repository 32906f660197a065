"""Element types that NumPy lacks, as ml_dtypes writes them and as ONNX's .pb."""
import json

import numpy as np
import onnx_writer as w
import pytest

# TensorProto.DataType, what np.save writes for ml_dtypes' arrays, bytes of three elements there and packed in a .pb.
TYPES = {
    "bfloat16": (16, "<V2", bytes.fromhex("803f00400000"), bytes.fromhex("803f00400000")),
    "float8_e4m3fn": (17, "<V1", b"\x38\x40\xb8", b"\x38\x40\xb8"),
    "float8_e5m2": (19, "<f1", b"\x3c\x40\xbc", b"\x3c\x40\xbc"),
    "int4": (22, "<V1", b"\x0d\x0f\x07", b"\xfd\x07"),
    "uint4": (21, "<V1", b"\x0d\x0f\x07", b"\xfd\x07"),
    "uint2": (25, "<V1", b"\x03\x00\x02", b"\x23"),
    "float4_e2m1fn": (23, "<V1", b"\x01\x0f\x00", b"\xf1\x00"),
}


def npy(code, data, count=3):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.fixture
def same(tmp_path):
    """same(type) -> an Identity of three elements."""

    def make(dtype):
        path = tmp_path / "same.onnx"
        path.write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", dtype, [3])], [w.value("y", dtype, [3])]))
        return path

    return make


def data_of(file):
    content = file.read_bytes()
    return content[10 + int.from_bytes(content[8:10], "little"):], content[10:40].decode()


@pytest.mark.parametrize("name", TYPES)
def test_types_that_numpy_lacks_go_in_and_out(parallax, same, tmp_path, name):
    onnx, code, unpacked, packed = TYPES[name]
    (tmp_path / "x.npy").write_bytes(npy(code, unpacked))
    (tmp_path / "x.pb").write_bytes(w.tensor("x", onnx, [3], packed))
    for given in ("x.npy", "x.pb"):
        for form in ("npy", "pb"):
            out = tmp_path / (given + form)
            done = parallax("run", same(onnx), "--input", f"x={tmp_path / given}", "--output-dir", out, "--output-format", form)
            assert done.returncode == 0, done.stderr
            listed = json.loads((out / "outputs.json").read_text())
            assert listed == [{"name": "y", "dtype": name, "shape": [3], "file": f"0.{form}"}]
            if form == "npy":
                data, header = data_of(out / "0.npy")
                assert data == unpacked and f"'{code}'" in header
            else:
                assert packed in (out / "0.pb").read_bytes()


def test_a_pb_of_another_type_is_refused(refused, same, tmp_path):
    (tmp_path / "x.pb").write_bytes(w.tensor("x", w.FLOAT, [3], b"\0" * 12))
    line = refused(1, "run", same(w.INT64), "--input", f"x={tmp_path / 'x.pb'}")
    assert "float32" in line and "int64" in line


@pytest.mark.parametrize("content", [b"", b"junk", w.tensor("x", 1, [3], b"\0" * 11), w.tensor("x", 1, [-3], b""), w.tensor("x", 1, [2**62, 4], b"")])
def test_a_pb_that_is_no_tensor_is_refused(refused, same, tmp_path, content):
    (tmp_path / "x.pb").write_bytes(content)
    assert "x.pb" in refused(1, "run", same(w.FLOAT), "--input", f"x={tmp_path / 'x.pb'}")


@pytest.mark.parametrize("name", TYPES)
def test_made_up_inputs_are_in_their_range(parallax, same, tmp_path, name):
    onnx = TYPES[name][0]
    for seed in ("1", "2"):
        done = parallax("run", same(onnx), "--seed", seed)
        assert done.returncode == 0, done.stderr
        low, high = (float(done.stdout.split(word)[1].split()[0]) for word in ("min", "max"))
        assert (0 <= low and high < 1) if "float" in name else (1 <= low and high <= 9)


def test_every_type_verifies(parallax, same):
    for onnx, *_ in TYPES.values():
        done = parallax("verify", same(onnx))
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype, cast", [(np.float32, []), (np.float64, ["--cast"]), (np.float32, ["--cast"])])
@pytest.mark.parametrize("shape", [(5,), (3, 1), (1, 4), (2, 3, 4), (17, 600), (0, 3), (2, 1, 3, 2, 2)])
def test_arrays_in_fortran_order_are_read(parallax, tmp_path, shape, dtype, cast):
    array = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    np.save(tmp_path / "x.npy", array.T.copy().T)
    path = tmp_path / "same.onnx"
    path.write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", w.FLOAT, shape)], [w.value("y", w.FLOAT, shape)]))
    done = parallax("run", path, "--input", f"x={tmp_path / 'x.npy'}", *cast, "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "out" / "0.npy"), array)


def test_packed_elements_in_fortran_order(parallax, tmp_path):
    header = "{'descr': '<V1', 'fortran_order': True, 'shape': (2, 3), }".ljust(117) + "\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes([1, 4, 2, 5, 3, 6]))
    path = tmp_path / "same.onnx"
    path.write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", 22, [2, 3])], [w.value("y", 22, [2, 3])]))
    done = parallax("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert data_of(tmp_path / "out" / "0.npy")[0] == bytes([1, 2, 3, 4, 5, 6])
