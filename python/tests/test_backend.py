"""parallax.backend: ONNX's own interface of backends."""
import models
import numpy as np
import pytest

import parallax

onnx = pytest.importorskip("onnx")
from parallax import backend  # noqa: E402, which needs onnx


def test_a_model_is_prepared_and_run():
    model = onnx.load_from_string(models.add())
    x, y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA") and backend.is_compatible(model)
    prepared = backend.prepare(model, threads=1)
    for inputs in ([x, y], {"x": x, "y": y}):
        (z,) = prepared.run(inputs)
        assert z.tolist() == [4, 6]
    assert backend.run_model(model, [x, y])[0].tolist() == [4, 6]


def test_a_node_is_run():
    node = onnx.helper.make_node("Sub", ["a", "b"], ["c"])
    (c,) = backend.Backend.run_node(node, [np.array([5], np.int64), np.array([3], np.int64)], outputs_info=[(np.dtype("int64"), [1])])
    assert c.tolist() == [2]


def test_what_is_missing_is_named():
    node = onnx.helper.make_node("Nothing", ["a"], ["c"], domain="ai.onnx.ml")
    graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info("a", 1, [1])], [onnx.helper.make_tensor_value_info("c", 1, [1])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("ai.onnx.ml", 3)])
    with pytest.raises(parallax.Error, match="Nothing"):
        backend.prepare(model)
