"""What bench/ computes and writes, from figures that are made up: nothing is measured."""
import re
import sys

import onnx_writer as w
import pytest
from conftest import BUILD, ROOT

sys.path.insert(0, str(ROOT / "bench"))
import real  # noqa: E402
import tables  # noqa: E402

@pytest.mark.parametrize("intervals, busy", [([], 0), ([(0, 2)], 2), ([(0, 2), (1, 3)], 3), ([(5, 6), (0, 2)], 3), ([(0, 9), (1, 2), (10, 11)], 10)])
def test_busy_time(intervals, busy):
    assert tables.busy_ms(intervals) == busy

def test_a_layer_does_not_last_from_its_encoder_to_its_decoder(monkeypatch):
    """Branches 0 and 1 are of layer 0; branch 1 runs behind branch 2, which is of layer 1."""
    ops = [{"branch": 0, "begin_ms": 0, "ms": 2}, {"branch": 2, "begin_ms": 2, "ms": 100}, {"branch": 1, "begin_ms": 102, "ms": 1}]
    monkeypatch.setattr(tables, "plan", lambda *_: {"branch_list": [{"id": 0, "layer": 0}, {"id": 1, "layer": 0}, {"id": 2, "layer": 1}]})
    monkeypatch.setattr(tables, "bench", lambda *_: {"ops": ops})
    assert tables.layer_times("case", None, 2) == [{"layer": 0, "branches": 2, "sequential": 3, "layers": 3}]

def test_one_disturbed_process_does_not_show(monkeypatch):
    turns = iter([10, 11, 12, 99, 10, 11, 12, 11, 10, 11, 12, 12])
    monkeypatch.setattr(tables, "bench", lambda *_: {"latency_ms": {"median": next(turns)}})
    assert tables.threads_ms("case", None, 3)[1] == {1: 10, 2: 11, 4: 12, 8: 12}

def model_file(path, op):
    path.write_bytes(w.model([w.node(op, ["x"], ["y"])], [w.value("x", w.FLOAT, [2, 2])], [w.value("y", w.FLOAT, [2, 2])]))

def test_who_does_not_run_a_model(monkeypatch, tmp_path):
    monkeypatch.setattr(real, "CLI", BUILD / "parallax")
    model_file(tmp_path / "both.onnx", "Frobnicate")
    model_file(tmp_path / "neither.onnx", "Relu")
    assert real.refusal(tmp_path / "both.onnx").startswith("Parallax: unsupported operators: Frobnicate")
    assert real.refusal(tmp_path / "neither.onnx") == ""

def test_a_model_that_both_refuse_names_both(monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (make venv installs it)")
    monkeypatch.setattr(real, "CLI", BUILD / "parallax")
    model_file(tmp_path / "both.onnx", "Frobnicate")
    row, = real.measure(tmp_path, 1)
    assert row["model"] == "both.onnx" and "parallax" not in row
    assert re.fullmatch(r"Parallax: unsupported operators: Frobnicate .*; ONNX Runtime does not load it: .*Frobnicate.*", row["why"])
