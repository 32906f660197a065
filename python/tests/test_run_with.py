"""python -m parallax.run_with: a whole program with Parallax in the place of the packages that it imports."""
import subprocess
import sys

import pytest
import tflite_models
from conftest import DIGITS, ROOT

PROGRAM = """
import sys
import numpy as np
import onnxruntime as ort
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from tflite_runtime.interpreter import Interpreter
import ai_edge_litert.interpreter as litert
import helper

assert __name__ == "__main__" and issubclass(InvalidArgument, Exception) and C.InvalidArgument is InvalidArgument
assert litert.Interpreter is Interpreter
session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(sys.argv[2:], helper.NAME, ort.InferenceSession.__module__, session.run(None, {"image": np.zeros((1, 1, 8, 8), np.float32)})[0].shape)
try:
    session.run(None, {"image": np.zeros(3, np.int8)})
except InvalidArgument:
    print("refused")
interpreter = Interpreter("sum.tflite")
interpreter.allocate_tensors()
interpreter.invoke()
print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
"""

DEEP = """
import resource

def leaf(calls=8):
    return calls and leaf(calls - 1)

def faults(depth):
    if depth:
        return faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(1000):
        leaf()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(max(map(faults, range(400))))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("NAME = 'helper'")
    (tmp_path / "sum.tflite").write_bytes(tflite_models.SUM)
    return tmp_path


def run_with(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "parallax.run_with", *arguments], text=True, capture_output=True, cwd=folder)


@pytest.mark.parametrize("program", [["program.py"], ["-m", "program"]], ids=["script", "module"])
def test_a_program_runs_unchanged(folder, program):
    done = run_with(folder, *program, str(DIGITS), "--flag", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['--flag', 'x'] helper parallax.onnxruntime (1, 10)\nrefused\n[10.]\n"


def test_a_program_loads_what_it_imports(folder):
    (folder / "program.py").write_text("import tflite_runtime.interpreter, sys; print(sorted(sys.modules))")
    loaded = run_with(folder, "program.py").stdout
    assert "'parallax.tflite'" in loaded and "onnxruntime" not in loaded and "ai_edge_litert" not in loaded and "ml_dtypes" not in loaded


def test_a_module_that_a_package_lacks_is_not_found(folder):
    (folder / "program.py").write_text("import onnxruntime.training")
    assert "ModuleNotFoundError: No module named 'onnxruntime.training'" in run_with(folder, "program.py").stderr


def test_errors_and_exits_are_those_of_the_program(folder):
    (folder / "program.py").write_text("import sys; sys.exit(7)")
    assert run_with(folder, "program.py").returncode == 7
    (folder / "program.py").write_text("1 / 0")
    assert "ZeroDivisionError" in run_with(folder, "program.py").stderr


def test_calls_at_any_depth_map_no_memory(folder):
    (folder / "program.py").write_text(DEEP)
    assert int(run_with(folder, "program.py").stdout) < 100  # a call of leaf() that crosses the end of a block of frames costs a page fault


def test_the_package_has_the_tool():
    done = subprocess.run([sys.executable, "-m", "parallax", "info", str(DIGITS)], text=True, capture_output=True)
    assert done.returncode == 0 and "image" in done.stdout, done.stderr


def test_without_a_program_it_says_how(folder):
    for arguments in ([], ["-m"], ["--help"]):
        assert "PROGRAM.py" in "".join([(done := run_with(folder, *arguments)).stdout, done.stderr])
    assert ROOT.exists()
