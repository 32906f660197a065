"""Classifies images one by one and in a batch, as tutorials do."""
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("digits.onnx")
input_name = session.get_inputs()[0].name
output_name = session.get_outputs()[0].name
images = np.load("images.npy").reshape(-1, 1, 8, 8)
labels = np.load("labels.npy")


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


correct = 0
for image, label in zip(images[:50], labels):
    result = session.run([output_name], {input_name: image[np.newaxis].astype(np.float32)})
    correct += int(np.argmax(result[0]) == label)
print(f"Accuracy: {correct / 50:.2%}")

batch = np.concatenate([image[None] for image in images[:16]]).astype("float32")
probabilities = softmax(session.run(None, {input_name: batch})[0])
for row in probabilities[:5]:
    top = np.argsort(row)[::-1][:3]
    print(", ".join(f"{index}: {row[index]:.3f}" for index in top))
results = [probabilities, np.squeeze(session.run([], {"image": batch[:1]}))]
