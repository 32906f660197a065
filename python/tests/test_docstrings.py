"""The examples in docstrings run, and the classes and functions that programs begin with have one."""
import doctest

import models
import numpy
import pytest
import tflite_models
from conftest import ROOT

import parallax
from parallax import onnxruntime, ray, tflite

BEGINNINGS = ["parallax.Error", "parallax.Model", "parallax.Runtime", "parallax.Session", "parallax.Session.run",
              "parallax.Session.run_async", "parallax.State", "parallax.StopSource", "parallax.inspect", "onnxruntime.InferenceSession", "ray.Predictor", "tflite.Interpreter"]
NAMES = {"parallax": parallax, "numpy": numpy, "sums": models.add(), "running_sum": tflite_models.SUM}


def examples():
    """Yields the examples of all public classes, their methods, and functions."""
    for module in (parallax, onnxruntime, ray, tflite):
        for name in module.__all__:
            item = getattr(module, name)
            members = [(f".{key}", value) for key, value in vars(item).items()] if isinstance(item, type) else []
            for suffix, value in [("", item), *members]:
                path = f"{module.__name__.removeprefix('parallax.')}.{name}{suffix}"
                test = doctest.DocTestParser().get_doctest(getattr(value, "__doc__", None) or "", vars(module) | NAMES, path, None, 0)
                if test.examples:
                    yield test


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_run(example, monkeypatch):
    monkeypatch.chdir(ROOT)
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not said, "".join(said)


def test_beginnings_have_an_example():
    assert set(BEGINNINGS) <= {example.name for example in EXAMPLES}
