"""Models with branches next to what a delegate would run: several sensors, and CLIP with both of its towers. They are made into
build/branched-models and never committed; the weights that are not the text encoder's are noise: the models are there for
their structure.
"""
import pathlib
import sys

import numpy as np
import onnx
from cases import ROOT
from onnx import TensorProto, compose, helper

sys.path.insert(0, str(ROOT / "models"))
from sensors import OPSET, Builder  # noqa: E402

FOLDER = ROOT / "build" / "branched-models"
# case -> (model, values of its free dimensions)
CASES = {"sensor_streams": ("sensor_streams", {}), "clip_towers@64": ("clip_towers", {"batch": [1], "seq": [64]})}

STREAMS, SIGNALS, SAMPLES, CHANNELS, STATE, CLASSES = 4, 6, 256, 64, 96, 12
CONVOLUTIONS = (2, 1, 1, 2, 1, 1)  # their strides

SIDE, PATCH, WIDTH, HEADS, BLOCKS, JOINT = 224, 16, 384, 6, 12, 512  # a small vision transformer
TOKENS = (SIDE // PATCH) ** 2 + 1


def stream(b, k):
    """Convolutions over the samples of a sensor, and a recurrent layer over what they make."""
    value, before = b.input(f"sensor{k}", [1, SIGNALS, SAMPLES]), SIGNALS
    for depth, stride in enumerate(CONVOLUTIONS):
        name = f"stream{k}/conv{depth}"
        weights = [b.noise(f"{name}/weight", (CHANNELS, before, 3), 3 * before), b.noise(f"{name}/bias", CHANNELS, 1e4)]
        value = b.node("Relu", [b.node("Conv", [value, *weights], name, kernel_shape=[3], strides=[stride], pads=[1, 1])], f"{name}/relu")
        before = CHANNELS
    steps = b.node("Transpose", [value], f"stream{k}/steps", perm=[2, 0, 1])
    gates = [b.noise(f"stream{k}/gru/{part}", (1, 3 * STATE, size), size) for part, size in (("w", CHANNELS), ("r", STATE))]
    last = f"stream{k}/gru/last"
    b.nodes.append(helper.make_node("GRU", [steps, *gates], ["", last], name=f"stream{k}/gru", hidden_size=STATE))
    return last


class Graph(Builder):
    def __init__(self):
        super().__init__()
        self.inputs = []

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def matmul(self, value, name, before, after):
        product = self.node("MatMul", [value, self.noise(f"{name}/weight", (before, after), before)], f"{name}/product")
        return self.node("Add", [product, self.noise(f"{name}/bias", after, 1e4)], name)

    def normalised(self, value, name):
        scale = self.weight(f"{name}/scale", np.ones(WIDTH))
        return self.node("LayerNormalization", [value, scale, self.weight(f"{name}/bias", np.zeros(WIDTH))], name, axis=-1)

    def reshaped(self, value, name, shape):
        return self.node("Reshape", [value, self.weight(f"{name}/shape", np.array(shape))], name)

    def attention(self, value, name):
        def heads(part, order):
            rows = self.matmul(value, f"{name}/{part}", WIDTH, WIDTH)
            return self.node("Transpose", [self.reshaped(rows, f"{name}/{part}/heads", [1, TOKENS, HEADS, WIDTH // HEADS])], f"{name}/{part}/in_order", perm=order)
        scores = self.node("MatMul", [heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1])], f"{name}/scores")
        scaled = self.node("Mul", [scores, self.weight(f"{name}/scale", np.array((WIDTH / HEADS) ** -0.5))], f"{name}/scaled")
        mixed = self.node("MatMul", [self.node("Softmax", [scaled], f"{name}/shares", axis=-1), heads("v", [0, 2, 1, 3])], f"{name}/mixed")
        rows = self.reshaped(self.node("Transpose", [mixed], f"{name}/rows", perm=[0, 2, 1, 3]), f"{name}/joined", [1, TOKENS, WIDTH])
        return self.matmul(rows, f"{name}/out", WIDTH, WIDTH)

    def block(self, value, name):
        value = self.node("Add", [value, self.attention(self.normalised(value, f"{name}/norm1"), f"{name}/attention")], f"{name}/sum1")
        wide = self.matmul(self.normalised(value, f"{name}/norm2"), f"{name}/wide", WIDTH, 4 * WIDTH)
        steep = self.node("Mul", [wide, self.weight(f"{name}/gelu/steep", np.array(1.702))], f"{name}/steep")
        quick = self.node("Mul", [wide, self.node("Sigmoid", [steep], f"{name}/sigmoid")], f"{name}/quick_gelu")
        return self.node("Add", [value, self.matmul(quick, f"{name}/narrow", 4 * WIDTH, WIDTH)], f"{name}/sum2")

    def image_tower(self):
        """The embedding of an image, [1, JOINT]."""
        filters = self.noise("image/patches/weight", (WIDTH, 3, PATCH, PATCH), 3 * PATCH * PATCH)
        patches = self.node("Conv", [self.input("pixel_values", [1, 3, SIDE, SIDE]), filters], "image/patches", kernel_shape=[PATCH, PATCH], strides=[PATCH, PATCH])
        rows = self.node("Transpose", [self.reshaped(patches, "image/flat", [1, WIDTH, TOKENS - 1])], "image/rows", perm=[0, 2, 1])
        tokens = self.node("Concat", [self.noise("image/class", (1, 1, WIDTH), WIDTH), rows], "image/tokens", axis=1)
        value = self.node("Add", [tokens, self.noise("image/positions", (1, TOKENS, WIDTH), WIDTH)], "image/placed")
        for depth in range(BLOCKS):
            value = self.block(value, f"image/block{depth}")
        first = self.node("Gather", [value, self.weight("image/first", np.array(0))], "image/first_token", axis=1)
        weight = self.noise("image/projection", (WIDTH, JOINT), WIDTH)
        return self.node("MatMul", [self.normalised(first, "image/norm"), weight], "image/embedding")

    def model(self, name, outputs):
        graph = helper.make_graph(self.nodes, name, self.inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def sensor_streams():
    b = Graph()
    joined = b.node("Concat", [stream(b, k) for k in range(STREAMS)], "joined", axis=2)
    rows = b.reshaped(joined, "features", [1, STREAMS * STATE])
    b.matmul(rows, "activity", STREAMS * STATE, CLASSES)
    return b.model("sensor_streams", [helper.make_tensor_value_info("activity", TensorProto.FLOAT, [1, CLASSES])])


def clip_towers(text_encoder):
    """How alike an image and texts are. `text_encoder`: a file whose first output is the embedding of each text."""
    model = compose.add_prefix(onnx.load(text_encoder), "text/", rename_inputs=False)
    b = Graph()
    column = b.node("Transpose", [b.image_tower()], "image/column", perm=[1, 0])
    b.node("MatMul", [model.graph.output[0].name, column], "alike")
    graph = model.graph
    graph.node.extend(b.nodes)
    graph.initializer.extend(b.weights)
    graph.input.extend(b.inputs)
    batch = graph.output[0].type.tensor_type.shape.dim[0]
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("alike", TensorProto.FLOAT, [batch.dim_param or batch.dim_value, 1]))
    return model


def newer(file, sources):
    return file.exists() and all(file.stat().st_mtime > source.stat().st_mtime for source in sources)


def make(models):
    """Makes those that are not there or out of date; `models` has clip_text.onnx, or else one is left out. Returns {case: (file, dimensions)}."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    scripts = [pathlib.Path(__file__), ROOT / "models" / "sensors.py"]
    text_encoder = models / "clip_text.onnx"
    made = {}
    for case, (name, dims) in CASES.items():
        file, unfinished = FOLDER / f"{name}.onnx", FOLDER / f"{name}.part"
        with_text = name == "clip_towers"
        if with_text and not text_encoder.exists():
            continue
        if not newer(file, scripts + [text_encoder] * with_text):
            onnx.save(clip_towers(text_encoder) if with_text else sensor_streams(), unfinished)
            unfinished.rename(file)
        made[case] = (file, dims)
    return made
