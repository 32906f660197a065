"""`--precision bf16`: what it takes, what it changes, and that it is refused where the CPU cannot."""
import json
import pathlib

import pytest

from conftest import DIGITS

CPU_INFO = pathlib.Path("/proc/cpuinfo")
HAS_BF16 = CPU_INFO.exists() and "avx512_bf16" in CPU_INFO.read_text().split()
needs_bf16 = pytest.mark.skipif(not HAS_BF16, reason="this CPU does not have AVX-512-BF16")


@needs_bf16
@pytest.mark.parametrize("command", ["run", "plan", "bench"])
def test_runs(parallax, command):
    done = parallax(command, DIGITS, "--dim", "batch=3", "--precision", "bf16")
    assert done.returncode == 0, done.stderr


@needs_bf16
def test_verify_prints_the_error(parallax):
    done = parallax("verify", DIGITS, "--dim", "batch=7", "--precision", "bf16")
    assert done.returncode == 0, done.stderr
    assert "24 of 24 runs bit-identical" in done.stdout
    assert "bf16 against f32: largest" in done.stdout and "cosine 0.99" in done.stdout


@needs_bf16
def test_weights_take_fewer_bytes(parallax, tmp_path):
    packed = {}
    for precision in ["f32", "bf16"]:
        report = tmp_path / f"{precision}.json"
        done = parallax("bench", DIGITS, "--dim", "batch=2", "--runs", 1, "--precision", precision, "--json", report)
        assert done.returncode == 0, done.stderr
        figures = json.loads(report.read_text())
        assert figures["precision"] == precision
        packed[precision] = figures["packed_weight_bytes"]
    assert packed["bf16"] < packed["f32"]


@pytest.mark.skipif(HAS_BF16, reason="this CPU has AVX-512-BF16")
@pytest.mark.parametrize("command", ["run", "plan", "bench", "verify"])
def test_says_that_the_cpu_cannot(refused, command):
    assert "AVX-512-BF16" in refused(1, command, DIGITS, "--dim", "batch=3", "--precision", "bf16")


@pytest.mark.parametrize("name", ["bf8", "", "BF16"])
def test_unknown_precisions(refused, name):
    assert "--precision" in refused(2, "run", DIGITS, "--dim", "batch=3", "--precision", name)
