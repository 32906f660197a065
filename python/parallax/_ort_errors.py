"""The exceptions of onnxruntime.capi.onnxruntime_pybind11_state: those of Parallax, under ONNX Runtime's names."""
from ._errors import Error as Fail
from ._errors import Error as RuntimeException
from ._errors import FileError as NoSuchFile
from ._errors import InternalError as EngineError
from ._errors import InvalidInputError as InvalidArgument
from ._errors import InvalidModelError as InvalidGraph
from ._errors import InvalidModelError as InvalidProtobuf
from ._errors import OutOfRangeError
from ._errors import UnsupportedError as NotImplemented  # noqa: A004, its name there

__all__ = ["EngineError", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "NotImplemented",
           "RuntimeException"]


class _IndexArgument(OutOfRangeError, InvalidArgument):
    """An index that a run computed lies outside its tensor: ONNX Runtime has InvalidArgument for it."""


def argument(error: OutOfRangeError) -> _IndexArgument:
    """The same error as an InvalidArgument."""
    made = _IndexArgument(str(error))
    made.stage, made.node = error.stage, error.node
    return made
