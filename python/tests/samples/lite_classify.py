"""Classifies an image with a quantised model: converts to its bytes and back, as label_image.py does."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter


def load_labels(path):
    with open(path) as f:
        return {int(number): text for number, text in (line.split(maxsplit=1) for line in f.read().splitlines())}


labels = load_labels("labels.txt")
images = np.load("images.npy").reshape(-1, 8, 8, 1) / 16
results = []
for path in ("uint8.tflite", "int8.tflite"):
    interpreter = Interpreter(model_path=path)
    interpreter.allocate_tensors()
    input_details = interpreter.get_input_details()[0]
    output_details = interpreter.get_output_details()[0]
    _, height, width, _ = input_details["shape"]
    print(path, height, width, input_details["dtype"].__name__, input_details["name"], output_details["name"])
    for image in images[:5]:
        scale, zero_point = input_details["quantization"]
        data = np.clip(np.round(image / scale + zero_point), np.iinfo(input_details["dtype"]).min, np.iinfo(input_details["dtype"]).max)
        interpreter.set_tensor(input_details["index"], np.expand_dims(data, axis=0).astype(input_details["dtype"]))
        interpreter.invoke()
        output = np.squeeze(interpreter.get_tensor(output_details["index"]))
        scale, zero_point = output_details["quantization"]
        scores = scale * (output.astype(np.float32) - zero_point)
        best = int(np.argmax(scores))
        print(f"  {labels[best]}: {scores[best]:.4f}", output.dtype)
        results.append((scores / 0.02).round() * 0.02)
