"""parallax-gains: a model with one thing after the other that makes it fast."""
import json

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
