"""Feeds models with variables step by step, and begins again."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter


def steps(interpreter, count):
    x, y = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    for value in range(count):
        interpreter.set_tensor(x["index"], np.full(x["shape"], value, dtype=x["dtype"]))
        interpreter.invoke()
        yield interpreter.get_tensor(y["index"])


interpreter = Interpreter(model_path="recurrent.tflite")
interpreter.allocate_tensors()
results = []
for stream in range(2):
    results += list(steps(interpreter, 3))
    print(stream, results[-1].shape, np.array_equal(results[-1], results[2]))
    interpreter.reset_all_variables()
for stream in range(2):  # this one begins with a value of the file
    interpreter = Interpreter(model_path="sum.tflite")
    interpreter.allocate_tensors()
    results += list(steps(interpreter, 4))
    print(stream, results[-1])
