"""parallax-gains: a model with one thing after the other that makes it fast."""
import json

import onnx_writer as w
import pytest
from conftest import BUILD, DIGITS, run


def test_steps():
    done = run(BUILD / "parallax-gains", DIGITS, "--dim", "batch=2", "--seconds", 0)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    assert [step["step"] for step in steps] == ["plain", "kernels", "fusions", "tiles", "branches"]
    assert all(step["ms"] > 0 for step in steps) and all(step["difference"] < 1e-3 for step in steps[1:])
    assert steps[2]["nodes"] < steps[1]["nodes"] == steps[0]["nodes"] and steps[4]["arena_bytes"] < steps[4]["naive_bytes"]


def test_errors_are_one_line():
    for arguments in ([DIGITS], [DIGITS, "--dim", "batch"], ["nowhere.onnx"]):
        done = run(BUILD / "parallax-gains", *arguments)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("parallax-gains: ") and done.stderr.count("\n") == 1


def test_a_model_with_two_free_dimensions(tmp_path):
    model = tmp_path / "m.onnx"
    model.write_bytes(w.model([w.node("Relu", ["x"], ["y"])], [w.value("x", w.FLOAT, ["n", "m"])], [w.value("y", w.FLOAT, ["n", "m"])]))
    done = run(BUILD / "parallax-gains", model, "--dim", "n=2", "--dim", "m=3", "--seconds", 0)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [[], [DIGITS, "--dim"], [DIGITS, "--threads", "0"], [DIGITS, "--nothing"], [DIGITS, DIGITS]])
def test_wrong_usage(arguments):
    done = run(BUILD / "parallax-gains", *arguments)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("parallax-gains: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--help"], [DIGITS, "--dim", "batch=1", "--seconds", "0"]])
def test_standard_output_that_cannot_be_written(broken_output, arguments):
    output, reason = broken_output
    done = run(BUILD / "parallax-gains", *arguments, stdout=output)
    assert done.returncode == 1 and done.stderr.startswith("parallax-gains: ") and done.stderr.count("\n") == 1 and reason in done.stderr
