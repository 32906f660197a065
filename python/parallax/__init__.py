"""Parallax runs unmodified ONNX and TFLite models on the CPU, within a memory budget.

    session = parallax.Session("model.onnx", threads=2)
    outputs = session.run({"image": image})  # {name: array}

docs/python.md of the source tree shows more.
"""
from ._errors import (BudgetExceededError, CancelledError, Error, ErrorCode, FileError, InternalError, InvalidInputError,
                      InvalidModelError, LimitExceededError, OutOfMemoryError, OutOfRangeError, UnboundSymbolError, UnsupportedError)
from ._native import (DelegateReport, FileOperator, FileQuantization, FileReport, FileSection, FileSignature, FileTensor, FileWeights, Metadata,
                      Model, Runtime, Session, State, StopSource, TensorInfo, inspect)
from ._native import version as __version__

__all__ = ["BudgetExceededError", "CancelledError", "DelegateReport", "Error", "ErrorCode", "FileError", "FileOperator",
           "FileQuantization", "FileReport", "FileSection", "FileSignature", "FileTensor", "FileWeights", "InternalError",
           "InvalidInputError", "InvalidModelError", "LimitExceededError", "Metadata", "Model", "OutOfMemoryError",
           "OutOfRangeError", "Runtime", "Session", "State", "StopSource", "TensorInfo", "UnboundSymbolError",
           "UnsupportedError", "__version__", "inspect"]
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "parallax"
del _name
