"""OrtValue and IOBinding of parallax.onnxruntime: values of the CPU that have the interface of ONNX Runtime's."""
import ctypes
import typing

import numpy
import numpy.typing

from . import _onnx_types
from ._arrays import Array

_CPU = "cpu"


def _check_device(device_type: str) -> None:
    if device_type not in (_CPU, "cuda_pinned"):
        raise ValueError(f"values of the device '{device_type}' do not exist here: only those of 'cpu'")


def _from_memory(address: int, shape: typing.Sequence[int], element_type: numpy.typing.DTypeLike) -> Array:
    """The array at an address, which its owner keeps."""
    dtype: numpy.dtype[typing.Any] = numpy.dtype(element_type)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(address)
    return numpy.frombuffer(memoryview(memory), dtype, count).reshape(shape)


class OrtValue:
    """A tensor, or another value of a model, in the memory of the CPU."""

    def __init__(self, value: typing.Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Array, device_type: str = _CPU, device_id: int = 0, vendor_id: int = -1) -> "OrtValue":
        """The array itself, which is not copied."""
        del device_id, vendor_id
        _check_device(device_type)
        return OrtValue(numpy.ascontiguousarray(numpy_obj))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: typing.Sequence[int], element_type: numpy.typing.DTypeLike = numpy.float32, device_type: str = _CPU,
                                     device_id: int = 0, vendor_id: int = -1) -> "OrtValue":
        """A new array, whose elements are not set."""
        del device_id, vendor_id
        _check_device(device_type)
        return OrtValue(numpy.empty(shape, element_type))

    @staticmethod
    def from_dlpack(data: typing.Any, is_bool_tensor: bool = False) -> "OrtValue":
        """An object with __dlpack__, which is not copied."""
        array = numpy.from_dlpack(data)
        return OrtValue(array.view(numpy.bool_) if is_bool_tensor else array)

    def numpy(self) -> typing.Any:
        """The array; the value itself if it is no tensor."""
        return self._value

    def shape(self) -> list[int]:
        """The list of its dimensions."""
        return list(self._value.shape)

    def data_type(self) -> str:
        """ONNX Runtime's word for the type: "tensor(float)"."""
        return f"tensor({_onnx_types.runtime_name(_onnx_types.name_of(self._value.dtype))})" if self.is_tensor() else type(self._value).__name__

    def element_type(self) -> int:
        """The number of the element type in ONNX."""
        return _onnx_types.NUMBERS[_onnx_types.name_of(self._value.dtype)]

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._value.ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        """The bytes of all elements."""
        return int(self._value.nbytes)

    def device_name(self) -> str:
        """The CPU."""
        return _CPU

    def has_value(self) -> bool:
        """Whether there is one: an optional may be None."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether it is an array."""
        return isinstance(self._value, numpy.ndarray)

    def is_sparse_tensor(self) -> bool:
        """False: Parallax has none."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a list of arrays."""
        return isinstance(self._value, list)

    def update_inplace(self, np_arr: Array) -> None:
        """Copies the elements of an array of the same shape and type."""
        if np_arr.shape != self._value.shape or np_arr.dtype != self._value.dtype:
            raise ValueError(f"the array is {np_arr.dtype}{list(np_arr.shape)}, the value {self._value.dtype}{self.shape()}")
        numpy.copyto(self._value, np_arr)

    def __dlpack__(self, **keywords: typing.Any) -> typing.Any:
        return self._value.__dlpack__(**keywords)

    def __dlpack_device__(self) -> typing.Any:
        return self._value.__dlpack_device__()


class IOBinding:
    """The inputs and outputs of later runs of one session: InferenceSession.run_with_iobinding(). Not thread-safe."""

    def __init__(self, session: object) -> None:
        del session  # a program says whose binding it is, and then gives it to that session
        self._inputs: dict[str, typing.Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Reads an array in the runs that follow."""
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: int | numpy.typing.DTypeLike, shape: typing.Sequence[int],
                   buffer_ptr: int) -> None:
        """Reads the memory at an address, which must stay valid."""
        del device_id
        _check_device(device_type)
        self._inputs[name] = _from_memory(buffer_ptr, shape, _onnx_types.dtype_of(element_type))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Reads a value."""
        self._inputs[name] = ortvalue.numpy()

    def bind_output(self, name: str, device_type: str = _CPU, device_id: int = 0, element_type: int | numpy.typing.DTypeLike | None = None,
                    shape: typing.Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """Asks for an output; it is copied to the address if there is one."""
        del device_id
        _check_device(device_type)
        given = None if buffer_ptr is None else _from_memory(buffer_ptr, shape or (), _onnx_types.dtype_of(element_type))
        self._outputs[name] = None if given is None else OrtValue(given)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Asks for an output that is copied into a value."""
        self._outputs[name] = ortvalue

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs."""
        self._outputs.clear()
        self._results.clear()

    def synchronize_inputs(self) -> None:
        """Does nothing: copies have ended."""

    def synchronize_outputs(self) -> None:
        """Does nothing: runs have ended."""

    def get_outputs(self) -> list[OrtValue]:
        """The values of the last run, in the order in which outputs were bound."""
        return [self._results[name] for name in self._outputs if name in self._results]

    def copy_outputs_to_cpu(self) -> list[typing.Any]:
        """Their arrays."""
        return [value.numpy() for value in self.get_outputs()]

    def _run(self, run: typing.Callable[[list[str], dict[str, typing.Any]], list[typing.Any]]) -> None:
        for name, array in zip(self._outputs, run(list(self._outputs), self._inputs), strict=True):
            given = self._outputs[name]
            if given is None:
                self._results[name] = OrtValue(array)
                continue
            given.update_inplace(array)
            self._results[name] = given
