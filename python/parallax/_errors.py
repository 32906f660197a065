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
    """An error of the library. `str(error)` is its message, one line.

    >>> try:
    ...     parallax.Model(b"no model")
    ... except parallax.Error as error:
    ...     print(error.code, error.stage)
    invalid model load
    """

    code = ErrorCode.INTERNAL  #: the kind of the error
    stage = ""  #: the stage that found it: "load", "simplify", "compile", "run", "session", ...
    node = ""  #: name of the model's node that failed; empty if the error has no node

    def __init_subclass__(cls, code: ErrorCode | None = None) -> None:
        cls.code = code or cls.code


class InvalidModelError(Error, ValueError, code=ErrorCode.INVALID_MODEL):
    """The file contradicts its format or itself."""


class UnsupportedError(Error, NotImplementedError, code=ErrorCode.UNSUPPORTED):
    """A valid model, or a valid use of one, that Parallax does not cover."""


class InvalidInputError(Error, ValueError, code=ErrorCode.INVALID_INPUT):
    """An argument has a wrong name, dtype, shape or value."""


class UnboundSymbolError(Error, ValueError, code=ErrorCode.UNBOUND_SYMBOL):
    """A free dimension has no value."""


class OutOfRangeError(Error, IndexError, code=ErrorCode.OUT_OF_RANGE):
    """An index that a run computed lies outside its tensor."""


class BudgetExceededError(Error, MemoryError, code=ErrorCode.BUDGET_EXCEEDED):
    """The memory budget is too small; the message says how many bytes are missing."""


class OutOfMemoryError(Error, MemoryError, code=ErrorCode.OUT_OF_MEMORY):
    """The system refused memory."""


class LimitExceededError(Error, TimeoutError, code=ErrorCode.LIMIT_EXCEEDED):
    """A run reached its limit on time or on trips of loops."""


class CancelledError(Error, code=ErrorCode.CANCELLED):
    """A StopSource stopped the run."""


class FileError(Error, OSError, code=ErrorCode.IO):
    """A file cannot be read or written."""


class InternalError(Error):
    """A bug in Parallax: please report it."""


_CLASSES: dict[str, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def make(code: str, stage: str, node: str, message: str) -> Error:
    """The exception of a code, given in the library's words; an InternalError for one that this package does not know."""
    error = _CLASSES.get(code, InternalError)(message)
    error.stage, error.node = stage, node
    return error
