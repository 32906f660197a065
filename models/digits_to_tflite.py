#!/usr/bin/env python3
"""Makes digits/digits.tflite of digits/digits.onnx: the same network with images in NHWC, as TFLite has them, behind a Transpose of
the input, and activations that are part of the convolutions. The batch is open, so the same images serve both files.

    python digits_to_tflite.py    # needs the packages onnx, flatbuffers and ai-edge-litert
"""
import pathlib

import flatbuffers
import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import numpy_helper, shape_inference

HERE = pathlib.Path(__file__).resolve().parent / "digits"
CODE, OPTIONS = schema.BuiltinOperator, schema.BuiltinOptions
NONE, RELU = schema.ActivationFunctionType.NONE, schema.ActivationFunctionType.RELU
TYPES = {np.dtype(np.float32): schema.TensorType.FLOAT32, np.dtype(np.int32): schema.TensorType.INT32}
SCHEMA_VERSION, IDENTIFIER = 3, b"TFL3"
TO_NHWC = [0, 2, 3, 1]


def table(kind, **fields):
    """A table of the schema with these fields."""
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Writer:
    """Appends tensors and operators to one subgraph."""

    def __init__(self):
        self.buffers, self.codes = [schema.BufferT()], []
        self.graph = table(schema.SubGraphT, name="main", tensors=[], operators=[], inputs=[], outputs=[])

    def tensor(self, name, shape, kind=schema.TensorType.FLOAT32, buffer=0):
        """A tensor; a dimension of -1 is open."""
        known = [max(n, 1) for n in shape]
        self.graph.tensors.append(table(schema.TensorT, name=name, shape=known, shapeSignature=shape if -1 in shape else None, type=kind, buffer=buffer))
        return len(self.graph.tensors) - 1

    def constant(self, name, values):
        values = np.ascontiguousarray(values)
        self.buffers.append(table(schema.BufferT, data=np.frombuffer(values.tobytes(), np.uint8)))
        return self.tensor(name, list(values.shape), TYPES[values.dtype], len(self.buffers) - 1)

    def op(self, code, inputs, output, kind, options):
        if code not in self.codes:
            self.codes.append(code)
        self.graph.operators.append(table(schema.OperatorT, opcodeIndex=self.codes.index(code), inputs=inputs, outputs=[output],
                                          builtinOptionsType=kind, builtinOptions=options))
        return output

    def file(self, description):
        codes = [table(schema.OperatorCodeT, deprecatedBuiltinCode=code, builtinCode=code, version=1) for code in self.codes]
        model = table(schema.ModelT, version=SCHEMA_VERSION, description=description, operatorCodes=codes, subgraphs=[self.graph], buffers=self.buffers)
        builder = flatbuffers.Builder(0)
        builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
        return bytes(builder.Output())


class Translation:
    """Nodes of the ONNX file, one after the other."""

    def __init__(self, model):
        self.graph = model.graph
        self.weights = {each.name: numpy_helper.to_array(each) for each in self.graph.initializer}
        inferred = shape_inference.infer_shapes(model).graph
        values = [*inferred.input, *inferred.value_info, *inferred.output]
        self.shapes = {v.name: [d.dim_value or -1 for d in v.type.tensor_type.shape.dim] for v in values}
        self.writer, self.places = Writer(), {}

    def result(self, name):
        shape = self.shapes[name]
        self.places[name] = self.writer.tensor(name, [shape[i] for i in TO_NHWC] if len(shape) == len(TO_NHWC) else shape)
        return self.places[name]

    def image(self, name):
        place = self.writer.tensor(name, self.shapes[name])
        turned = self.writer.tensor(f"{name}/nhwc", [self.shapes[name][i] for i in TO_NHWC])
        self.writer.graph.inputs = [place]
        perm = self.writer.constant("to_nhwc", np.array(TO_NHWC, np.int32))
        self.places[name] = self.writer.op(CODE.TRANSPOSE, [place, perm], turned, OPTIONS.TransposeOptions, schema.TransposeOptionsT())

    def conv(self, node, given, output):
        filters = self.writer.constant(node.input[1], self.weights[node.input[1]].transpose(TO_NHWC))
        bias = self.writer.constant(node.input[2], self.weights[node.input[2]])
        rows, columns = given["dilations"]
        options = table(schema.Conv2DOptionsT, padding=schema.Padding.SAME, strideH=1, strideW=1, dilationHFactor=rows, dilationWFactor=columns, fusedActivationFunction=RELU)
        self.writer.op(CODE.CONV_2D, [self.places[node.input[0]], filters, bias], self.result(output), OPTIONS.Conv2DOptions, options)

    def pool(self, node, given):
        padding = schema.Padding.SAME if any(given["pads"]) else schema.Padding.VALID
        (height, width), (down, right) = given["kernel_shape"], given["strides"]
        options = table(schema.Pool2DOptionsT, padding=padding, strideH=down, strideW=right, filterHeight=height, filterWidth=width, fusedActivationFunction=NONE)
        self.writer.op(CODE.MAX_POOL_2D, [self.places[node.input[0]]], self.result(node.output[0]), OPTIONS.Pool2DOptions, options)

    def concat(self, node, given):
        options = table(schema.ConcatenationOptionsT, axis=TO_NHWC.index(given["axis"]), fusedActivationFunction=NONE)
        self.writer.op(CODE.CONCATENATION, [self.places[name] for name in node.input], self.result(node.output[0]), OPTIONS.ConcatenationOptions, options)

    def mean(self, node, given):
        axes = self.writer.constant("rows_and_columns", np.array([TO_NHWC.index(axis) for axis in given["axes"]], np.int32))
        self.writer.op(CODE.MEAN, [self.places[node.input[0]], axes], self.result(node.output[0]), OPTIONS.ReducerOptions, table(schema.ReducerOptionsT, keepDims=False))

    def gemm(self, node, _):
        weights, bias = (self.writer.constant(name, self.weights[name]) for name in node.input[1:])
        options = table(schema.FullyConnectedOptionsT, fusedActivationFunction=NONE)
        self.writer.op(CODE.FULLY_CONNECTED, [self.places[node.input[0]], weights, bias], self.result(node.output[0]), OPTIONS.FullyConnectedOptions, options)

    def run(self):
        kinds = {"MaxPool": self.pool, "Concat": self.concat, "ReduceMean": self.mean, "Gemm": self.gemm}
        self.image(self.graph.input[0].name)
        relu_of = {node.input[0]: node.output[0] for node in self.graph.node if node.op_type == "Relu"}
        for node in self.graph.node:
            given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Conv":
                self.conv(node, given, relu_of[node.output[0]])
            elif node.op_type != "Relu":
                kinds[node.op_type](node, given)
        self.writer.graph.outputs = [self.places[self.graph.output[0].name]]
        return self.writer.file("handwritten digits")


def main():
    made = Translation(onnx.load(HERE / "digits.onnx")).run()
    (HERE / "digits.tflite").write_bytes(made)
    print(f"digits.tflite: {len(made)} bytes")


if __name__ == "__main__":
    main()
