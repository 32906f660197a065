"""Runs batches of different sizes: the input is resized, then the tensors are allocated again."""
import numpy as np

try:
    import tflite_runtime.interpreter as tflite
except ImportError:
    from ai_edge_litert import interpreter as tflite

interpreter = tflite.Interpreter(model_path="features.tflite", num_threads=2)
input_index = interpreter.get_input_details()[0]["index"]
output_index = interpreter.get_output_details()[0]["index"]
rng = np.random.default_rng(0)
results = []
for size in (1, 4, 4, 2):
    batch = rng.standard_normal((size, 8, 8, 3)).astype(np.float32)
    interpreter.resize_tensor_input(input_index, [size, 8, 8, 3], strict=True)
    interpreter.allocate_tensors()
    interpreter.set_tensor(input_index, batch)
    interpreter.invoke()
    features = interpreter.get_tensor(output_index)
    print(features.shape, interpreter.get_input_details()[0]["shape"], interpreter.get_output_details()[0]["shape_signature"])
    results.append(features)
