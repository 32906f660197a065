"""The exceptions of the package: one for each kind of error that the library reports."""
import enum


class ErrorCode(enum.StrEnum):
    """The kind of an error: `Error.code`."""

    INVALID_MODEL = "invalid model"
    UNSUPPORTED = "unsupported"
    INVALID_INPUT = "invalid input"
    UNBOUND_SYMBOL = "unbound symbol"
    OUT_OF_RANGE = "out of range"
    BUDGET_EXCEEDED = "budget exceeded"
    OUT_OF_MEMORY = "out of memory"
    LIMIT_EXCEEDED = "limit exceeded"
    CANCELLED = "cancelled"
    IO = "input/output"
    INTERNAL = "internal error"


class Error(Exception):
    """An error of the library. `str(error)` is its message, one line."""

    code = ErrorCode.INTERNAL  #: the kind of the error
    stage = ""  #: the stage that found it: "load", "simplify", "compile", "run", "session", ...
    node = ""  #: name of the model's node that failed; empty if the error has no node


class InvalidModelError(Error, ValueError):
    """The file contradicts its format or itself."""

    code = ErrorCode.INVALID_MODEL


class UnsupportedError(Error, NotImplementedError):
    """A valid model, or a valid use of one, that Parallax does not cover."""

    code = ErrorCode.UNSUPPORTED


class InvalidInputError(Error, ValueError):
    """An argument has a wrong name, dtype, shape or value."""

    code = ErrorCode.INVALID_INPUT


class UnboundSymbolError(Error, ValueError):
    """A free dimension has no value."""

    code = ErrorCode.UNBOUND_SYMBOL


class OutOfRangeError(Error, IndexError):
    """An index that a run computed lies outside its tensor."""

    code = ErrorCode.OUT_OF_RANGE


class BudgetExceededError(Error, MemoryError):
    """The memory budget is too small; the message says how many bytes are missing."""

    code = ErrorCode.BUDGET_EXCEEDED


class OutOfMemoryError(Error, MemoryError):
    """The system refused memory."""

    code = ErrorCode.OUT_OF_MEMORY


class LimitExceededError(Error, TimeoutError):
    """A run reached its limit on time or on trips of loops."""

    code = ErrorCode.LIMIT_EXCEEDED


class CancelledError(Error):
    """A StopSource stopped the run."""

    code = ErrorCode.CANCELLED


class FileError(Error, OSError):
    """A file cannot be read or written."""

    code = ErrorCode.IO


class InternalError(Error):
    """A bug in Parallax: please report it."""


_CLASSES = {kind.code: kind for kind in Error.__subclasses__()}


def make(code, stage, node, message):
    """The exception of a code, given in the library's words; an InternalError for one that this package does not know."""
    error = _CLASSES.get(code, InternalError)(message)
    error.stage, error.node = stage, node
    return error
