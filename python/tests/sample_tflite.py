"""The TFLite models of the programs in samples/: files that the writer makes, and those of the tool's tests."""
import numpy as np
import tflite_models
from tflite_writer import Writer

RNG = np.random.default_rng(8)


def floats(*dims):
    return RNG.uniform(-1, 1, dims).astype(np.float32)


def quantized(kind):
    """Ten scores of an image of 8 x 8 bytes: scores are bytes also, a 256th each. Weights have a scale, with int8 one for each row."""
    w = Writer()
    zero = 128 if kind == "uint8" else 0
    image = w.tensor("image", [1, 8, 8, 1], kind, scale=1 / 255, zero=0 if kind == "uint8" else -128)
    numbers = RNG.integers(-127, 127, (10, 64))
    scales = 0.01 if kind == "uint8" else RNG.uniform(0.005, 0.02, 10)
    weights = w.constant("weights", (numbers + zero).astype(kind), scale=scales, zero=zero)
    bias_scale = np.float32(1 / 255) * np.float32(scales)
    bias = w.constant("bias", RNG.integers(-500, 500, 10).astype(np.int32), scale=bias_scale)
    logits = w.tensor("logits", [1, 10], kind, scale=0.1, zero=zero)
    scores = w.tensor("scores", [1, 10], kind, scale=1 / 256, zero=0 if kind == "uint8" else -128)
    flat = w.tensor("flat", [1, 64], kind, scale=1 / 255, zero=0 if kind == "uint8" else -128)
    w.op("RESHAPE", [image, w.constant("shape", np.array([1, 64], np.int32))], [flat], newShape=[1, 64])
    w.op("FULLY_CONNECTED", [flat, weights, bias], [logits], version=4 if kind == "int8" else 1)
    w.op("SOFTMAX", [logits], [scores], version=2 if kind == "int8" else 1, beta=1.0)
    return w.model([image], [scores])


def features():
    """A convolution, a depthwise one and their mean: [batch, 8, 8, 3] to [batch, 4], the batch is free."""
    w = Writer()
    image = w.tensor("serving_default_input:0", [-1, 8, 8, 3])
    convolved, deep = w.tensor("convolved", [-1, 4, 4, 4]), w.tensor("deep", [-1, 4, 4, 4])
    output = w.tensor("StatefulPartitionedCall:0", [-1, 4])
    w.op("CONV_2D", [image, w.constant("k", floats(4, 3, 3, 3)), w.constant("b", floats(4))], [convolved], strideW=2, strideH=2,
         fusedActivationFunction=3)
    w.op("DEPTHWISE_CONV_2D", [convolved, w.constant("d", floats(1, 3, 3, 4)), w.constant("c", floats(4))], [deep], strideW=1, strideH=1,
         depthMultiplier=1)
    w.op("MEAN", [deep, w.constant("axes", np.array([1, 2], np.int32))], [output])
    return w.model([image], [output], "serving_default")


def detector():
    """Boxes, scores and classes of the best three of eight places, in an order that is not that of the tensors."""
    w = Writer()
    image = w.tensor("image", [1, 8, 4])
    boxes, scores, best, places = w.tensor("boxes", [1, 8, 4]), w.tensor("scores", [1, 8]), w.tensor("best", [1, 3]), w.tensor("places", [1, 3], "int32")
    count = w.constant("count", np.array(3, np.int32))
    w.op("LOGISTIC", [image], [boxes])
    w.op("MEAN", [boxes, w.constant("axis", np.array([2], np.int32))], [scores])
    w.op("TOPK_V2", [scores, count], [best, places])
    return w.model([image], [places, boxes, best])


def segmenter():
    """The class of each pixel, after an enlargement to 8 x 8."""
    w = Writer()
    image, large, classes = w.tensor("image", [1, 4, 4, 3]), w.tensor("large", [1, 8, 8, 3]), w.tensor("classes", [1, 8, 8], "int64")
    w.op("RESIZE_BILINEAR", [image, w.constant("size", np.array([8, 8], np.int32))], [large], halfPixelCenters=True)
    w.op("ARG_MAX", [large, w.constant("axis", np.array(3, np.int32))], [classes], outputType=4)
    return w.model([image], [classes])


def text():
    """The mean of the rows that ids choose; the number of ids is free."""
    w = Writer()
    ids, rows, mean = w.tensor("ids", [1, -1], "int32"), w.tensor("rows", [1, -1, 6]), w.tensor("mean", [1, 6])
    w.op("GATHER", [w.constant("table", floats(20, 6)), ids], [rows], axis=0)
    w.op("MEAN", [rows, w.constant("axis", np.array([1], np.int32))], [mean])
    return w.model([ids], [mean])


def recurrent():
    """A step of a recurrent network, whose state is a variable."""
    w = Writer()
    x, output, state = w.tensor("x", [1, 3]), w.tensor("output", [1, 4]), w.tensor("state", [1, 4], variable=True)
    constants = [w.constant(name, floats(*dims)) for name, dims in (("w", (4, 3)), ("r", (4, 4)), ("b", (4,)))]
    w.op("RNN", [x, *constants, state], [output], fusedActivationFunction=4)
    return w.model([x], [output])


def write(folder):
    """Writes the files that the programs open."""
    models = {"uint8": quantized("uint8"), "int8": quantized("int8"), "features": features(), "detector": detector(), "segmenter": segmenter(),
              "text": text(), "recurrent": recurrent(), "sum": tflite_models.SUM, "added": tflite_models.QUANTIZED}
    for name, model in models.items():
        (folder / f"{name}.tflite").write_bytes(model)
    (folder / "labels.txt").write_text("\n".join(f"{number} digit {number}" for number in range(10)))
