"""Predicts classes of rows with a model of scikit-learn: labels, and a list of dicts of probabilities; text and half precision."""
import numpy as np
import onnxruntime as rt

sess = rt.InferenceSession("tabular.onnx", providers=rt.get_available_providers())
input_name = sess.get_inputs()[0].name
label_name, probability_name = (output.name for output in sess.get_outputs())
rows = np.array([[0.2, 0.8], [3, 1], [-1, -2]])
labels = sess.run([label_name], {input_name: rows.astype(np.float32)})[0]
probabilities = sess.run([probability_name], {input_name: rows.astype(np.float32)})[0]
print(labels, labels.dtype, type(probabilities), [sorted(row) for row in probabilities])
print([(output.name, output.type, output.shape) for output in sess.get_outputs()])
table = np.array([[row[key] for key in sorted(row)] for row in probabilities])

text = rt.InferenceSession("text.onnx", providers=["CPUExecutionProvider"])
words = text.run(None, {"x": np.array(["one", "two", "drei und ü"])})[0]
print(words.tolist(), words.dtype, text.get_inputs()[0].type)

half = rt.InferenceSession("half.onnx", providers=["CPUExecutionProvider"])
image = (np.arange(48) * 5).astype(np.uint8).reshape(1, 4, 4, 3)
small = half.run(None, {half.get_inputs()[0].name: image})[0]
print(small.shape, small.dtype, half.get_outputs()[0].type)
results = [table, small]
