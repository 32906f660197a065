"""Files and pipes that fail: exit status 1 with the system's reason, nothing half done left behind."""
import json
import os
import resource

import numpy as np
import onnx_writer as w
import pytest
from conftest import BUILD, DIGITS, run

BATCH = ("--dim", "batch=1")
COMMANDS = [["run", DIGITS, *BATCH], ["plan", DIGITS, *BATCH], ["plan", DIGITS, *BATCH, "--json", "-"], ["info", DIGITS], ["bench", DIGITS, *BATCH, "--runs", "1"],
            ["verify", DIGITS, *BATCH], ["simulate", DIGITS, *BATCH, "--profile", "pixel6"], ["--help"], ["run", "--help"], ["--version"]]


def start(arguments, **keywords):
    return run(BUILD / "parallax", *arguments, **keywords)


def one_line(done, *words):
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("parallax: ") and all(word in lines[0] for word in words), done.stderr


@pytest.mark.parametrize("arguments", COMMANDS)
def test_standard_output_that_cannot_be_written(broken_output, arguments):
    output, reason = broken_output
    one_line(start(arguments, stdout=output), "standard output", reason)


@pytest.mark.parametrize("arguments", [["plan", DIGITS, *BATCH, "--json"], ["info", DIGITS, "--json"], ["bench", DIGITS, *BATCH, "--runs", "1", "--json"],
                                       ["simulate", DIGITS, *BATCH, "--profile", "pixel6", "--json"], ["calibrate", DIGITS, *BATCH, "--profile"]])
def test_a_file_to_write_that_cannot_be_written(refused, parallax, tmp_path, arguments):
    assert "No such file" in refused(1, *arguments, tmp_path / "nowhere" / "x.toml")
    assert "directory" in refused(1, *arguments, tmp_path)
    assert list(tmp_path.iterdir()) == []


def as_nobody(*arguments, **keywords):
    if os.geteuid() != 0:
        pytest.skip("permissions of others can be had by root only")
    return start(arguments, user=65534, group=65534, extra_groups=[], **keywords)


@pytest.fixture
def locked(tmp_path):
    """A folder that others may enter and not write."""
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(0o755)
    return tmp_path


def may_run_as_nobody():
    try:
        return os.geteuid() == 0 and start(["--version"], user=65534, group=65534, extra_groups=[]).returncode == 0
    except PermissionError:  # a clone below /root
        return False


@pytest.mark.skipif(not may_run_as_nobody(), reason="needs root, and a build that others may run")
def test_reasons_of_permissions(locked):
    one_line(as_nobody("plan", DIGITS, *BATCH, "--json", locked / "x.json"), "Permission denied", "x.json")
    one_line(as_nobody("run", DIGITS, *BATCH, "--output-dir", locked / "out"), "Permission denied", "out")
    one_line(as_nobody("run", DIGITS, *BATCH, "--output-dir", locked), "Permission denied")
    secret = locked / "secret.npy"
    np.save(secret, np.zeros((1, 1, 8, 8), np.float32))
    secret.chmod(0o600)
    one_line(as_nobody("run", DIGITS, "--input", f"image={secret}"), "Permission denied", "secret.npy")
    one_line(as_nobody("run", secret), "Permission denied", "secret.npy")
    one_line(as_nobody("simulate", DIGITS, *BATCH, "--profile", secret), "Permission denied", "secret.npy")
    assert sorted(p.name for p in locked.iterdir()) == ["secret.npy"]


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path):
    """A limit on the size of files stands for a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    out = tmp_path / "out"
    one_line(start(["run", DIGITS, "--dim", "batch=100", "--output-dir", out], preexec_fn=limit), "0.npy", "File too large")
    assert list(out.iterdir()) == []
    json_file = tmp_path / "plan.json"
    one_line(start(["plan", DIGITS, *BATCH, "--json", json_file], preexec_fn=limit), "plan.json", "File too large")
    assert not json_file.exists()


def test_json_may_go_where_no_file_is(parallax):
    assert parallax("plan", DIGITS, *BATCH, "--json", "/dev/null").returncode == 0
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")
    assert parallax("plan", DIGITS, *BATCH, "--json", "/dev/full").returncode == 1
    assert os.path.exists("/dev/full")


def test_reasons_of_inputs(refused, tmp_path):
    assert "No such file" in refused(1, "run", DIGITS, "--input", f"image={tmp_path / 'gone.npy'}")
    assert "Is a directory" in refused(1, "run", DIGITS, "--input", f"image={tmp_path}")
    assert "No such file" in refused(1, "simulate", DIGITS, *BATCH, "--profile", tmp_path / "gone.toml")
    assert "No such file" in refused(1, "plan", DIGITS, *BATCH, "--delegate", "pixel6", "--cost-model", "measured", "--calibration", tmp_path / "gone.toml")
    assert "Not a directory" in refused(1, "run", DIGITS, *BATCH, "--output-dir", DIGITS)


def outputs_of(parallax, folder, count):
    """Runs a model of that many outputs into the folder."""
    model = folder.parent / f"{count}.onnx"
    model.write_bytes(w.model([w.node("Relu", ["x"], [f"y{i}"]) for i in range(count)], [w.value("x", w.FLOAT, [2])], [w.value(f"y{i}", w.FLOAT, [2]) for i in range(count)]))
    done = parallax("run", model, "--output-dir", folder)
    assert done.returncode == 0, done.stderr
    return sorted(p.name for p in folder.iterdir())


def test_output_dir_loses_what_an_earlier_run_wrote_and_nothing_else(parallax, tmp_path):
    out = tmp_path / "out"
    assert outputs_of(parallax, out, 3) == ["0.npy", "1.npy", "2.npy", "outputs.json"]
    (out / "notes.txt").write_text("mine")
    (out / "7.npy").write_text("mine")
    assert outputs_of(parallax, out, 1) == ["0.npy", "7.npy", "notes.txt", "outputs.json"]
    assert (out / "7.npy").read_text() == "mine" and len(json.loads((out / "outputs.json").read_text())) == 1


@pytest.mark.parametrize("entries", [[{"file": "../precious"}, {"file": "notes.txt"}, {"file": "0.npy/../../precious"}, {"file": ""}, {"file": ".npy"}],
                                     [{"file": 7}], ["7.npy"], {"file": "7.npy"}, "7.npy", [{"name": "y"}]])
def test_a_list_that_names_other_files_removes_none_of_them(parallax, tmp_path, entries):
    out = tmp_path / "out"
    out.mkdir()
    for file in (tmp_path / "precious", out / "notes.txt", out / "7.npy"):
        file.write_text("mine")
    (out / "outputs.json").write_text(json.dumps(entries))
    assert outputs_of(parallax, out, 1) == ["0.npy", "7.npy", "notes.txt", "outputs.json"]
    assert (tmp_path / "precious").read_text() == "mine"
