"""Runs the tools that this build made. PARALLAX_BUILD is the build folder, build/release unless CTest says otherwise."""
import importlib
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import unittest.mock

import onnx_writer as w
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("PARALLAX_BUILD", ROOT / "build" / "release"))
SANITIZED = os.environ.get("PARALLAX_SANITIZED") == "1"
EMULATOR = os.environ.get("PARALLAX_EMULATOR", "").split()  # what runs programs of BUILD, where this machine cannot
DIGITS = ROOT / "models" / "digits" / "digits.onnx"


def peer(name):
    """The package, or a stand-in where it is not installed: the tests of a module are then collected and skipped one by one, so that they are counted."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return unittest.mock.MagicMock()


MISSING = [name for name in ("onnx", "onnxruntime") if isinstance(peer(name), unittest.mock.MagicMock)]
needs_onnxruntime = pytest.mark.skipif(bool(MISSING), reason="ONNX Runtime is not installed: `make venv` installs it")


def run(*command, **keywords):
    emulator = EMULATOR if BUILD in pathlib.Path(command[0]).parents else []
    return subprocess.run([*emulator, *(str(c) for c in command)], text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords})


@pytest.fixture
def parallax():
    """parallax(*arguments) -> the finished process; it must not have been killed by a signal or a sanitizer."""

    def call(*arguments):
        done = run(BUILD / "parallax", *arguments)
        assert 0 <= done.returncode <= 2, f"exit status {done.returncode}: {done.stderr}"
        return done

    return call


@pytest.fixture
def refused(parallax):
    """refused(status, *arguments) -> the one line of standard error."""

    def call(status, *arguments):
        done = parallax(*arguments)
        assert done.returncode == status, done.stderr or done.stdout
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("parallax: "), done.stderr
        return lines[0]

    return call


@pytest.fixture(params=["full disk", "closed pipe"])
def broken_output(request):
    """(a file for standard output that takes nothing, the system's reason)"""
    if request.param == "full disk":
        with open("/dev/full", "w") as full:
            yield full, "No space left"
    else:
        read, write = os.pipe()
        os.close(read)
        yield write, "Broken pipe"
        os.close(write)


@pytest.fixture(scope="session")
def zoo():
    """name -> unpacked model of models/zoo."""
    folder = ROOT / "build" / "zoo"
    folder.mkdir(parents=True, exist_ok=True)
    models = {}
    for packed in sorted((ROOT / "models" / "zoo").glob("*.onnx.xz")):
        model = folder / packed.stem
        if not model.exists() or model.stat().st_mtime < packed.stat().st_mtime:
            part = folder / f"{packed.stem}.{os.getpid()}"
            with lzma.open(packed) as source, open(part, "wb") as target:
                shutil.copyfileobj(source, target)
            part.rename(model)
        models[model.stem] = model
    return models


@pytest.fixture
def small(tmp_path):
    """The accelerator of the golden tests, with room for what is planned here."""
    text = (ROOT / "tests" / "golden" / "small.toml").read_text()
    path = tmp_path / "small.toml"
    path.write_text(text.replace("memory_bytes = 1048576", "memory_bytes = 4194304"))
    return path


def product(name, left, right):
    return w.node("MatMul", [left, right], [name], name)


@pytest.fixture
def wide(tmp_path):
    """Three branches of products between a Relu and their sum; then Exp, which the small accelerator lacks."""
    nodes = [w.node("Relu", ["x"], ["a"], "first")]
    for k in "bcd":
        nodes += [product(f"{k}0", "a", f"w{k}"), product(f"{k}1", f"{k}0", f"w{k}"), product(f"{k}2", f"{k}1", f"w{k}")]
    nodes += [w.node("Add", ["b2", "c2"], ["s"], "s"), w.node("Add", ["s", "d2"], ["t"], "t"), w.node("Exp", ["t"], ["y"], "last")]
    weights = [w.tensor(f"w{k}", w.FLOAT, [256, 256], struct.pack("<65536f", *[0.001 * ord(k)] * 65536)) for k in "bcd"]
    path = tmp_path / "wide.onnx"
    path.write_bytes(w.model(nodes, [w.value("x", w.FLOAT, ["n", 256])], [w.value("y", w.FLOAT, ["n", 256])], weights))
    return path
