"""tools/compare: a difference that is planted is found where it is."""
import os
import re
import sys

import numpy as np
import onnx_writer as w
import pytest
from conftest import BUILD, DIGITS, ROOT, SANITIZED, needs_onnxruntime, run

pytestmark = [needs_onnxruntime, pytest.mark.skipif(SANITIZED, reason="compared in the release build")]

# A `parallax` whose outputs `wrong` are off, where `alone`: only if there is no other output.
LIAR = """#!{python}
import json, pathlib, subprocess, sys
import numpy as np
status = subprocess.run(["{cli}", *sys.argv[1:]]).returncode
folder = pathlib.Path(sys.argv[sys.argv.index("--output-dir") + 1])
for entry in json.loads((folder / "outputs.json").read_text()) if status == 0 else []:
    if entry["name"] in {wrong!r} and not ({alone} and (folder / "1.npy").exists()):
        value = np.load(folder / entry["file"])
        value.flat[-1] += 1
        np.save(folder / entry["file"], value)
sys.exit(status)
"""


@pytest.fixture
def compare(tmp_path):
    """compare(*arguments, wrong=tensors that are off) -> the finished process"""

    def call(*arguments, wrong=(), alone=False):
        liar = tmp_path / "liar"
        liar.write_text(LIAR.format(python=sys.executable, cli=BUILD / "parallax", wrong=sorted(wrong), alone=alone))
        os.chmod(liar, 0o755)
        return run(sys.executable, ROOT / "tools" / "compare" / "compare.py", *arguments, "--parallax", liar if wrong else BUILD / "parallax")

    return call


@pytest.fixture
def chain(tmp_path):
    """40 nodes, one behind the other, more than become outputs at once."""
    names = ["x", *(f"t{k}" for k in range(39)), "y"]
    nodes = [w.node("Relu" if k % 2 else "Sigmoid", [a], [b], f"node{k}") for k, (a, b) in enumerate(zip(names, names[1:]))]
    (tmp_path / "chain.onnx").write_bytes(w.model(nodes, [w.value("x", w.FLOAT, ["n", 4])], [w.value("y", w.FLOAT, ["n", 4])]))
    return tmp_path / "chain.onnx", "--dim", "n=3"


def test_models_that_agree(compare):
    done = compare(DIGITS, "--dim", "batch=3", "--inside")
    assert done.returncode == 0, done.stderr
    assert "output 'logits': error" in done.stdout and "no tensor inside differs" in done.stdout


@pytest.mark.parametrize("first", [0, 5, 36])
def test_the_first_tensor_that_differs(compare, chain, first):
    done = compare(*chain, wrong={"y", *(f"t{k}" for k in range(first, 39))})
    assert done.returncode == 1, done.stderr
    assert "output 'y'" in done.stdout and "DIFFERENT" in done.stdout
    assert f"first tensor that differs: 't{first}' of node 'node{first}'" in done.stdout
    assert re.search(rf"reads 't{first - 1}': error (0.0e.00|\d.\de-0[6-9]) " if first else "reads 'x': an input", done.stdout)


def test_a_difference_at_the_output_only(compare, chain):
    done = compare(*chain, wrong={"y"})
    assert done.returncode == 1 and "first tensor that differs: 'y' of node 'node39'" in done.stdout


def test_a_difference_that_is_gone_with_the_fusions(compare, chain):
    done = compare(*chain, wrong={"y"}, alone=True)
    assert done.returncode == 1 and "operators that are fused" in done.stdout


def test_no_tolerance_finds_roundings(compare, tmp_path):
    x = np.linspace(-4, 4, 999, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    nodes = [w.node("Neg", ["x"], ["a"], "exact"), w.node("Erf", ["a"], ["b"], "rounded"), w.node("Neg", ["b"], ["y"], "last")]
    (tmp_path / "m.onnx").write_bytes(w.model(nodes, [w.value("x", w.FLOAT, [999])], [w.value("y", w.FLOAT, [999])]))
    given = (tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}")
    assert compare(*given).returncode == 0
    done = compare(*given, "--tolerance", 0)
    assert done.returncode == 1 and "'b' of node 'rounded' (Erf)" in done.stdout


@pytest.mark.parametrize("arguments, status, text", [((DIGITS,), 1, "--dim batch=N"), ((DIGITS, "--dim", "batch"), 2, "SYMBOL=N"), (("nowhere.onnx",), 2, "no such file")])
def test_what_cannot_be_compared(compare, arguments, status, text):
    done = compare(*arguments)
    assert done.returncode == status and text in done.stderr and "Traceback" not in done.stderr


def test_who_refuses_is_named(compare, tmp_path):
    (tmp_path / "m.onnx").write_bytes(w.model([w.node("Frobnicate", ["x"], ["y"])], [w.value("x", w.FLOAT, [2])], [w.value("y", w.FLOAT, [2])]))
    done = compare(tmp_path / "m.onnx")
    assert done.returncode == 1 and done.stderr.startswith("compare: ONNX Runtime: ")
    # CDist is an operator of ONNX Runtime's own domain, and not one of Parallax's.
    node = w.node("CDist", ["x", "x"], ["y"], domain="com.microsoft", metric="euclidean")
    domain = w.blob(8, w.blob(1, "com.microsoft") + w.number(2, 1))
    (tmp_path / "m.onnx").write_bytes(w.model([node], [w.value("x", w.FLOAT, [2, 2])], [w.value("y", w.FLOAT, [2, 2])]) + domain)
    done = compare(tmp_path / "m.onnx")
    assert done.returncode == 1 and done.stderr.startswith("compare: Parallax: ") and "CDist" in done.stderr
