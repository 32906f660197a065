"""Makes the mistakes that programs catch, and prints which exception each is."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter

ready = Interpreter("features.tflite")
ready.allocate_tensors()
index = ready.get_input_details()[0]["index"]
output = ready.get_output_details()[0]["index"]
image = np.zeros((1, 8, 8, 3), np.float32)


def resized():
    interpreter = Interpreter("features.tflite")
    interpreter.allocate_tensors()
    interpreter.resize_tensor_input(index, [2, 8, 8, 3])
    interpreter.invoke()


def of_other_rank():
    interpreter = Interpreter("features.tflite")
    interpreter.resize_tensor_input(index, [1, 8, 8])
    interpreter.allocate_tensors()


MISTAKES = {
    "rank of the size": of_other_rank,
    "no file": lambda: Interpreter("none.tflite"),
    "no model": lambda: Interpreter(model_content=b"no model, but more than a few bytes"),
    "nothing": lambda: Interpreter(),
    "not allocated": lambda: Interpreter("features.tflite").invoke(),
    "set before": lambda: Interpreter("features.tflite").set_tensor(index, image),
    "get before": lambda: Interpreter("features.tflite").get_tensor(output),
    "view before": lambda: Interpreter("features.tflite").tensor(index)(),
    "not allocated again": resized,
    "type": lambda: ready.set_tensor(index, image.astype(np.float64)),
    "shape": lambda: ready.set_tensor(index, image[:, :7]),
    "rank": lambda: ready.set_tensor(index, image[0]),
    "index": lambda: ready.set_tensor(999, image),
    "strict": lambda: ready.resize_tensor_input(index, [1, 9, 9, 3], strict=True),
    "signature": lambda: ready.get_signature_runner("none"),
    "argument": lambda: ready.get_signature_runner()(x=image),
}
results = []
for name, mistake in MISTAKES.items():
    try:
        mistake()
        print(name, "passes")
    except (ValueError, RuntimeError, TypeError) as error:
        print(name, type(error).__name__)
