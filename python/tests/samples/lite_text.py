"""Embeds texts of different lengths."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter("text.tflite")
details = interpreter.get_input_details()[0]
print(details["shape"], details["shape_signature"], details["dtype"])
results = []
for text in ("a budget", "branches of a graph run in parallel", "x"):
    ids = np.array([[len(word) for word in text.split()]], dtype=np.int32)
    if not np.array_equal(interpreter.get_input_details()[0]["shape"], ids.shape):
        interpreter.resize_tensor_input(details["index"], ids.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(details["index"], ids)
    interpreter.invoke()
    embedding = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    print(text, embedding.shape)
    results.append(embedding / np.linalg.norm(embedding))
