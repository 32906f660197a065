#!/usr/bin/env python3
"""Makes zoo/sensors.onnx.xz: a network for what a person does, from eight sensors on the body, with a tower of convolutions for each.

    python sensors.py             # needs the onnx package

Each tower sees the six signals of one sensor (acceleration and rotation along three axes, 128 samples); the last layer sees
what all towers made of them. A tower is a chain of small nodes: too small to be shared among cores, one tower a core is not. Weights
are a short pattern of seeded noise, repeated: the model is there for its structure.
"""
import lzma
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).resolve().parent / "zoo" / "sensors.onnx.xz"
SENSORS, SIGNALS, SAMPLES, CLASSES = 8, 6, 128, 12
# Channels and stride of each convolution of a tower, three samples wide.
TOWER = [(32, 1)] * 8 + [(48, 2)] + [(48, 1)] * 8 + [(64, 2)] + [(64, 1)] * 8
OPSET = 17
PERIOD, STEP = 1009, 13  # as in export.py: the pattern's length, and how far on each weight begins


class Builder:
    def __init__(self):
        self.nodes, self.weights = [], []
        self.pattern = np.random.default_rng(0).standard_normal(PERIOD)

    def weight(self, name, values):
        self.weights.append(numpy_helper.from_array(values.astype(np.int64 if values.dtype == int else np.float32), name))
        return name

    def noise(self, name, shape, fan_in):
        self.pattern = np.roll(self.pattern, STEP)
        return self.weight(name, np.resize(self.pattern, shape) * (2 / fan_in) ** 0.5)

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def tower(self, k, value):
        before = SIGNALS
        for depth, (channels, stride) in enumerate(TOWER):
            name = f"sensor{k}/conv{depth}"
            inputs = [value, self.noise(f"{name}/weight", (channels, before, 3), 3 * before), self.noise(f"{name}/bias", channels, 1e4)]
            value = self.node("Relu", [self.node("Conv", inputs, name, kernel_shape=[3], strides=[stride], pads=[1, 1])], f"{name}/relu")
            before = channels
        return self.node("GlobalAveragePool", [value], f"sensor{k}/mean")


def model():
    b = Builder()
    signals = helper.make_tensor_value_info("signals", TensorProto.FLOAT, [1, SENSORS * SIGNALS, SAMPLES])
    parts = [f"sensor{k}" for k in range(SENSORS)]
    b.nodes.append(helper.make_node("Split", ["signals", b.weight("sizes", np.array([SIGNALS] * SENSORS))], parts, name="split", axis=1))
    joined = b.node("Concat", [b.tower(k, part) for k, part in enumerate(parts)], "joined", axis=1)
    width = SENSORS * TOWER[-1][0]
    b.node("Gemm", [b.node("Flatten", [joined], "features"), b.noise("last/weight", (width, CLASSES), width), b.noise("last/bias", CLASSES, 1e4)], "activity")
    graph = helper.make_graph(b.nodes, "sensors", [signals], [helper.make_tensor_value_info("activity", TensorProto.FLOAT, [1, CLASSES])], b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def main():
    data = model().SerializeToString()
    OUT.write_bytes(lzma.compress(data, preset=6))
    print(f"{OUT.name}: {len(data)} bytes, {OUT.stat().st_size} packed")


if __name__ == "__main__":
    main()
