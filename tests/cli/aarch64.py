"""Outputs of the build for 64-bit Arm, under qemu-user, beside those of the build for this machine."""
import json

import numpy as np
from conftest import BUILD, ROOT, run

HERE = ROOT / "build" / "release" / "parallax"
TOLERANCE = 1e-3  # of the largest magnitude of an output, as docs/architecture.md has it


def outputs(tool, model, folder, arguments):
    """The arrays that `tool` computes, by name."""
    done = run(tool, "run", model, "--output-dir", folder, *arguments)
    assert done.returncode == 0, done.stderr
    return {entry["name"]: np.load(folder / entry["file"]) for entry in json.loads((folder / "outputs.json").read_text())}


def compare(model, folder, *arguments):
    ours, theirs = (outputs(tool, model, folder / name, arguments) for name, tool in (("arm", BUILD / "parallax"), ("here", HERE)))
    assert ours.keys() == theirs.keys() and ours
    for name, expected in theirs.items():
        assert ours[name].shape == expected.shape and ours[name].dtype == expected.dtype
        assert np.isfinite(expected).all() and np.abs(expected).max() > 0, name
        assert np.abs(ours[name] - expected).max() <= TOLERANCE * np.abs(expected).max(), name
