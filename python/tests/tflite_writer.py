"""Writes small TFLite files with the classes of LiteRT's package, for tests that compare with LiteRT anyway."""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

_TYPES = {"float32": schema.TensorType.FLOAT32, "int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8,
          "int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64, "bool": schema.TensorType.BOOL}


class Writer:
    """One subgraph: tensors are numbers, which tensor() and constant() return and op() takes."""

    def __init__(self):
        self.graph = schema.SubGraphT()
        self.graph.name, self.graph.tensors, self.graph.operators = b"main", [], []
        self.buffers, self.codes = [schema.BufferT()], []

    def tensor(self, name, shape, dtype="float32", scale=None, zero=0, axis=0, variable=False):
        """A dimension of -1 is free. A variable keeps its value from run to run. `scale` is a number, or one for each index of `axis`."""
        made = schema.TensorT()
        made.name, made.type, made.buffer, made.isVariable = name.encode(), _TYPES[dtype], 0, variable
        made.shape, made.shapeSignature = [abs(size) for size in shape], list(shape) if -1 in shape else None
        if scale is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = np.atleast_1d(np.array(scale, np.float32))
            made.quantization.zeroPoint = np.full(len(made.quantization.scale), zero, np.int64)
            made.quantization.quantizedDimension = axis
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def constant(self, name, array, **quantization):
        number = self.tensor(name, array.shape, array.dtype.name, **quantization)
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        self.graph.tensors[number].buffer = len(self.buffers)
        self.buffers.append(buffer)
        return number

    def op(self, name, inputs, outputs, version=1, **options):
        """Options are those of the class NAMEOptions, by attribute."""
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = len(self.codes), inputs, outputs
        words = {"CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "MEAN": "Reducer", "RNN": "RNN"}
        kind = words.get(name, name.title().replace("_", "")) + "Options"
        if hasattr(schema, kind + "T"):
            made.builtinOptions, made.builtinOptionsType = getattr(schema, kind + "T")(), getattr(schema.BuiltinOptions, kind)
            for key, value in options.items():
                assert hasattr(made.builtinOptions, key), key
                setattr(made.builtinOptions, key, value)
        self.codes.append(code)
        self.graph.operators.append(made)

    def model(self, inputs, outputs, signature=""):
        """The bytes of the file; a signature names inputs and outputs as the tensors are named."""
        self.graph.inputs, self.graph.outputs = inputs, outputs
        model = schema.ModelT()
        model.version, model.description = 3, b"made by a test"
        model.subgraphs, model.buffers, model.operatorCodes = [self.graph], self.buffers, self.codes
        if signature:
            made = schema.SignatureDefT()
            made.signatureKey, made.subgraphIndex = signature.encode(), 0
            made.inputs, made.outputs = ([self._entry(number) for number in numbers] for numbers in (inputs, outputs))
            model.signatureDefs = [made]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _entry(self, number):
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = self.graph.tensors[number].name, number
        return entry
