"""Element types, strings, sequences, optionals: what goes in comes out."""
import models
import numpy as np
import pytest

import parallax

ml_dtypes = pytest.importorskip("ml_dtypes")
NUMPY = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8"}
OTHERS = {16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
          23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2"}
TYPES = {number: np.dtype(name) for number, name in NUMPY.items()}
TYPES |= {number: np.dtype(getattr(ml_dtypes, name)) for number, name in OTHERS.items()}


@pytest.mark.parametrize("number", TYPES, ids=[str(dtype) for dtype in TYPES.values()])
def test_every_element_type_goes_through(number):
    x = np.array([1, 0 if number != 24 else 1, 1, 1, 1], "f4").astype(TYPES[number])  # 24 has no 0
    session = parallax.Session(models.identity(number))
    assert session.model.inputs[0].dtype == x.dtype.name
    for value in (x, np.repeat(x, 3)[::3], x.tolist()):
        np.testing.assert_array_equal(session.run(value)["y"], x, strict=True)


@pytest.mark.parametrize("number, bits", [(16, [0x3F80, 0x4000]), (17, [0x38, 0x40])])
def test_bits_are_taken_where_numpy_lacks_the_type(monkeypatch, number, bits):
    session = parallax.Session(models.identity(number))
    bits = np.array(bits, "u2" if number == 16 else "u1")
    assert session.run(bits)["y"].astype("f4").tolist() == [1, 2]
    monkeypatch.setattr(parallax._arrays, "_ml_dtypes", lambda: None)
    np.testing.assert_array_equal(session.run(bits)["y"], bits, strict=True)


@pytest.mark.parametrize("number, low, high, wide", [(22, -8, 7, "i1"), (21, 0, 15, "u1"), (26, -2, 1, "i1"), (25, 0, 3, "u1")])
def test_small_integers_have_bytes_without_ml_dtypes(monkeypatch, number, low, high, wide):
    monkeypatch.setattr(parallax._arrays, "_ml_dtypes", lambda: None)
    session = parallax.Session(models.identity(number))
    x = np.array([low, 0, high], wide)
    np.testing.assert_array_equal(session.run(x)["y"], x, strict=True)
    with pytest.raises(parallax.InvalidInputError, match="int"):
        session.run(np.array([high + 1], wide))


@pytest.mark.parametrize("value", [["a", "", "ü€"], np.array(["a", "", "ü€"]), np.array(["a", "", "ü€"], object)])
def test_strings(value):
    output = parallax.Session(models.identity(8)).run({"x": value})["y"]
    assert output.dtype == object and output.tolist() == ["a", "", "ü€"]


def test_strings_of_two_dimensions_and_none():
    session = parallax.Session(models.identity(8, ["a", "b"]))
    assert session.run([["a", "b"], ["c", "d"]])["y"].tolist() == [["a", "b"], ["c", "d"]]
    assert session.run(np.empty((0, 2), object))["y"].shape == (0, 2)


def test_sequences():
    model = parallax.Model(models.of_type(models.sequence_type(models.tensor_type(1))))
    assert model.inputs[0].type == "sequence of float32"
    elements = [np.array([1, 2], "f4"), np.array([3], "f4")]
    output = parallax.Session(model).run({"x": elements})["y"]
    assert [element.tolist() for element in output] == [[1, 2], [3]]
    assert not output[0].flags.writeable  # objects may share their memory
    assert parallax.Session(model).run({"x": []})["y"] == []


@pytest.mark.parametrize("value", [None, [1.0, 2.0]])
def test_optionals(value):
    session = parallax.Session(models.of_type(models.optional_type(models.tensor_type(1))))
    output = session.run({"x": value})["y"]
    assert output is None if value is None else output.tolist() == value


def test_maps():
    session = parallax.Session(models.classes())
    assert session.model.outputs[0].type == "sequence of map from int64 to float32"
    assert session.run([[1, 2], [3, 4]])["y"] == [{10: 1, 20: 2}, {10: 3, 20: 4}]
    session = parallax.Session(models.words())
    assert session.model.inputs[0].type == "map from string to float32"
    assert session.run({"x": {"c": 3.0, "a": 1}})["y"].tolist() == [[1, 0, 3]]
    with pytest.raises(parallax.InvalidInputError, match="dict"):
        session.run({"x": [1, 2, 3]})
