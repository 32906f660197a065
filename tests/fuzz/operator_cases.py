"""Models of one operator in random types: ONNX's node tests are templates, whose types and numbers are drawn. Equal seeds give equal
cases with one version of onnx.
"""
import dataclasses
import pathlib
import random
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

RANDOM = re.compile("Random|Multinomial|Bernoulli|Dropout")
MOST_ELEMENTS = 60_000
FIXED_NUMBERS = 0.3  # of the inputs keep the template's numbers
# Inputs after the first that are sizes, axes and the like: other numbers would make most cases invalid.
SIZES = {"AffineGrid", "BlackmanWindow", "Clip", "DFT", "Expand", "HammingWindow", "HannWindow", "NonMaxSuppression", "OneHot", "Pad",
         "Resize", "STFT", "Tile", "TopK", "Upsample"}
ALL_SIZES = {"MelWeightMatrix", "Range"}
SMALL = {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8}  # types of indices


@dataclasses.dataclass
class Case:
    seed: int
    template: str
    model: onnx.ModelProto
    inputs: dict  # name: array; its type is the graph's

    @property
    def node(self):
        return self.model.graph.node[0]

    def types(self):
        names = [[TensorProto.DataType.Name(type_of(value)) for value in values] for values in (self.model.graph.input, self.model.graph.output)]
        return " -> ".join(", ".join(side).lower() for side in names)


def type_of(value):
    return value.type.tensor_type.elem_type


def numpy_type(kind):
    return helper.tensor_dtype_to_np_dtype(kind)


def is_float(kind):
    return "float" in TensorProto.DataType.Name(kind).lower() or kind == TensorProto.DOUBLE


def kind_named(text):
    """The element type that a schema names, such as `tensor(float16)`; nothing for sequences, text and complex numbers."""
    found = re.fullmatch(r"tensor\((\w+)\)", text)
    if not found or found[1] in ("string", "complex64", "complex128"):
        return None
    return TensorProto.DataType.Value(found[1].upper())


def bounds(kind):
    bits = re.fullmatch(r"(U?)INT(\d+)", TensorProto.DataType.Name(kind))
    width = int(bits[2])
    return (0, 2**width - 1) if bits[1] else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def converted(array, kind):
    if kind == TensorProto.BOOL:
        return np.asarray(array).astype(bool)
    numbers = np.asarray(array).astype(np.float64)
    if is_float(kind):
        return numbers if kind == TensorProto.DOUBLE else numbers.astype(np.float32).astype(numpy_type(kind))
    low, high = bounds(kind)
    return np.clip(np.nan_to_num(np.trunc(numbers)), low, min(high, 2.0**62)).astype(numpy_type(kind))


def drawn(numbers, shape, kind, operator, index):
    """Small numbers mostly; one float tensor in ten has a zero or an infinity, one of integers in four the whole range."""
    divisor = operator in ("Div", "Mod") and index == 1
    if kind == TensorProto.BOOL:
        return numbers.random(shape) < 0.5
    if is_float(kind):
        array = np.asarray(numbers.standard_normal(shape) * numbers.choice([0.5, 1, 4]))
        if numbers.random() < 0.1 and array.size:
            array.ravel()[numbers.integers(array.size)] = numbers.choice([0.0, -0.0, np.inf, -np.inf])
        return converted(np.where(np.abs(array) < 0.1, 1, array) if divisor else array, kind)
    if operator == "BitShift" and index == 1:
        return np.asarray(numbers.integers(0, 8, shape)).astype(numpy_type(kind))
    whole = numbers.random() < 0.25 and operator != "Pow"
    low, high = (max(bounds(kind)[0], -(2**62) if whole else -8), min(bounds(kind)[1], 2**62 if whole else 9))
    array = np.asarray(numbers.integers(low, high, shape, endpoint=True))
    return (np.where(array == 0, 1, array) if divisor else array).astype(numpy_type(kind))


def template_of(test):
    """(name, model, arrays) of a node test; nothing if it is of another form."""
    model = test.model or onnx.load(pathlib.Path(test.model_dir) / "model.onnx")
    graph = model.graph
    values = [*graph.input, *graph.output]
    if len(graph.node) != 1 or graph.initializer or RANDOM.search(graph.node[0].op_type):
        return None
    if any(attribute.g.node or attribute.graphs for attribute in graph.node[0].attribute):
        return None
    if any(value.type.WhichOneof("value") != "tensor_type" or type_of(value) == TensorProto.STRING for value in values):
        return None
    if test.model is not None:
        arrays = [numpy_helper.to_array(data) if isinstance(data, TensorProto) else np.asarray(data) for data in test.data_sets[0][0]]
    else:
        folder = pathlib.Path(test.model_dir) / "test_data_set_0"
        arrays = [numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb")) for i in range(len(graph.input))]
    return (test.name, model.SerializeToString(), arrays) if sum(array.size for array in arrays) <= MOST_ELEMENTS else None


def templates(pattern):
    """Node tests with names that contain `pattern`."""
    return [found for test in load_model_tests(kind="node") if re.search(pattern, test.name) and (found := template_of(test))]


def make_case(seed, all_templates):
    pick, numbers = random.Random(seed), np.random.default_rng(seed)
    name, text, arrays = pick.choice(all_templates)
    model = onnx.ModelProto.FromString(text)
    graph, node = model.graph, model.graph.node[0]
    version = next((entry.version for entry in model.opset_import if entry.domain == node.domain), 0)
    schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    allowed = {entry.type_param_str: sorted({kind_named(text) for text in entry.allowed_type_strs} - {None}) for entry in schema.type_constraints}
    keep_types, kinds, inputs = pick.random() < 0.1, {}, {}
    position = {value.name: i for i, value in enumerate(graph.input)}
    for value in [value for value in graph.input if value.name not in node.input]:
        graph.input.remove(value)
    values = {value.name: value for value in graph.input}
    for i, value in enumerate(values[wire] if wire else None for wire in node.input):
        if value is None:
            continue
        parameter = schema.inputs[min(i, len(schema.inputs) - 1)].type_str
        choices = allowed.get(parameter, [])
        kind = kinds.setdefault(parameter, pick.choice(choices) if choices and not keep_types else type_of(value))
        sizes = not choices or set(choices) <= SMALL or parameter.lower().startswith("tind")
        sizes = sizes or node.op_type in ALL_SIZES or (node.op_type in SIZES and i > 0)
        array = arrays[position[value.name]]
        fixed = sizes or pick.random() < FIXED_NUMBERS
        inputs[value.name] = converted(array, kind) if fixed else drawn(numbers, array.shape, kind, node.op_type, i)
        value.type.tensor_type.elem_type = kind
    outputs = {value.name: value for value in graph.output}
    for i, value in enumerate(outputs[wire] if wire else None for wire in node.output):
        if value is None:
            continue
        parameter = schema.outputs[min(i, len(schema.outputs) - 1)].type_str
        if parameter in kinds:
            value.type.tensor_type.elem_type = kinds[parameter]
        elif node.op_type == "Cast" and not keep_types:
            value.type.tensor_type.elem_type = pick.choice(allowed[parameter])
            next(attribute for attribute in node.attribute if attribute.name == "to").i = type_of(value)
        value.type.tensor_type.ClearField("shape")
        if parameter not in kinds and node.op_type != "Cast":
            value.ClearField("type")  # inference says what follows from attributes and inputs
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    outputs = {value.name: value for value in model.graph.output}
    for i, value in enumerate(outputs[wire] if wire else None for wire in node.output):
        choices = value and allowed.get(schema.outputs[min(i, len(schema.outputs) - 1)].type_str)
        if choices and type_of(value) not in choices:
            raise ValueError(f"{value.name} may not have this type")
    return Case(seed, name, model, inputs)
