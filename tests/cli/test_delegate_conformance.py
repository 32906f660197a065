"""parallax-delegate-conformance: a delegate in a shared object, right and wrong, and all that cannot be asked."""
import json
import os

import pytest
from conftest import BUILD, run

PROGRAM = BUILD / "parallax-delegate-conformance"
LIBRARY = BUILD / "px_reference_delegate.so"
QUICK = ["--delegate-lib", LIBRARY, "--rounds", 0]


def fails(done, status, *texts):
    assert done.returncode == status and done.stderr.startswith("parallax-delegate-conformance: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(text in done.stderr for text in texts), done.stderr


@pytest.mark.parametrize("text", ["", ":own-memory"])
def test_a_right_delegate_passes(tmp_path, text):
    done = run(PROGRAM, *QUICK, "reference" + text, "--json", tmp_path / "report.json", "--seed", 7)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["passed"] and report["delegate"] == "reference" + text and report["device"] == "the reference kernels"
    lines = {(line["group"], line["name"], line["type"]): line for line in report["lines"]}
    assert lines["operator", "Softmax", "f32"]["cases"] >= 10 and lines["operator", "Softmax", "f32"]["off"] < 1e-4
    assert lines["operator", "Add", "i64"]["outcome"] == "passed"
    assert lines["operator", "Softmax", "i64"]["outcome"] == lines["operator", "NonZero", "f32"]["outcome"] == "no case"
    assert {name for group, name, _ in lines if group == "behaviour"} == {
        "concurrent runs of one region", "concurrent regions", "cancelled runs", "memory that is not there", "one answer to each question"}
    assert ("graph", "a residual of products", "") in lines


def test_a_wrong_delegate_fails(tmp_path):
    done = run(PROGRAM, *QUICK, "reference:wrong", "--operator", "Neg", "--json", tmp_path / "report.json")
    assert done.returncode == 1 and done.stderr == "" and "FAILED" in done.stdout and "should be" in done.stdout
    lines = json.loads((tmp_path / "report.json").read_text())["lines"]
    assert [line["name"] for line in lines] == ["Neg", "Neg", "one answer to each question"]
    assert lines[0]["outcome"] == "failed" and lines[0]["failed"] > 0 and lines[0]["problems"] and lines[2]["outcome"] == "passed"
    done = run(PROGRAM, *QUICK, "reference:wrong", "--operator", "Add")
    assert done.returncode == 0, done.stdout


def test_a_silent_delegate_fails():
    done = run(PROGRAM, *QUICK, "reference:silent", "--time-limit", 0.1)
    assert done.returncode == 1 and "no answer in time" in done.stdout


def test_a_crash_is_told():
    done = run(PROGRAM, *QUICK, "reference", "--operator", "Relu", env={**os.environ, "PX_CRASH": "1"})
    fails(done, 1, "the delegate crashed: Relu f32: scalar")


@pytest.mark.parametrize(("arguments", "texts"), [
    (["reference"], ["no delegate 'reference' is built in"]),
    (["--delegate-lib", "/dev/null", "reference"], ["'/dev/null' does not load"]),
    (["--delegate-lib", LIBRARY, "other"], ["has the delegate 'reference', not 'other'"]),
    ([*QUICK, "reference:nothing"], ["no device here"]),
    ([*QUICK, "reference:nonsense"], ["delegate 'reference:nonsense'", "'name' must be a text"]),
    ([*QUICK, "reference", "--json", "/no/such/folder/file"], ["cannot write /no/such/folder/file"]),
])
def test_what_cannot_be_asked(arguments, texts):
    done = run(PROGRAM, *arguments)
    fails(done, 1, *texts)
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "--operator", "Frobnicate"], ["a", "--rounds", "-1"], ["a", "--time-limit", "0"], ["a", "--nothing"]])
def test_wrong_usage(arguments):
    done = run(PROGRAM, *arguments)
    fails(done, 2)
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [["--help"], [*QUICK, "reference", "--operator", "Relu"]])
def test_standard_output_that_cannot_be_written(broken_output, arguments):
    output, reason = broken_output
    fails(run(PROGRAM, *arguments, stdout=output), 1, reason)
