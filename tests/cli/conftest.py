"""Runs the tools that this build made. PARALLAX_BUILD is the build folder, build/release unless CTest says otherwise."""
import lzma
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("PARALLAX_BUILD", ROOT / "build" / "release"))
SANITIZED = os.environ.get("PARALLAX_SANITIZED") == "1"
DIGITS = ROOT / "models" / "digits" / "digits.onnx"


def run(*command, **keywords):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)


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
