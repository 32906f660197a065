"""Makes the mistakes that programs catch, and prints which exception each is."""
import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

KINDS = ["InvalidArgument", "NoSuchFile", "InvalidProtobuf", "InvalidGraph", "NotImplemented", "RuntimeException", "Fail"]
session = ort.InferenceSession("digits.onnx", providers=["CPUExecutionProvider"])
image = np.zeros((1, 1, 8, 8), np.float32)
MISTAKES = {
    "no file": lambda: ort.InferenceSession("none.onnx", providers=["CPUExecutionProvider"]),
    "no model": lambda: ort.InferenceSession(b"no model", providers=["CPUExecutionProvider"]),
    "rank": lambda: session.run(None, {"image": image[0]}),
    "size": lambda: session.run(None, {"image": image[..., :7]}),
    "type": lambda: session.run(None, {"image": image.astype(np.float64)}),
    "no input": lambda: session.run(None, {}),
    "other input": lambda: session.run(None, {"image": image, "picture": image}),
    "other output": lambda: session.run(["scores"], {"image": image}),
    "index": lambda: ort.InferenceSession("gather.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": np.array([7])}),
}
results = []
for name, mistake in MISTAKES.items():
    try:
        mistake()
        print(name, "passes")
    except Exception as error:
        print(name, next((kind for kind in KINDS if isinstance(error, getattr(state, kind))), isinstance(error, ValueError)))
