"""TFLite files: variables that keep their values, and signatures."""
import json

import numpy as np
import pytest
import tflite_models

@pytest.fixture
def sums(tmp_path):
    path = tmp_path / "sum.tflite"
    path.write_bytes(tflite_models.SUM)
    np.save(tmp_path / "2.npy", np.array([2], np.float32))
    return path


def totals(parallax, sums, *options, name="x"):
    out = sums.parent / "out"
    done = parallax("run", sums, "--input", f"{name}={sums.parent / '2.npy'}", "--repeat", 3, "--output-dir", out, *options)
    assert done.returncode == 0, done.stderr
    return [float(np.load(out / str(i) / "0.npy")[0]) for i in range(3)]


@pytest.mark.parametrize(
    "options, name, expected",
    [
        ([], "x", [12, 14, 16]),
        ([], "", [12, 14, 16]),  # the only input that is not a variable
        (["--reset-state"], "x", [12, 12, 12]),
        (["--signature", "accumulate"], "number", [12, 14, 16]),
        (["--signature", "twice"], "number", [4, 4, 4]),
    ],
)
def test_variables_go_on_from_run_to_run(parallax, sums, options, name, expected):
    assert totals(parallax, sums, *options, name=name) == expected


def test_a_variable_begins_with_a_file(parallax, sums):
    np.save(sums.parent / "sum.npy", np.array([100], np.float32))
    assert totals(parallax, sums, "--input", f"sum={sums.parent / 'sum.npy'}") == [102, 104, 106]


def test_bench_and_verify_keep_variables(parallax, sums):
    assert parallax("verify", sums).returncode == 0
    assert parallax("bench", sums, "--runs", 3, "--warmup", 1, "--concurrency", 2, "--json", "-").returncode == 0


def test_info_shows_signatures_and_metadata(parallax, sums):
    done = parallax("info", sums, "--signature", "twice", "--json", "-")
    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert [s["name"] for s in info["signatures"]] == ["accumulate", "twice"]
    assert [t["name"] for t in info["signatures"][1]["outputs"]] == ["double"] == [t["name"] for t in info["outputs"]]
    assert {"key": "min_runtime_version", "value": "1.14.0"} in info["metadata"]["properties"]
    assert info["metadata"]["doc_string"] == "A sum" and "--signature twice" in info["command"]
    text = parallax("info", sums).stdout
    assert "signature 'accumulate', inputs" in text and "min_runtime_version: 1.14.0" in text


def test_a_size_that_the_file_fixes_changes(parallax, refused, sums):
    np.save(sums.parent / "three.npy", np.array([1, 2, 3], np.float32))
    given = ["--input", f"number={sums.parent / 'three.npy'}", "--signature", "twice"]
    done = parallax("run", sums, *given, "--shape", "number=3", "--output-dir", sums.parent / "out")
    assert done.returncode == 0, done.stderr
    assert np.load(sums.parent / "out" / "0.npy").tolist() == [2, 4, 6]
    assert "number" in refused(1, "run", sums, *given)
    assert "has 1 dimensions, 2 are given" in refused(1, "plan", sums, "--signature", "twice", "--shape", "number=3x1")


def test_what_is_refused(refused, sums):
    message = refused(1, "run", sums, "--signature", "thrice")
    assert "thrice" in message and "accumulate" in message and "twice" in message
    assert "--tie" in refused(2, "run", sums, "--signature", "twice", "--reset-state")
