"""Finds objects with a model that has several outputs, with an accelerator if its library is there."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate

try:
    interpreter = Interpreter("detector.tflite", experimental_delegates=[load_delegate("libedgetpu_none.so.1")])
    print("accelerated")
except (ValueError, OSError):
    interpreter = Interpreter("detector.tflite")
    print("on the CPU")
interpreter.allocate_tensors()
input_details, output_details = interpreter.get_input_details(), interpreter.get_output_details()
outputs = {details["name"]: details["index"] for details in output_details}
print([details["name"] for details in output_details], input_details[0]["shape"])
results = []
for seed in range(3):
    image = np.random.default_rng(seed).standard_normal(input_details[0]["shape"]).astype(np.float32)
    interpreter.set_tensor(input_details[0]["index"], image)
    interpreter.invoke()
    boxes = interpreter.get_tensor(outputs["boxes"])[0]
    scores = interpreter.get_tensor(outputs["best"])[0]
    places = interpreter.get_tensor(outputs["places"])[0]
    print([(int(place), boxes[place].shape) for place, score in zip(places, scores) if score > 0.5], places.dtype)
    results += [boxes, scores]
