"""Attention of com.microsoft with a mask whose filter its type cannot hold: against ONNX Runtime."""
import numpy as np
import pytest
from conftest import needs_onnxruntime, peer

onnx, onnxruntime = peer("onnx"), peer("onnxruntime")
pytestmark = needs_onnxruntime


def save(path, dtype):
    helper, random = onnx.helper, np.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array(random.standard_normal(shape).astype(dtype), name) for name, shape in (("w", (8, 24)), ("b", (24,)))]
    node = helper.make_node("Attention", ["x", "w", "b", "mask"], ["y"], domain="com.microsoft", num_heads=2, mask_filter_value=float(np.finfo(np.float32).min))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info("x", element, ["n", "s", 8]), helper.make_tensor_value_info("mask", onnx.TensorProto.INT32, ["n", "s"])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", element, None)], weights)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8).SerializeToString())


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_mask_that_keeps_or_drops(parallax, tmp_path, dtype):
    path = tmp_path / "m.onnx"
    save(path, dtype)
    feeds = {"x": np.random.default_rng(2).standard_normal((2, 4, 8)).astype(dtype), "mask": np.int32([[1, 1, 1, 1], [1, 1, 0, 0]])}
    [want] = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    arguments = []
    for name, x in feeds.items():
        np.save(tmp_path / f"{name}.npy", x)
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    done = parallax("run", path, *arguments, "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "out" / "0.npy"), want, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-2)
