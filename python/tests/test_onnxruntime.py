"""parallax.onnxruntime and ONNX Runtime itself: the same program with either import."""
import threading

import models
import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS, ROOT

import parallax
from parallax import onnxruntime as ours

theirs = pytest.importorskip("onnxruntime")
IMAGES = np.load(ROOT / "models" / "digits" / "images.npy").astype(np.float32).reshape(-1, 1, 8, 8)
BOTH = pytest.mark.parametrize("ort", [ours, theirs], ids=["parallax", "onnxruntime"])


def program(ort, model=str(DIGITS), batch=None):
    """The steps of programs that use ONNX Runtime; returns all that they see."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if batch:
        options.add_free_dimension_override_by_name("batch", batch)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs, outputs = session.get_inputs(), session.get_outputs()
    said = session.get_modelmeta()
    feed = {inputs[0].name: IMAGES[:batch or 7]}
    results = [session.run(None, feed), session.run([outputs[0].name], feed, ort.RunOptions())]
    seen = [(node.name, node.shape, node.type) for node in inputs + outputs]
    return seen, session.get_providers(), (said.producer_name, said.graph_name, said.custom_metadata_map), results


@pytest.mark.parametrize("model, batch", [(str(DIGITS), None), (DIGITS, None), (DIGITS.read_bytes(), None), (str(DIGITS), 5)],
                         ids=["text", "path", "bytes", "size"])
def test_a_program_sees_the_same(model, batch):
    *seen, results = program(ours, model, batch)
    *expected, their_results = program(theirs, model, batch)
    assert seen == expected
    for ours_of, theirs_of in zip(results, their_results, strict=True):
        for one, other in zip(ours_of, theirs_of, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20])
def test_element_types_have_the_same_names(number):
    model = w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", number, ["n", 2])], [w.value("y", number, ["n", 2])], opset=21)
    (node,), (expected,) = (ort.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs() for ort in (ours, theirs))
    assert (node.name, node.shape, node.type) == (expected.name, expected.shape, expected.type)


@pytest.mark.parametrize("wrap", [models.sequence_type, models.optional_type])
def test_sequences_and_optionals_have_the_same_names(wrap):
    model = models.of_type(wrap(models.tensor_type(1)))
    (node,), (expected,) = (ort.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs() for ort in (ours, theirs))
    assert node.type == expected.type


def test_maps_have_the_same_names_and_values():
    model, feed = models.classes(), {"x": np.array([[1, 2], [3, 4]], np.float32)}
    session, expected = (ort.InferenceSession(model, providers=["CPUExecutionProvider"]) for ort in (ours, theirs))
    assert session.get_outputs()[0].type == expected.get_outputs()[0].type
    assert session.run(None, feed) == expected.run(None, feed)


@pytest.mark.parametrize("node, inputs, outputs", [
    ("Neg", [None, 2], [None, 2]), ("Neg", ["n", 2], ["other", 2]), ("Neg", ["n", 2], [None, None]), ("Shape", ["n", 2], ["k"]),
    ("NonZero", ["n", 2], [2, "k"]), ("NonZero", ["n", 2], [2, None]), ("Flatten", ["a", "b", 3], [None, None]), ("Flatten", ["a", "b", 3], ["a", "c"])])
def test_free_dimensions_have_the_same_names(node, inputs, outputs):
    def value(name, dims):
        shape = b"".join(w.blob(1, b"" if size is None else w.number(1, size) if isinstance(size, int) else w.blob(2, size)) for size in dims)
        return w.blob(1, name) + w.blob(2, w.blob(1, w.number(1, w.INT64) + w.blob(2, shape)))

    model = w.model([w.node(node, ["x"], ["y"])], [value("x", inputs)], [value("y", outputs)])
    session, expected = (ort.InferenceSession(model, providers=["CPUExecutionProvider"]) for ort in (ours, theirs))
    for nodes, others in ((session.get_inputs(), expected.get_inputs()), (session.get_outputs(), expected.get_outputs())):
        assert list(map(str, nodes)) == list(map(str, others))


@BOTH
def test_outputs_come_in_the_order_of_their_names(ort):
    x = [w.value("x", w.FLOAT, ["n"])]
    model = w.model([w.node("Neg", ["x"], ["a"]), w.node("Abs", ["x"], ["b"])], x, [w.value(name, w.FLOAT, ["n"]) for name in "ab"])
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    feed = {"x": np.array([-1], np.float32)}
    for names, expected in ((["b", "a"], [1, 1]), (["b"], [1]), ([], [1, 1]), (None, [1, 1])):
        assert [output.item() for output in session.run(names, feed)] == expected[:len(names or "ab")]


@BOTH
def test_a_run_can_be_terminated_and_options_used_again(ort):
    session = ort.InferenceSession(str(DIGITS), providers=["CPUExecutionProvider"])
    options = ort.RunOptions()
    options.terminate = True
    assert options.terminate
    with pytest.raises(Exception):
        session.run(None, {"image": IMAGES[:1]}, options)
    options.terminate = False
    assert len(session.run(None, {"image": IMAGES[:1]}, options)) == 1


@BOTH
def test_unknown_options_are_refused(ort):
    with pytest.raises(AttributeError):
        ort.SessionOptions().intra_op_threads = 1


def test_options_of_parallax_can_be_given():
    with pytest.raises(parallax.BudgetExceededError):
        ours.InferenceSession(DIGITS, budget=1).run(None, {"image": IMAGES[:1]})
    assert ours.get_available_providers() == ["CPUExecutionProvider"] and ours.get_device() == "CPU"


@BOTH
def test_inputs_and_outputs_are_bound(ort):
    session = ort.InferenceSession(str(DIGITS), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"image": IMAGES[:3]})[0]
    name = session.get_outputs()[0].name
    value = ort.OrtValue.ortvalue_from_numpy(IMAGES[:3])
    given = ort.OrtValue.ortvalue_from_shape_and_type(expected.shape, np.float32)
    memory = np.zeros_like(expected)
    image = np.ascontiguousarray(IMAGES[:3])
    bindings = [lambda b: (b.bind_cpu_input("image", image), b.bind_output(name)),
                lambda b: (b.bind_ortvalue_input("image", value), b.bind_ortvalue_output(name, given)),
                lambda b: (b.bind_input("image", "cpu", 0, np.float32, image.shape, image.ctypes.data),
                           b.bind_output(name, "cpu", 0, np.float32, list(memory.shape), memory.ctypes.data))]
    for bind in bindings:
        binding = session.io_binding()
        bind(binding)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected)
        (output,) = binding.get_outputs()
        assert output.shape() == list(expected.shape) and output.data_type() == "tensor(float)" and output.device_name() == "cpu"
    np.testing.assert_array_equal(given.numpy(), expected)
    np.testing.assert_array_equal(memory, expected)
    binding.clear_binding_inputs()
    with pytest.raises(Exception):
        session.run_with_iobinding(binding)


@BOTH
def test_values_are_made_and_changed(ort):
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert (value.shape(), value.data_type(), value.element_type(), value.is_tensor(), value.has_value()) == ([2, 3], "tensor(int64)", 7, True, True)
    assert value.tensor_size_in_bytes() == 48 and value.data_ptr() != 0 and not value.is_sparse_tensor() and not value.is_tensor_sequence()
    value.update_inplace(array + 1)
    np.testing.assert_array_equal(value.numpy(), np.arange(1, 7).reshape(2, 3))


@BOTH
def test_ort_values_are_inputs_and_outputs(ort):
    session = ort.InferenceSession(str(DIGITS), providers=["CPUExecutionProvider"])
    (output, *_) = session.run_with_ort_values(None, {"image": ort.OrtValue.ortvalue_from_numpy(IMAGES[:2])})
    np.testing.assert_array_equal(output.numpy(), session.run(None, {"image": IMAGES[:2]})[0])


@BOTH
def test_a_run_calls_back(ort):
    session = ort.InferenceSession(str(DIGITS), providers=["CPUExecutionProvider"])
    done, seen = threading.Event(), []

    def callback(outputs, user_data, problem):
        seen.extend([len(outputs), user_data, problem])
        done.set()

    session.run_async(None, {"image": IMAGES[:1]}, callback, "mine")
    assert done.wait(60) and seen == [1, "mine", ""]


@BOTH
def test_words_and_errors_are_the_same(ort):
    level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert f"{level} {level!r}" == "GraphOptimizationLevel.ORT_ENABLE_ALL <GraphOptimizationLevel.ORT_ENABLE_ALL: 99>"
    state = ort.capi_errors if ort is ours else ort.capi.onnxruntime_pybind11_state
    with pytest.raises(state.InvalidArgument) as caught:
        ort.InferenceSession(models.gather(), providers=["CPUExecutionProvider"]).run(None, {"x": np.array([7])})
    assert ort is theirs or isinstance(caught.value, parallax.OutOfRangeError) and caught.value.node == "gather"


@BOTH
def test_missing_inputs_are_named(ort):
    with pytest.raises(ValueError, match="image"):
        ort.InferenceSession(str(DIGITS), providers=["CPUExecutionProvider"]).run(None, {})


@BOTH
def test_what_means_nothing_is_accepted(ort):
    ort.set_default_logger_severity(3)
    ort.set_seed(1)
    options = ort.SessionOptions()
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    session = ort.InferenceSession(str(DIGITS), options, providers=[("CPUExecutionProvider", {})], provider_options=None)
    assert list(session.get_provider_options()) == ["CPUExecutionProvider"] and session.get_overridable_initializers() == []
    assert "CPUExecutionProvider" in ort.get_all_providers() and ort.get_version_string() and ort.get_build_info()


@BOTH
def test_a_device_that_is_not_there_is_named(ort):
    with pytest.warns(UserWarning, match="NoSuchExecutionProvider"):
        try:
            ort.InferenceSession(str(DIGITS), providers=["NoSuchExecutionProvider"])
        except ValueError as error:  # ONNX Runtime refuses names that it does not know
            pytest.skip(str(error))


def test_profiles_are_missed():
    with pytest.warns(UserWarning, match="profile"):
        ours.SessionOptions().enable_profiling = True
    with pytest.raises(ours.capi_errors.NotImplemented, match="lib"):
        ours.SessionOptions().register_custom_ops_library("lib.so")
