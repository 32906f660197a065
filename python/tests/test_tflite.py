"""parallax.tflite and LiteRT itself: the same program with either import."""
import numpy as np
import pytest
import tflite_models
from conftest import DIGITS

from parallax import tflite as ours

try:
    from ai_edge_litert import interpreter as theirs
except ImportError:
    theirs = None
BOTH = pytest.mark.parametrize("lite", [ours, pytest.param(theirs, marks=pytest.mark.skipif(theirs is None, reason="needs ai-edge-litert"))],
                               ids=["parallax", "litert"])


@pytest.fixture(params=[tflite_models.SUM, tflite_models.QUANTIZED], ids=["sum", "quantized"])
def file(request):
    return request.param


def plain(details):
    """What can be compared with ==."""
    keep = ["name", "index", "dtype", "quantization"]
    parameters = details["quantization_parameters"]
    return ([details[key] for key in keep], details["shape"].tolist(), details["shape_signature"].tolist(),
            {key: parameters[key] if isinstance(parameters[key], int) else parameters[key].tolist() for key in parameters})


def program(lite, file):
    """The steps of programs that use LiteRT; returns all that they see."""
    interpreter = lite.Interpreter(model_content=file, num_threads=1)
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    seen = [plain(details) for details in inputs + outputs]
    for round_ in range(3):
        for details in inputs:
            array = np.arange(np.prod(details["shape"])).reshape(details["shape"]) + round_
            interpreter.set_tensor(details["index"], array.astype(details["dtype"]))
        interpreter.invoke()
        seen.append([interpreter.get_tensor(details["index"]).tolist() for details in outputs])
    return seen, interpreter.get_signature_list()


@pytest.mark.skipif(theirs is None, reason="needs ai-edge-litert")
def test_a_program_sees_the_same(file):
    assert program(ours, file) == program(theirs, file)


@BOTH
def test_variables_are_reset(lite):
    interpreter = lite.Interpreter(model_content=tflite_models.SUM)
    interpreter.allocate_tensors()
    x, y = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(x, np.array([2], np.float32))
    totals = []
    for _ in range(2):
        interpreter.invoke()
        totals.append(interpreter.get_tensor(y).item())
    interpreter.reset_all_variables()
    assert totals == [12, 14]


@BOTH
def test_signatures_are_called_by_name(lite):
    interpreter = lite.Interpreter(model_content=tflite_models.SUM)
    twice = interpreter.get_signature_runner("twice")
    assert twice(number=np.array([3], np.float32))["double"].tolist() == [6]
    assert list(twice.get_input_details()) == ["number"] and list(twice.get_output_details()) == ["double"]
    with pytest.raises(ValueError):
        interpreter.get_signature_runner("thrice")
    with pytest.raises(ValueError):
        interpreter.get_signature_runner()
    with pytest.raises(ValueError):
        twice(other=np.array([3], np.float32))


@BOTH
def test_arrays_are_used_in_place(lite):
    interpreter = lite.Interpreter(model_content=tflite_models.SUM)
    interpreter.allocate_tensors()
    interpreter.tensor(interpreter.get_input_details()[0]["index"])()[:] = 5
    interpreter.invoke()
    assert interpreter.tensor(interpreter.get_output_details()[0]["index"])().tolist() == [15]


@BOTH
def test_sizes_change(lite):
    interpreter = lite.Interpreter(model_content=tflite_models.QUANTIZED)
    for count in (3, 1):
        for details in interpreter.get_input_details():
            interpreter.resize_tensor_input(details["index"], [count, 2])
        with pytest.raises(RuntimeError):
            interpreter.invoke()
        interpreter.allocate_tensors()
        for details in interpreter.get_input_details():
            interpreter.set_tensor(details["index"], np.ones([count, 2], details["dtype"]))
        interpreter.invoke()
        assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).shape == (count, 2)


@BOTH
def test_tensors_without_memory_are_refused(lite):
    interpreter = lite.Interpreter(model_content=tflite_models.SUM)
    index = interpreter.get_input_details()[0]["index"]
    for error, call in [(ValueError, lambda: interpreter.set_tensor(index, np.ones(1, np.float32))), (ValueError, lambda: interpreter.get_tensor(index)),
                        (ValueError, interpreter.tensor(index)), (RuntimeError, interpreter.invoke)]:
        with pytest.raises(error):
            call()


@pytest.mark.skipif(theirs is None, reason="needs ai-edge-litert")
def test_sizes_that_the_file_fixes_change():
    import sample_tflite
    model, image, results = sample_tflite.segmenter(), np.random.default_rng(3).random((2, 5, 3, 3), np.float32), []
    for lite in (ours, theirs):
        interpreter = lite.Interpreter(model_content=model)
        index = interpreter.get_input_details()[0]["index"]
        interpreter.resize_tensor_input(index, image.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(index, image)
        interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    assert results[0].shape == (2, 8, 8)
    np.testing.assert_array_equal(*results)


@BOTH
def test_sizes_that_operators_refuse_do_not_change(lite):
    interpreter = lite.Interpreter(model_content=tflite_models.QUANTIZED)
    index = interpreter.get_input_details()[0]["index"]
    with pytest.raises(RuntimeError):
        interpreter.resize_tensor_input(index, [1, 3], strict=True)
    interpreter.resize_tensor_input(index, [1, 3])
    with pytest.raises(RuntimeError):
        interpreter.allocate_tensors()


@BOTH
@pytest.mark.parametrize("value", [np.array([1.0]), np.array([1, 2], np.float32), np.array([[1]], np.float32)], ids=["type", "size", "rank"])
def test_other_types_and_shapes_are_refused(lite, value):
    interpreter = lite.Interpreter(model_content=tflite_models.SUM)
    interpreter.allocate_tensors()
    with pytest.raises(ValueError):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)


@BOTH
@pytest.mark.parametrize("keywords", [{}, {"model_path": "nowhere.tflite"}, {"model_content": b"no model at all"}], ids=["none", "path", "bytes"])
def test_files_that_are_no_models_are_refused(lite, keywords):
    with pytest.raises(ValueError):
        lite.Interpreter(**keywords)


def test_what_has_no_place_here_is_refused():
    for error, call in [(ValueError, lambda: ours.load_delegate("libedgetpu.so.1")), (ValueError, lambda: ours.Interpreter(DIGITS)),
                        (ValueError, lambda: ours.Interpreter(DIGITS, experimental_delegates=[1])),
                        (ValueError, lambda: ours.Interpreter(model_content=tflite_models.SUM).get_tensor(99)),
                        (RuntimeError, lambda: ours.Interpreter(model_content=tflite_models.SUM).invoke())]:
        with pytest.raises(error):
            call()
