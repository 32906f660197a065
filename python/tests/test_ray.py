"""parallax.ray.Predictor, called as Ray calls it; test_ray_cluster.py has Ray itself."""
import concurrent.futures
import gc
import shutil

import models
import numpy as np
import onnx_writer as w
import pytest
import tflite_models
from conftest import DIGITS, ROOT

import parallax
from parallax import ray

IMAGES = np.load(ROOT / "models" / "digits" / "images.npy").astype(np.float32).reshape(-1, 1, 8, 8)
ROWS = np.arange(14, dtype=np.float32).reshape(7, 2)


def sums(rows, y=(2,), out=None):
    """z = x + y, x [rows, 2]."""
    values = [w.value("x", w.FLOAT, [rows, 2]), w.value("y", w.FLOAT, list(y))]
    return w.model([w.node("Add", ["x", "y"], ["z"])], values, [w.value("z", w.FLOAT, out or [rows, 2])])


def test_outputs_are_added_to_the_columns():
    batch = {"image": IMAGES[:5], "label": np.arange(5)}
    result = ray.Predictor(DIGITS)(batch)
    assert list(result) == ["image", "label", "logits"] and result["image"] is batch["image"] and result["label"] is batch["label"]
    np.testing.assert_array_equal(result["logits"], parallax.Session(DIGITS).run(IMAGES[:5])["logits"])


@pytest.mark.parametrize("keywords, columns, sums_of", [
    ({}, ["x", "y"], "z"), ({"inputs": {"x": "a"}}, ["a", "y"], "z"), ({"inputs": {"x": "a", "y": "a"}}, ["a"], "z"), ({"outputs": ["z"]}, ["x", "y"], "z"),
    ({"outputs": {"z": "sum"}}, ["x", "y", "other"], "sum"), ({"outputs": {"z": "x"}}, ["x", "y"], "x"), ({"outputs": []}, ["x", "y"], None)])
def test_columns_have_the_names_that_are_given(keywords, columns, sums_of):
    batch = {name: np.array([1, 2, 3], np.float32) for name in columns}
    result = ray.Predictor(models.add(), **keywords)(batch)
    expected = {name: [1, 2, 3] for name in columns} | ({sums_of: [2, 4, 6]} if sums_of else {})
    assert {name: column.tolist() for name, column in result.items()} == expected
    assert all(column.tolist() == [1, 2, 3] for column in batch.values())


@pytest.mark.parametrize("rows", ["n", 1, 3, 7, 10])
@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_models_of_any_number_of_rows(rows, count):
    predictor = ray.Predictor(sums(rows), constants={"y": [10.0, 20.0]})
    z = predictor({"x": ROWS[:count]})["z"]
    np.testing.assert_array_equal(z, ROWS[:count] + np.array([10, 20], np.float32), strict=True)


def test_rows_that_fill_a_run_are_the_last_one():
    """Index 0 of no rows would be out of range for the table; that of the last row is not."""
    table = w.floats("table", [3], [5, 6, 7])
    model = w.model([w.node("Gather", ["table", "i"], ["y"])], [w.value("i", w.INT64, [4])], [w.value("y", w.FLOAT, [4])], [table])
    assert ray.Predictor(model)({"i": np.array([1, 2, 0, 1, 2, 1])})["y"].tolist() == [6, 7, 5, 6, 7, 6]


def test_columns_of_objects_have_rows_of_one_shape():
    predictor = ray.Predictor(sums("n"), constants={"y": [1.0, 1.0]})
    column = np.empty(3, object)
    column[:] = [row for row in ROWS[:3]]
    np.testing.assert_array_equal(predictor({"x": column})["z"], ROWS[:3] + 1)
    column[1] = ROWS[1, :1]
    with pytest.raises(ValueError):
        predictor({"x": column})


def test_no_rows_have_the_types_and_shapes_of_outputs():
    result = ray.Predictor(models.identity(8))({"x": np.empty(0, object)})
    assert result["y"].shape == (0,) and result["y"].dtype == object
    nodes = [w.node("Cast", ["x"], ["c"], to=w.INT64), w.node("Concat", ["c", "c"], ["y"], axis=1), w.node("NonZero", ["x"], ["i"])]
    outputs = [w.value("y", w.INT64, ["n", "m"]), w.value("i", w.INT64, ["k", "l"])]
    model = w.model(nodes, [w.value("x", w.FLOAT, ["n", "width"])], outputs)
    result = ray.Predictor(model)({"x": np.empty((0, 3), np.float32)})
    assert result["y"].shape == (0, 6) and result["y"].dtype == np.int64 and result["i"].shape == (0, 0)


@pytest.mark.parametrize("file, keywords, text", [
    (models.add(), {"inputs": {"w": "x"}}, "no input 'w'"), (models.add(), {"constants": {"w": 1}}, "no input 'w'"),
    (models.add(), {"outputs": ["w"]}, "no output 'w'"), (models.add(), {"outputs": "z"}, "list"),
    (models.add(), {"constants": {"x": [1.0], "y": [1.0]}}, "no input is a column"), (models.add(()), {}, "no dimension for rows"),
    (sums(3, [1, 2]), {}, "contradict"), (models.classes(), {}, "not a tensor"), (tflite_models.SUM, {}, "state"), (DIGITS, {"budget": "all"}, "budget")])
def test_wrong_arguments_are_refused(file, keywords, text):
    with pytest.raises(parallax.InvalidInputError, match=text):
        ray.Predictor(file, **keywords)


@pytest.mark.parametrize("batch, text", [
    ({"x": ROWS[:, 0]}, "no column 'y': it has 'x'"), ({"x": ROWS[:, 0], "y": ROWS[:3, 0]}, "'y' has 3 rows, others have 7"),
    ({"x": ROWS[:, 0], "y": np.arange(7)}, "int64")])
def test_wrong_batches_are_refused(batch, text):
    with pytest.raises(parallax.InvalidInputError, match=text):
        ray.Predictor(models.add())(batch)


def test_outputs_without_rows_are_refused():
    model = w.model([w.node("ReduceSum", ["x"], ["y"], keepdims=0)], [w.value("x", w.FLOAT, ["n"])], [w.value("y", w.FLOAT, [])])
    with pytest.raises(parallax.InvalidInputError, match="'y' has the shape"):
        ray.Predictor(model)({"x": ROWS[:, 0]})


def test_errors_are_those_of_models_and_sessions():
    with pytest.raises(parallax.FileError):
        ray.Predictor("/none.onnx")
    with pytest.raises(parallax.BudgetExceededError):
        ray.Predictor(DIGITS, budget=1)({"image": IMAGES[:1]})


def test_a_process_loads_a_model_once(monkeypatch, tmp_path):
    loads = []
    monkeypatch.setattr(ray, "Model", lambda *arguments, **keywords: loads.append(arguments) or parallax.Model(*arguments, **keywords))
    path = tmp_path / "digits.onnx"
    shutil.copy(DIGITS, path)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        predictors = list(pool.map(lambda budget: ray.Predictor(path, budget=budget), [None, 1 << 20, "auto", None] * 4))
    predictors += [ray.Predictor(str(path)), ray.Predictor(tmp_path / "." / "digits.onnx")]
    assert len(loads) == 1
    predictors += [ray.Predictor(path, threads=2), ray.Predictor(path.read_bytes()), ray.Predictor(path.read_bytes())]
    assert len(loads) == 3
    path.write_bytes(models.add())  # another model
    assert set(ray.Predictor(path)({"x": ROWS[:, 0], "y": ROWS[:, 1]})) == {"x", "y", "z"} and len(loads) == 4
    assert len(ray._loaded) == 3
    predictors.clear()
    gc.collect()
    assert not ray._loaded


def test_the_cache_keeps_weights_for_other_processes(tmp_path):
    ray.Predictor(DIGITS, cache=tmp_path)({"image": IMAGES[:1]})
    assert list(tmp_path.iterdir())


def test_threads_share_a_predictor():
    predictor = ray.Predictor(sums(2), constants={"y": [1.0, 1.0]})
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(predictor, [{"x": ROWS}] * 20):
            np.testing.assert_array_equal(result["z"], ROWS + 1)
