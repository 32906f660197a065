"""LiteRT's Interpreter over Parallax: `from parallax.tflite import Interpreter`.

Methods, details and exceptions are those of ai_edge_litert.interpreter and tflite_runtime.interpreter. Tensors between inputs and outputs
cannot be read. Keywords that parallax.Session has, such as `budget`, may be given to Interpreter too.
"""
import enum
import os
import typing

import numpy

from . import Error, FileSignature, FileTensor, Model, Session, State, inspect
from ._arrays import Array

__all__ = ["Interpreter", "OpResolverType", "SignatureRunner", "load_delegate"]
_Details: typing.TypeAlias = dict[str, typing.Any]
_File: typing.TypeAlias = str | os.PathLike[str] | bytes


class OpResolverType(enum.Enum):
    """Has no effect: Parallax has kernels of its own."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


def load_delegate(library: str, options: typing.Any = None) -> typing.NoReturn:
    """Raises ValueError, as for a library that is not there: delegates of TFLite cannot be loaded."""
    del options
    raise ValueError(f"delegates of TFLite cannot be loaded, '{library}' neither")


def _dtype(name: str) -> type[numpy.generic]:
    return numpy.bytes_ if name == "string" else numpy.dtype(name).type


def _shape(tensor: FileTensor) -> tuple[int | str | None, ...]:
    return tensor.shape or ()


def _details(tensor: FileTensor, shape: typing.Sequence[int]) -> _Details:
    quantization = tensor.quantization
    scales, zeros = quantization.scales, quantization.zero_points
    return {
        "name": tensor.name, "index": tensor.index, "shape": numpy.array(shape, numpy.int32),
        "shape_signature": numpy.array([-1 if size is None else size for size in _shape(tensor)], numpy.int32), "dtype": _dtype(tensor.type),
        "quantization": (scales[0], zeros[0]) if len(scales) == 1 else (0.0, 0),
        "quantization_parameters": {"scales": numpy.array(scales, numpy.float32), "zero_points": numpy.array(zeros, numpy.int32),
                                    "quantized_dimension": quantization.axis, "block_size": 0},
        "sparsity_parameters": {},
    }


def _smallest(tensor: FileTensor) -> list[int]:
    return [size if isinstance(size, int) else 1 for size in _shape(tensor)]


class _Tensors:
    """The values of one computation of a file: arrays of its inputs, kept, and of its outputs, from the last run. Not thread-safe."""

    def __init__(self, file: _File, inputs: typing.Sequence[FileTensor], outputs: typing.Sequence[FileTensor], signature: str,
                 keywords: dict[str, typing.Any]) -> None:
        self._file, self._signature, self._keywords = file, signature, keywords
        self.inputs, self.outputs = inputs, outputs
        self._sizes = {tensor.name: _smallest(tensor) for tensor in inputs}
        self._session: Session | None = None
        self._state: State | None = None
        self._changed: set[str] = set()  # inputs whose size is not that of the file
        self.values: dict[str, Array] = {}
        self.results: dict[str, Array] = {}
        self._open()

    def _open(self) -> None:
        sizes = {name: self._sizes[name] for name in self._changed}
        model = Model(self._file, signature=self._signature, inputs=sizes)
        self._session = Session(model, **self._keywords)
        self._state = State(self._session) if model.ties else None

    def resize(self, tensor: FileTensor, shape: list[int], strict: bool) -> None:
        declared = _shape(tensor)
        fits = len(shape) == len(declared) and all(size in (None, wanted) for size, wanted in zip(declared, shape))
        if strict and not fits:
            raise RuntimeError(f"the shape {shape} of '{tensor.name}' contradicts {tensor.shape}")
        self._sizes[tensor.name] = shape
        changed = self._changed - {tensor.name} if fits else self._changed | {tensor.name}
        if changed or self._changed:
            self._changed = changed
            self._session = None
        self.values.pop(tensor.name, None)

    def allocate(self) -> None:
        """Makes inputs of zeros that have no value of their size yet."""
        if self._session is None:
            self._open()
        for tensor in self.inputs:
            if tensor.name not in self.values:
                text = tensor.type == "string"
                self.values[tensor.name] = numpy.full(self._sizes[tensor.name], b"", object) if text else numpy.zeros(self._sizes[tensor.name], tensor.type)

    def shape(self, tensor: FileTensor) -> typing.Sequence[int]:
        if tensor.name in self._sizes:
            return self._sizes[tensor.name]
        result = self.results.get(tensor.name)
        return _smallest(tensor) if result is None else result.shape

    def set(self, tensor: FileTensor, value: typing.Any) -> None:
        value = numpy.asarray(value)
        wanted, given = _dtype(tensor.type), value.dtype.type
        text = tensor.type == "string"
        if not text and given is not wanted:
            raise ValueError(f"cannot set tensor '{tensor.name}': got a value of type {value.dtype.name}, expected {tensor.type}")
        shape = tuple(self._sizes[tensor.name])
        if value.shape != shape:
            raise ValueError(f"cannot set tensor '{tensor.name}': got a value of shape {value.shape}, expected {shape}")
        numpy.copyto(self.values[tensor.name], value.astype(object) if text else value)

    def run(self) -> None:
        assert self._session is not None, "allocate() comes first"
        try:
            outputs = self._session.run(self.values, [tensor.name for tensor in self.outputs], state=self._state)
        except Error as error:
            raise RuntimeError(str(error)) from error
        for tensor in self.outputs:
            array = outputs[tensor.name]
            if tensor.type == "string":
                array = numpy.array([text.encode() for text in array.ravel()], object).reshape(array.shape)
            self.results[tensor.name] = array

    def reset(self) -> None:
        if self._state is not None:
            self._state.reset()


class SignatureRunner:
    """One computation of a file, called with its inputs by name: runner(x=array) returns {name: array}. Not thread-safe."""

    def __init__(self, file: _File, signature: FileSignature, keywords: dict[str, typing.Any]) -> None:
        self._tensors = _Tensors(file, signature.inputs, signature.outputs, signature.name, keywords)

    def __call__(self, **inputs: typing.Any) -> dict[str, Array]:
        tensors = self._tensors
        names = {tensor.name for tensor in tensors.inputs}
        if inputs.keys() != names:
            raise ValueError(f"the signature has the inputs {sorted(names)}, given are {sorted(inputs)}")
        for tensor in tensors.inputs:
            value = numpy.asarray(inputs[tensor.name])
            if value.shape != tuple(tensors.shape(tensor)):
                tensors.resize(tensor, list(value.shape), False)
        tensors.allocate()
        for tensor in tensors.inputs:
            tensors.set(tensor, inputs[tensor.name])
        tensors.run()
        return dict(tensors.results)

    def get_input_details(self) -> dict[str, _Details]:
        """{name: details}, which are those of Interpreter.get_input_details()."""
        return {tensor.name: _details(tensor, self._tensors.shape(tensor)) for tensor in self._tensors.inputs}

    def get_output_details(self) -> dict[str, _Details]:
        """{name: details} of the outputs."""
        return {tensor.name: _details(tensor, self._tensors.shape(tensor)) for tensor in self._tensors.outputs}


class Interpreter:
    """A TFLite model, from a path or from bytes. One thread at a time may use it; `num_threads` None: as many as there are cores.

    >>> interpreter = Interpreter(model_content=running_sum)  # y = y + x, from 10 on
    >>> interpreter.allocate_tensors()
    >>> interpreter.set_tensor(interpreter.get_input_details()[0]["index"], numpy.array([2], numpy.float32))
    >>> interpreter.invoke()
    >>> interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).item()
    12.0
    """

    def __init__(self, model_path: str | os.PathLike[str] | None = None, experimental_delegates: typing.Any = None, num_threads: int | None = None,
                 experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO, experimental_preserve_all_tensors: bool = False,
                 experimental_disable_delegate_clustering: bool = False, experimental_default_delegate_latest_features: bool = False,
                 model_content: bytes | None = None, **keywords: typing.Any) -> None:
        del experimental_op_resolver_type, experimental_disable_delegate_clustering, experimental_default_delegate_latest_features
        del experimental_preserve_all_tensors
        if (model_path is None) == (model_content is None):
            raise ValueError("an interpreter needs either a path or the bytes of a model")
        if experimental_delegates:
            raise ValueError("delegates of TFLite cannot be used")
        keywords["threads"] = max(num_threads or 0, 0)
        self._keywords = keywords
        self._file = typing.cast(_File, model_content if model_path is None else os.fspath(model_path))
        try:
            report = inspect(self._file)
            if report.format != "TFLite":
                raise ValueError(f"the model is {report.format}, not TFLite")
            self._signatures = {signature.name: signature for signature in report.signatures}
            self._tensors = _Tensors(self._file, report.inputs, report.outputs, "", keywords)
        except Error as error:
            raise ValueError(str(error)) from error
        self._inputs = {tensor.index: tensor for tensor in report.inputs}
        self._outputs = {tensor.index: tensor for tensor in report.outputs}
        self._allocated = False

    def allocate_tensors(self) -> None:
        """Must be called before the tensors are used, and after a size has changed."""
        try:
            self._tensors.allocate()
        except Error as error:
            raise RuntimeError(str(error)) from error
        self._allocated = True

    def get_input_details(self) -> list[_Details]:
        """A list of dicts: name, index, shape, shape_signature, dtype, quantization, quantization_parameters, sparsity_parameters."""
        return [_details(tensor, self._tensors.shape(tensor)) for tensor in self._tensors.inputs]

    def get_output_details(self) -> list[_Details]:
        """The same for the outputs; sizes that a run determines are 1 before it."""
        return [_details(tensor, self._tensors.shape(tensor)) for tensor in self._tensors.outputs]

    def get_tensor_details(self) -> list[_Details]:
        """The details of inputs and outputs, in the order of their indices."""
        return sorted(self.get_input_details() + self.get_output_details(), key=lambda details: details["index"])

    def resize_tensor_input(self, input_index: int, tensor_size: typing.Iterable[int], strict: bool = False) -> None:
        """Gives an input another shape; `strict` allows only dimensions that the file leaves open."""
        self._tensors.resize(self._input(input_index), [int(size) for size in tensor_size], strict)
        self._allocated = False

    def set_tensor(self, tensor_index: int, value: typing.Any) -> None:
        """Copies an array of the input's type and shape."""
        tensor = self._input(tensor_index)
        self._check_allocated(ValueError)
        self._tensors.set(tensor, value)

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> Array:
        """A copy of an input or output."""
        return self._array(tensor_index, subgraph_index).copy()

    def tensor(self, tensor_index: int) -> typing.Callable[[], Array]:
        """A function that returns the array itself: to be called again after each invoke()."""
        return lambda: self._array(tensor_index)

    def invoke(self) -> None:
        """Runs the model on the inputs that are set; inputs that are not are zeros."""
        self._check_allocated(RuntimeError)
        self._tensors.run()

    def reset_all_variables(self) -> None:
        """Gives variables their first values."""
        self._tensors.reset()

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """{signature: {"inputs": names, "outputs": names}}."""
        return {name: {"inputs": sorted(tensor.name for tensor in signature.inputs),
                       "outputs": sorted(tensor.name for tensor in signature.outputs)} for name, signature in self._signatures.items()}

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """A SignatureRunner; the key may be left out if the file has one signature. It has variables of its own."""
        keys = list(self._signatures)
        if signature_key is None:
            if len(keys) != 1:
                raise ValueError(f"the signature must be named: the file has {keys}")
            signature_key = keys[0]
        if signature_key not in self._signatures:
            raise ValueError(f"the file has no signature '{signature_key}': it has {keys}")
        return SignatureRunner(self._file, self._signatures[signature_key], self._keywords)

    def _input(self, index: int) -> FileTensor:
        if index not in self._inputs:
            raise ValueError(f"tensor {index} is no input: these are {sorted(self._inputs)}")
        return self._inputs[index]

    def _check_allocated(self, error: type[Exception]) -> None:
        if not self._allocated:
            raise error("the tensors have no memory: call allocate_tensors()")

    def _array(self, index: int, subgraph: int = 0) -> Array:
        tensor = self._inputs.get(index) or self._outputs.get(index)
        if tensor is None or subgraph != 0:
            raise ValueError(f"tensor {index} is neither input nor output: these are {sorted({**self._inputs, **self._outputs})}")
        self._check_allocated(ValueError)
        found = self._tensors.values.get(tensor.name) if index in self._inputs else self._tensors.results.get(tensor.name)
        if found is None:
            raise ValueError(f"output '{tensor.name}' has no value yet: call invoke()")
        return found
