"""Conversions between values of Python and arrays, for all that the compiled module cannot use in place. It calls these functions."""
import functools
import types
import typing

import numpy
import numpy.typing

Array: typing.TypeAlias = numpy.typing.NDArray[typing.Any]

_BITS = {  # types of ml_dtypes whose elements have bytes of their own, and NumPy's type of the same size
    "bfloat16": "uint16",
    **dict.fromkeys(["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"], "uint8"),
}
_WIDE = {"float4_e2m1fn": "float32", "int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}


@functools.cache
def _ml_dtypes() -> types.ModuleType | None:
    """The package, None if it is not installed: importing it takes as long as Parallax, and few models have its types."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes


def _type(name: str) -> typing.Any:
    """NumPy's type; None for one of ml_dtypes that is not installed."""
    return getattr(_ml_dtypes(), name, None) if name in _BITS or name in _WIDE else name


def dense(value: typing.Any, name: str) -> Array:
    """A dense, aligned array in the machine's byte order, whose elements are those of `value`: copied only where `value` is not so already.

    An array keeps its type, for the library to check. Numbers and lists, which have no type, become arrays of the type `name`. Types of
    ml_dtypes become their bits or wider elements: _BITS, _WIDE.
    """
    wanted = _type(name)
    if hasattr(value, "__dlpack__") and not isinstance(value, numpy.ndarray):
        array: Array = numpy.from_dlpack(value)
    elif isinstance(value, (bool, int, float, list, tuple)):
        array = numpy.asarray(value, wanted or _BITS.get(name) or _WIDE[name])
    else:
        array = numpy.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array = numpy.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
    if wanted is not None and array.dtype == wanted and name in _BITS:
        return array.view(_BITS[name])
    if wanted is not None and array.dtype == wanted and name in _WIDE:
        return array.astype(_WIDE[name])
    return array


def named(array: Array, name: str) -> Array:
    """The array of bits or of wider elements as one of the type `name`; itself without ml_dtypes."""
    wanted = _type(name)
    if wanted is None:
        return array
    return array.view(wanted) if name in _BITS else array.astype(wanted)


def empty(shape: tuple[int, ...], name: str) -> Array:
    """An array whose elements are not set, of the type that outputs of the type `name` have."""
    dtype = object if name == "string" else _type(name) or _BITS.get(name) or _WIDE[name]
    return numpy.empty(shape, dtype)


def strings(value: typing.Any) -> tuple[tuple[int, ...], list[str]]:
    """(shape, list of str) of one str, a list or an array."""
    array: Array = numpy.asarray(value, object)
    return array.shape, [text.decode() if isinstance(text, bytes) else str(text) for text in array.ravel()]


def from_strings(texts: list[str], shape: tuple[int, ...]) -> Array:
    """An array of str objects."""
    array: Array = numpy.empty(len(texts), object)
    array[:] = texts
    return array.reshape(shape)


def from_map(keys: Array, values: Array) -> dict[typing.Any, typing.Any]:
    """A dict of two arrays."""
    return dict(zip(keys.tolist(), values.tolist()))
