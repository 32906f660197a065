"""Errors: each code has a class, which is one of Python's own too where there is one."""
import models
import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS

import parallax

X = np.zeros(4, np.float32)
ENDLESS = models.endless()
UNKNOWN = w.model([w.node("Nonsense", ["x"], ["y"])], [w.value("x", w.FLOAT, [1])], [w.value("y", w.FLOAT, [1])])


def stopped():
    source = parallax.StopSource()
    source.request_stop()
    return source


CASES = [
    (lambda: parallax.Model("/none.onnx"), parallax.FileError, OSError, "/none.onnx"),
    (lambda: parallax.Model(b"nonsense"), parallax.InvalidModelError, ValueError, ""),
    (lambda: parallax.Model(UNKNOWN), parallax.UnsupportedError, NotImplementedError, "Nonsense"),
    (lambda: parallax.Model(DIGITS, max_nesting=65), parallax.InvalidInputError, ValueError, "max_nesting"),
    (lambda: parallax.Model(DIGITS, signature="s"), parallax.InvalidInputError, ValueError, "s"),
    (lambda: parallax.Session(DIGITS, scheduler="none"), parallax.InvalidInputError, ValueError, "'dataflow' 'layers' 'sequential'"),
    (lambda: parallax.Session(DIGITS, threads=-1), parallax.InvalidInputError, ValueError, "-1"),
    (lambda: parallax.Session(DIGITS, budget="all"), parallax.InvalidInputError, ValueError, "budget"),
    (lambda: parallax.Session(models.add()).run(X), parallax.InvalidInputError, ValueError, "'x', 'y'"),
    (lambda: parallax.Session(models.add()).run({"x": X}), parallax.InvalidInputError, ValueError, "'y'"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X, "w": X}), parallax.InvalidInputError, ValueError, "'w'"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X[:3]}), parallax.InvalidInputError, ValueError, "'y'"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X.astype("f8")}), parallax.InvalidInputError, ValueError, "float64"),
    (lambda: parallax.Session(models.identity(1)).run(np.zeros((1,) * 9, "f4")), parallax.InvalidInputError, ValueError, "8 dimensions"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X.astype("c8")}), parallax.InvalidInputError, ValueError, "complex64"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": object()}), parallax.InvalidInputError, ValueError, "object"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X}, ["w"]), parallax.InvalidInputError, ValueError, "'w'"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X}, "z"), parallax.InvalidInputError, ValueError, "list"),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X}, [3]), parallax.InvalidInputError, ValueError, "names"),
    (lambda: parallax.Session(DIGITS).input_shapes(), parallax.UnboundSymbolError, ValueError, "batch"),
    (lambda: parallax.Session(models.gather()).run([7]), parallax.OutOfRangeError, IndexError, "7"),
    (lambda: parallax.Session(DIGITS, budget=1).run(np.zeros((1, 1, 8, 8), "f4")), parallax.BudgetExceededError, MemoryError, "budget"),
    (lambda: parallax.Session(ENDLESS, max_loop_trips=9).run(0), parallax.LimitExceededError, TimeoutError, "9"),
    (lambda: parallax.Session(ENDLESS, max_loop_trips=2**62, time_limit=0.01).run(0), parallax.LimitExceededError, TimeoutError, ""),
    (lambda: parallax.Session(models.add()).run({"x": X, "y": X}, stop=stopped()), parallax.CancelledError, Exception, ""),
    (lambda: parallax.State(parallax.Session(DIGITS)), parallax.InvalidInputError, ValueError, ""),
]


@pytest.mark.parametrize("call, kind, builtin, text", CASES)
def test_errors_have_a_class_a_code_and_a_stage(call, kind, builtin, text):
    with pytest.raises(builtin) as caught:
        call()
    error = caught.value
    assert type(error) is kind and isinstance(error, parallax.Error)
    assert error.code is kind.code and error.stage and text in str(error)


def test_an_error_of_a_run_names_the_node():
    with pytest.raises(parallax.OutOfRangeError) as caught:
        parallax.Session(models.gather()).run([7])
    assert caught.value.node == "gather" and caught.value.stage == "run"


def test_every_code_has_one_class():
    assert {kind.code for kind in parallax.Error.__subclasses__()} == set(parallax.ErrorCode)


@pytest.mark.parametrize("call", [lambda: parallax.Model(3), lambda: parallax.Session(None), lambda: parallax.Session(DIGITS).run({3: X})])
def test_wrong_types_are_type_errors(call):
    with pytest.raises(TypeError):
        call()
