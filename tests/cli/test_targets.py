"""PARALLAX_TARGETS: kernels of fewer instruction sets than this machine has."""
import platform

import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS, EMULATOR

F32, U8, I32 = 1, 2, 6
ROWS, DEPTH, COLUMNS = 37, 203, 65


def dynamic_product():
    """y = x times weights of bytes, x quantised while it runs."""
    random = np.random.default_rng(1)
    weights = random.integers(-128, 128, (DEPTH, COLUMNS)).astype(np.int8)
    nodes = [w.node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]), w.node("MatMulInteger", ["q", "weights", "zero"], ["sums"]),
             w.node("Cast", ["sums"], ["numbers"], to=F32), w.node("Mul", ["numbers", "scale"], ["y"])]
    return w.model(nodes, [w.value("x", F32, [ROWS, DEPTH])], [w.value("y", F32, [ROWS, COLUMNS])], [w.tensor("weights", 3, [DEPTH, COLUMNS], weights.tobytes())])


@pytest.mark.skipif(bool(EMULATOR) or platform.machine() != "x86_64", reason="the names are those of x86")
def test_integer_products_have_the_same_bits_on_all_instruction_sets(parallax, tmp_path, monkeypatch):
    (tmp_path / "product.onnx").write_bytes(dynamic_product())
    seen = []
    for targets in (None, "AVX2", "AVX3", "AVX3_DL", "AVX2,AVX3"):
        if targets is not None:
            monkeypatch.setenv("PARALLAX_TARGETS", targets)
        if f"{targets}".startswith("AVX") and "vectors of 16 bytes" in parallax("info", DIGITS).stdout:
            continue  # an old machine: what is left rounds twice
        done = parallax("run", tmp_path / "product.onnx", "--output-dir", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        seen.append(np.load(tmp_path / "out" / "0.npy").tobytes())
    assert len(set(seen)) == 1


def test_an_instruction_set_that_is_none_is_refused(parallax, monkeypatch):
    monkeypatch.setenv("PARALLAX_TARGETS", "AVX2,AVX512")
    done = parallax("info", DIGITS)
    assert done.returncode == 2 and "PARALLAX_TARGETS: no instruction set 'AVX512'; there are SSE4, AVX2" in done.stderr
