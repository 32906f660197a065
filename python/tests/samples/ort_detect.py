"""Finds objects: boxes of a detector, then the suppression that the model has inside."""
import numpy as np
import onnxruntime as ort


class Detector:
    def __init__(self, path, threshold=0.3, providers=None):
        self.session = ort.InferenceSession(path, providers=providers or ["CPUExecutionProvider"])
        self.input_names = [node.name for node in self.session.get_inputs()]
        self.output_names = [node.name for node in self.session.get_outputs()]
        self.classes, self.count = self.session.get_inputs()[1].shape[1:]
        self.threshold = np.array([threshold], dtype=np.float32)

    def __call__(self, boxes, scores):
        feed = dict(zip(self.input_names, (boxes[None], scores.T[None], self.threshold)))
        selected, best = self.session.run(self.output_names, feed)
        return [(int(c), int(i), boxes[i].tolist(), float(scores[i, c])) for _, c, i in selected], best


rng = np.random.default_rng(3)
corners = rng.uniform(0, 80, (20, 2)).astype(np.float32)
boxes = np.hstack([corners, corners + rng.uniform(5, 20, (20, 2)).astype(np.float32)])
boxes[10:] = boxes[:10] + 0.5
scores = rng.uniform(0, 1, (20, 3)).astype(np.float32)
results = []
for threshold in (0.3, 0.8, 2.0):
    found, best = Detector("nms.onnx", threshold)(boxes, scores)
    print(f"{len(found)} objects, classes {sorted({c for c, *_ in found})}, best {best.tolist()} {best.dtype}")
    results.append(found)
