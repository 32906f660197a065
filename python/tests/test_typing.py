"""Types: mypy accepts the package and a program that uses it, and refuses wrong uses."""
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT, script

import parallax

pytest.importorskip("mypy")
PROGRAM = ROOT / "python" / "tests" / "typed" / "program.py"
REFUSED = {  # a line, and the word for it
    'parallax.Session("m.onnx", scheduler="fastest")': "arg-type",
    'parallax.Session("m.onnx", thread=2)': "call-arg",
    "parallax.Model(3)": "arg-type",
    'parallax.Session("m.onnx").run({}, "logits")': "arg-type",
    'parallax.Session("m.onnx").run({}, stop=True)': "arg-type",
    'parallax.Session("m.onnx").run_async({}, stop=None)': "call-arg",
    "ort.SessionOptions().intra_op_threads = 2": "attr-defined",
    'tflite.Interpreter(num_threads="2")': "arg-type",
}


def mypy(*arguments):
    """The lines that mypy says, in the strict mode that pyproject.toml asks for."""
    folder = pathlib.Path(parallax.__file__).parents[1]
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / "build" / "mypy",
                           *map(str, arguments)], text=True, capture_output=True, env=os.environ | {"MYPYPATH": str(folder)}, cwd=ROOT / "build")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()[:-1]


def test_package_and_program_are_accepted():
    assert mypy("-p", "parallax") == [] and mypy(PROGRAM) == []


def test_wrong_uses_are_refused(tmp_path):
    (tmp_path / "wrong.py").write_text("\n".join(["import parallax", "from parallax import onnxruntime as ort, tflite", *REFUSED]))
    said = mypy(tmp_path / "wrong.py")
    for number, (line, word) in enumerate(REFUSED.items(), 3):
        assert any(f"wrong.py:{number}: error" in text and f"[{word}]" in text for text in said), (line, said)


def test_the_program_runs():
    said = script(f"import runpy; runpy.run_path({str(PROGRAM)!r}, run_name='__main__')")
    assert said == "{'image': (2, 1, 8, 8)} 1 invalid model ONNX (2, 10)\n"
