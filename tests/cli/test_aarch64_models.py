"""The five models built for 64-bit Arm, under qemu-user: those of $MODELS where that names a folder, otherwise those of the zoo.
CTest runs this in a cross build only."""
import os

import pytest
from aarch64 import compare
from conftest import ROOT

# name -> values of its free dimensions, small ones: qemu takes a hundred times as long.
MODELS = {"yolov8n": {}, "swinv2_tiny": {}, "whisper_tiny": {"seq": 4}, "clip_text": {"batch": 1, "seq": 12}, "distilbert": {"batch": 1, "seq": 12}}


@pytest.fixture
def model(request):
    folder = ROOT / os.environ.get("MODELS", "")
    if folder == ROOT:
        return request.getfixturevalue("zoo")[request.param]
    assert folder.is_dir(), f"$MODELS is not a folder: {folder}"
    path = folder / f"{request.param}.onnx"
    if not path.exists():
        pytest.skip(f"$MODELS has no {path.name}")
    return path


@pytest.mark.parametrize("model", MODELS, indirect=True)
def test_same_outputs(model, tmp_path):
    compare(model, tmp_path, *(word for name, value in MODELS[model.stem].items() for word in ("--dim", f"{name}={value}")))
