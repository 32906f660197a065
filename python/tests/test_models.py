"""Models: from paths and bytes, what they say of themselves; TFLite's state and signatures."""
import gc
import io
import pathlib
import zipfile

import models
import numpy as np
import pytest
import tflite_models
from conftest import DIGITS, script

import parallax

SUMS = tflite_models.SUM
TWO = np.array([2], np.float32)


@pytest.mark.parametrize("make", [str, pathlib.Path, lambda path: path.read_bytes(), lambda path: memoryview(path.read_bytes()),
                                  lambda path: np.fromfile(path, np.uint8)])
def test_a_model_comes_from_a_path_or_from_bytes(make):
    model = parallax.Model(make(DIGITS))
    gc.collect()  # only the model keeps the bytes
    assert parallax.Session(model).run(np.zeros((2, 1, 8, 8), np.float32))["logits"].shape == (2, 10)


def test_names_types_and_symbols():
    model = parallax.Model(DIGITS)
    assert [(t.name, t.dtype, t.shape) for t in model.inputs] == [("image", "float32", ("batch", 1, 8, 8))]
    assert [(t.name, t.dtype, t.shape) for t in model.outputs] == [("logits", "float32", ("batch", 10))]
    assert model.symbols == ["batch"] and model.ties == [] and model.metadata.producer_name == "pytorch"
    session = parallax.Session(model)
    assert session.input_shapes({"batch": 3}) == [(3, 1, 8, 8)] and session.output_shapes({"batch": 3}) == [(3, 10)]


def test_known_sizes_become_constants():
    model = parallax.Model(DIGITS, inputs={"image": [4, -1, -1, -1]})
    assert model.inputs[0].shape == (4, 1, 8, 8) and model.symbols == []


def test_reprs_show_what_matters():
    model = parallax.Model(DIGITS)
    assert "digits.onnx: (image: float32[batch, 1, 8, 8]) -> (logits: float32[batch, 10])" in repr(model)
    assert f"{DIGITS.stat().st_size} bytes" in repr(parallax.Model(DIGITS.read_bytes()))
    session = parallax.Session(model, scheduler="layers", threads=1, budget=1 << 20)
    assert "scheduler layers, threads 1, budget 1048576" in repr(session) and "digits.onnx" in repr(session)
    assert repr(model.inputs[0]) == "image: float32[batch, 1, 8, 8]"


def test_memory_is_counted_and_given_back(tmp_path):
    runtime = parallax.Runtime(threads=1, cache=tmp_path, shared_budget=True)
    session = parallax.Session(parallax.Model(DIGITS, runtime=runtime), runtime=runtime)
    x = np.ones((4, 1, 8, 8), np.float32)
    before = session.run(x)["logits"]
    assert session.peak_arena_bytes > 0 and session.threads == runtime.threads == 1
    assert list(tmp_path.iterdir())  # the cache
    session.trim()
    runtime.trim()
    np.testing.assert_array_equal(session.run(x)["logits"], before)


def test_a_delegate_that_does_not_open_says_why():
    session = parallax.Session(DIGITS, delegates=["nothing"])
    assert session.run(np.zeros((1, 1, 8, 8), np.float32))["logits"].shape == (1, 10)
    assert session.delegates()[0].name == "nothing" and session.delegates()[0].problem


def test_a_tflite_model_keeps_its_state():
    session = parallax.Session(SUMS)
    assert session.model.ties and session.model.metadata.doc_string == "A sum"
    assert [session.run(TWO)["y"].item() for _ in range(3)] == [12, 14, 16]
    state = parallax.State(session)
    assert session.run({"x": TWO}, state=state)["y"].item() == 12
    tied = session.model.ties[0]
    assert session.run(TWO, [tied[1]], state=state)[tied[1]].item() == 14
    other = state.copy()
    state.set(tied[0], np.array([100], np.float32))
    assert state.get(tied[0]).item() == 100 and session.run(TWO, state=state)["y"].item() == 102
    assert session.run(TWO, state=other)["y"].item() == 16
    other.reset()
    assert session.run(TWO, state=other)["y"].item() == 12
    assert tied[0] in repr(state)


@pytest.mark.parametrize("signature, expected", [("accumulate", 12), ("twice", 4)])
def test_a_signature_names_inputs_and_outputs(signature, expected):
    session = parallax.Session(parallax.Model(SUMS, signature=signature))
    (value,) = session.run({"number": TWO}).values()
    assert value.item() == expected


def test_a_section_of_a_container_is_a_model():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a", SUMS)
        out.writestr("b", SUMS)
    data = file.getvalue()
    assert parallax.Session(parallax.Model(data, section="b")).run({"x": TWO})["y"].item() == 12
    with pytest.raises(parallax.InvalidInputError, match="'a', 'b'"):
        parallax.Model(data)
    report = parallax.inspect(data)
    assert (report.container, report.format) == ("ZIP archive", "")
    assert [(s.name, s.type, s.bytes, s.is_model) for s in report.sections] == [(n, "TFLiteModel", len(SUMS), True) for n in "ab"]
    assert parallax.inspect(data, section="a").format == "TFLite"


def test_inputs_can_be_tied_to_outputs():
    session = parallax.Session(models.add())
    state = parallax.State(session, [("x", "z")])
    assert [session.run(TWO, ["z"], state=state)["z"].item() for _ in range(3)] == [2, 4, 6]
    assert session.run(TWO, state=state) == {}


def test_nothing_is_printed():
    assert script("import parallax\ns = parallax.Session('models/digits/digits.onnx')\nt = s.model\nparallax.keep = [s, t]") == ""


def test_the_stub_has_all_that_the_module_has():
    stub = (pathlib.Path(parallax.__file__).parent / "_native.pyi").read_text()
    for kind in vars(parallax._native).values():
        assert not isinstance(kind, type) or f"class {kind.__name__}:" in stub
    assert "def run(self, inputs" in stub and (pathlib.Path(parallax.__file__).parent / "py.typed").exists()
