"""Weights in files beside the model: through the links of a cache, under names of any characters, without /proc and /sys."""
import shutil
import struct

import numpy as np
import onnx_writer as w
import pytest
from conftest import BUILD, EMULATOR, SANITIZED, run

INFO = [w.value("x", w.FLOAT, [4])], [w.value("y", w.FLOAT, [4])]
DATA = struct.pack("<4f", 1, 2, 3, 4)


def model(*entries):
    """Adds the weights that lie where `entries` say."""
    stored = w.number(1, 4) + w.number(2, w.FLOAT) + w.blob(8, "w") + b"".join(w.blob(13, w.blob(1, k) + w.blob(2, v)) for k, v in entries) + w.number(14, 1)
    return w.model([w.node("Add", ["x", "w"], ["y"])], *INFO, [stored])


@pytest.fixture
def sum_of(parallax, tmp_path):
    """sum_of(model, *options) -> the output for x = 1, read twice: from the file and from a cache."""
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))

    def call(path):
        for _ in range(2):
            done = parallax("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out", "--cache", tmp_path / "kept")
            assert (done.returncode, done.stderr) == (0, "")
        return np.load(tmp_path / "out" / "0.npy").tolist()

    return call


def hub(folder, location="model.onnx_data"):
    """What huggingface_hub leaves: files under their hashes, and a snapshot of links to them."""
    snapshot, blobs = folder / "snapshots" / "0a1b" / "onnx", folder / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "11aa").write_bytes(model(("location", location)))
    (blobs / "22bb").write_bytes(DATA)
    (snapshot / "model.onnx").symlink_to("../../../blobs/11aa")
    (snapshot / "model.onnx_data").symlink_to("../../../blobs/22bb")
    return snapshot / "model.onnx"


def test_a_cache_of_links(sum_of, tmp_path, monkeypatch):
    path = hub(tmp_path / "hub")
    assert sum_of(path) == [2, 3, 4, 5]
    (tmp_path / "elsewhere").symlink_to("hub")
    assert sum_of(tmp_path / "elsewhere" / path.relative_to(tmp_path / "hub")) == [2, 3, 4, 5]
    monkeypatch.chdir(path.parent)
    assert sum_of("model.onnx") == [2, 3, 4, 5]


def test_a_link_elsewhere_in_a_folder_of_an_attacker(refused, tmp_path):
    """The model's file is no link, so that nothing outside its folder is read, whatever links lie there."""
    (tmp_path / "secret").write_bytes(DATA)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "up").symlink_to("..")
    (folder / "passwd").symlink_to("/etc/passwd")
    (folder / "secret").symlink_to(tmp_path / "secret")
    for location in ("passwd", "secret", "up/secret", "../secret", str(tmp_path / "secret")):
        (folder / "m.onnx").write_bytes(model(("location", location)))
        line = refused(1, "run", folder / "m.onnx")
        assert "external data must lie in the model's folder" in line, line


def test_a_model_that_is_a_link_reaches_no_further_than_its_own_folder(refused, tmp_path):
    path = hub(tmp_path / "hub", "other")
    (tmp_path / "hub" / "blobs" / "deep").mkdir()
    for target in ("/etc/passwd", "../../../blobs/deep/w", "../../w"):
        (path.parent / target).resolve().parent.joinpath("w").write_bytes(DATA) if target[0] != "/" else None
        (path.parent / "other").unlink(missing_ok=True)
        (path.parent / "other").symlink_to(target)
        assert "is a link that leads elsewhere" in refused(1, "run", path)


def test_links_and_hard_links_in_the_folder(sum_of, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "weights").write_bytes(DATA)
    (tmp_path / "link").symlink_to("real/weights")
    (tmp_path / "hard").hardlink_to(tmp_path / "real" / "weights")
    for location in ("link", "hard"):
        (tmp_path / "m.onnx").write_bytes(model(("location", location)))
        assert sum_of(tmp_path / "m.onnx") == [2, 3, 4, 5]


@pytest.mark.parametrize("name", ["detector_2026-11-25T14:10:31.onnx.data", "waage_\u00e4\u4e2d\U0001f600", "sub\\w.bin", "C:w.bin", " w ", "%41"])
def test_names_of_any_characters(sum_of, tmp_path, name):
    (tmp_path / name).write_bytes(DATA)
    (tmp_path / "m.onnx").write_bytes(model(("location", name)))
    assert sum_of(tmp_path / "m.onnx") == [2, 3, 4, 5]


def test_what_onnxruntime_packed_is_left_alone(sum_of, tmp_path):
    (tmp_path / "saved.bin").write_bytes(DATA + bytes(64))
    entries = [("location", "saved.bin"), ("offset", "0"), ("length", "16"), ("prepacked_0", "MatMul+1|16|64|0;")]
    (tmp_path / "m.onnx").write_bytes(model(*entries))
    assert sum_of(tmp_path / "m.onnx") == [2, 3, 4, 5]


@pytest.mark.skipif(SANITIZED, reason="the leak checker reads /proc")
def test_without_proc_and_sys(tmp_path):
    """A sandbox or early boot."""
    hide = "mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec \"$@\""
    inside = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hide, "sh")
    if EMULATOR or shutil.which("unshare") is None or run(*inside, "true").returncode != 0:
        pytest.skip("this system gives no namespace in which /proc can be hidden")
    (tmp_path / "w.bin").write_bytes(DATA)
    (tmp_path / "m.onnx").write_bytes(model(("location", "w.bin")))
    for command in (["run"], ["bench", "--runs", "2"], ["simulate", "--profile", "pixel6"]):
        done = run(*inside, BUILD / "parallax", command[0], tmp_path / "m.onnx", *command[1:])
        assert (done.returncode, done.stderr) == (0, ""), command
        assert command[0] != "bench" or "resident at most unknown" in done.stdout
