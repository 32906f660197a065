"""Colours the classes of pixels."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter

COLOURS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], np.uint8)


def segment(interpreter, image):
    interpreter.tensor(interpreter.get_input_details()[0]["index"])()[0][:, :] = image
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]


with open("segmenter.tflite", "rb") as file:
    interpreter = Interpreter(model_content=file.read())
interpreter.allocate_tensors()
mask = segment(interpreter, np.random.default_rng(4).uniform(0, 1, (4, 4, 3)))
print(mask.shape, mask.dtype, np.bincount(mask.ravel(), minlength=3))
results = [COLOURS[mask]]
