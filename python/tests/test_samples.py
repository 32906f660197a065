"""The programs in samples/, written for ONNX Runtime and for LiteRT: each sees the same with the original package and with Parallax."""
import contextlib
import importlib
import importlib.util
import io
import pathlib
import re
import runpy
import sys

import numpy as np
import pytest
import sample_models

from parallax import run_with

SAMPLES = pathlib.Path(__file__).parent / "samples"
PACKAGES = {"ort": "onnxruntime", "lite": "ai_edge_litert"}
NUMBER = re.compile(r"(-?\d+\.\d*(?:e[-+]\d+)?)")
PROGRAMS = sorted(SAMPLES.glob("*.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("samples")
    sample_models.write(made)
    if importlib.util.find_spec("ai_edge_litert") is not None:
        importlib.import_module("sample_tflite").write(made)
    return made


def seen(path, folder, modules=()):
    """Runs a program in the folder; returns what it prints and its `results`."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.chdir(folder)
        for name, module in dict(modules).items():
            patch.setitem(sys.modules, name, module)
        results = runpy.run_path(str(path), run_name="__main__")["results"]
    return printed.getvalue(), results


def compare(ours, theirs):
    """Compares values of the same structure; floats may differ a little."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            compare(one, other)
    elif isinstance(theirs, np.ndarray) and theirs.dtype != object:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    elif isinstance(theirs, float):
        assert isinstance(ours, float) and ours == pytest.approx(theirs, rel=1e-4, abs=1e-4)
    else:
        assert ours == theirs


def test_there_are_ten_programs_of_each_kind():
    assert [sum(path.name.startswith(kind) for path in PROGRAMS) for kind in PACKAGES] == [10, 10]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # LiteRT's delegate, when its library is not there
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_sees_the_same(path, folder):
    package = PACKAGES[path.name.split("_")[0]]
    pytest.importorskip(package)
    their_text, theirs = seen(path, folder)
    assert their_text
    our_text, ours = seen(path, folder, run_with._PACKAGES[package]())
    compare(*(NUMBER.sub("", text) for text in (our_text, their_text)))
    compare(*([float(number) for number in NUMBER.findall(text)] for text in (our_text, their_text)))
    compare(ours, theirs)
