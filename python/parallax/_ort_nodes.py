"""The inputs and outputs of parallax.onnxruntime: NodeArg, with ONNX Runtime's words for types and its shapes."""
import os
import typing

from . import FileTensor, Model, TensorInfo, inspect
from ._onnx_types import runtime_name

_Size: typing.TypeAlias = int | str | None


class NodeArg(typing.NamedTuple):
    """An input or output: `shape` has numbers, texts for free dimensions and None; `type` is "tensor(float)" or the like."""

    name: str
    shape: list[int | str | None]
    type: str

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


def _type(text: str) -> str:
    """ONNX Runtime's words for a type in Parallax's: "sequence of map from int64 to float32"."""
    for ours, theirs in (("sequence of ", "seq"), ("optional of ", "optional")):
        if text.startswith(ours):
            return f"{theirs}({_type(text.removeprefix(ours))})"
    if text.startswith("map from "):
        key, value = text.removeprefix("map from ").split(" to ")
        return f"map({key},{_type(value)})"
    return f"tensor({runtime_name(text)})"


def _shape(info: TensorInfo, declared: FileTensor | None, symbols: set[_Size]) -> list[_Size]:
    """A free dimension has the name that the file gives it, that of the input's dimension which it equals, or None."""
    names: typing.Sequence[_Size] = (declared.shape if declared else None) or [None] * len(info.shape)
    return [size if isinstance(size, int) else name if isinstance(name, str) else size if size in symbols else None
            for size, name in zip(info.shape, names)]


def node_args(model: Model, file: str | os.PathLike[str] | bytes) -> tuple[list[NodeArg], list[NodeArg]]:
    """The inputs and outputs of a model, tied ones excluded."""
    tied = {name for tie in model.ties for name in tie}
    tensors = [*model.inputs, *model.outputs]
    declared: dict[str, FileTensor] = {}
    symbols: set[_Size] = set()
    if any(not isinstance(size, int) for info in tensors for size in info.shape):
        report = inspect(file)
        declared = {tensor.name: tensor for tensor in [*report.inputs, *report.outputs]}
        symbols = {size for tensor in report.inputs for size in tensor.shape or () if isinstance(size, str)}
    made = [[NodeArg(info.name, _shape(info, declared.get(info.name), symbols), _type(info.type)) for info in infos if info.name not in tied]
            for infos in (model.inputs, model.outputs)]
    return made[0], made[1]
