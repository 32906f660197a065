"""The zoo's outputs against ONNX Runtime's, within 1e-3 of the output's largest magnitude."""
import numpy as np
import pytest
from conftest import DIGITS, SANITIZED, needs_onnxruntime, peer

onnxruntime = peer("onnxruntime")
pytestmark = [needs_onnxruntime, pytest.mark.skipif(SANITIZED, reason="compared in the release build")]

TOLERANCE = 1e-3
CASES = {"yolov8n": {}, "swinv2_tiny": {}, "whisper_tiny": {"decoder_input_ids": (1, 7)}, "clip_text": {"input_ids": (2, 23), "attention_mask": (2, 23)},
         "distilbert": {"input_ids": (2, 23), "attention_mask": (2, 23)}, "digits": {"image": (5, 1, 8, 8)}, "sensors": {}}


def made_up(name, shape, dtype, random):
    if dtype == np.float32:
        return random.random(shape, dtype=np.float32)
    values = np.ones(shape, dtype) if "mask" in name else random.integers(0, 1000, shape).astype(dtype)
    if "mask" in name:
        values[:, -3:] = 0  # padding at the end
    return values


@pytest.mark.parametrize("name", CASES)
def test_same_outputs(parallax, zoo, tmp_path, name):
    path, random = zoo.get(name, DIGITS), np.random.default_rng(0)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds, arguments = {}, []
    for i in session.get_inputs():
        feeds[i.name] = made_up(i.name, CASES[name].get(i.name, i.shape), np.float32 if i.type == "tensor(float)" else np.int64, random)
        np.save(tmp_path / f"{i.name}.npy", feeds[i.name])
        arguments += ["--input", f"{i.name}={tmp_path / i.name}.npy"]
    done = parallax("run", path, "--output-dir", tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    for n, expected in enumerate(session.run(None, feeds)):
        ours = np.load(tmp_path / f"{n}.npy")
        assert ours.shape == expected.shape and ours.dtype == expected.dtype
        assert np.abs(ours - expected).max() <= TOLERANCE * np.abs(expected).max()
