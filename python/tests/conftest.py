"""Tests of the package that `make python` installs into build/python. Models come from the writer of the tool's tests."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PARALLAX_BUILD", ROOT / "build" / "release"))
DIGITS = ROOT / "models" / "digits" / "digits.onnx"
sys.path.insert(0, str(ROOT / "tests" / "cli"))  # onnx_writer


@pytest.fixture
def tool():
    """tool(*arguments) runs the command line tool, which must succeed."""

    def call(*arguments):
        done = subprocess.run([BUILD / "parallax", *map(str, arguments)], text=True, capture_output=True)
        assert done.returncode == 0, done.stderr

    return call


class Exported:
    """An array that another library has: NumPy sees DLPack only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **keywords):
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def script(text):
    """What a new Python prints that runs `text`, on both streams."""
    done = subprocess.run([sys.executable, "-c", text], text=True, capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
