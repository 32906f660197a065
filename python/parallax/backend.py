"""ONNX's interface of backends (onnx.backend.base) over Parallax. It needs the package onnx."""
import typing

import numpy
import onnx
from onnx.backend import base

from . import Session

__all__ = ["Backend", "Prepared", "is_compatible", "prepare", "run_model", "supports_device"]


class Prepared(base.BackendRep):
    """A model, ready to run."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, inputs: typing.Any, **keywords: typing.Any) -> tuple[typing.Any, ...]:
        """Runs the model on the list of its inputs, or on a dict; returns the tuple of its outputs."""
        del keywords
        model = self._session.model
        if not isinstance(inputs, dict):
            inputs = dict(zip((info.name for info in model.inputs), inputs, strict=True))
        outputs = self._session.run(inputs)
        return tuple(outputs[info.name] for info in model.outputs)


class Backend(base.Backend):
    """Runs ModelProtos on the CPU. Keywords are those of parallax.Session. Errors: parallax.UnsupportedError lists what is missing."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **keywords: typing.Any) -> bool:
        """Whether the device is the CPU: prepare() refuses what is missing."""
        del model, keywords
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto | bytes, device: str = "CPU", **keywords: typing.Any) -> Prepared:
        """Loads a ModelProto."""
        del device
        data = model if isinstance(model, bytes) else model.SerializeToString()
        return Prepared(Session(data, **keywords))

    @classmethod
    def run_model(cls, model: onnx.ModelProto | bytes, inputs: typing.Any, device: str = "CPU", **keywords: typing.Any) -> tuple[typing.Any, ...]:
        """Loads and runs a ModelProto once."""
        return cls.prepare(model, device, **keywords).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: typing.Any, device: str = "CPU",
                 outputs_info: typing.Sequence[tuple[numpy.dtype[typing.Any], tuple[int, ...]]] | None = None,
                 **keywords: typing.Any) -> tuple[typing.Any, ...]:
        """Runs one node, of the newest operator set unless `opset_version` is given, once."""
        opset = keywords.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        x = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for name, value in zip(names, inputs, strict=True)]
        y = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(dtype), shape)
             for name, (dtype, shape) in zip(node.output, outputs_info or [], strict=bool(outputs_info))]
        if not y:
            y = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", x, y)
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)]), inputs, device, **keywords)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether it is the CPU."""
        return device == "CPU"


is_compatible, prepare, run_model, supports_device = Backend.is_compatible, Backend.prepare, Backend.run_model, Backend.supports_device
