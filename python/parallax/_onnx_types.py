"""Element types under the numbers that ONNX gives them and the names that ONNX Runtime does."""
import typing

import numpy
import numpy.typing

# The number of each type in TensorProto.DataType.
NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4_e2m1fn": 23,
}
_RUNTIME_NAMES = {"float32": "float", "float64": "double"}  # others lose their underscores


def runtime_name(name: str) -> str:
    """ONNX Runtime's word for a type: "float" for "float32"."""
    return _RUNTIME_NAMES.get(name, name.replace("_", ""))


def name_of(dtype: numpy.dtype[typing.Any]) -> str:
    """The name of an array's type; arrays of objects have strings."""
    return "string" if dtype.kind in "OSU" else dtype.name


def dtype_of(element_type: int | numpy.typing.DTypeLike | None) -> numpy.dtype[typing.Any]:
    """NumPy's type, given as itself or by its number in ONNX."""
    if not isinstance(element_type, int):
        return numpy.dtype(element_type)
    name = {number: name for name, number in NUMBERS.items()}[element_type]
    return numpy.dtype(object if name == "string" else name)
