"""Calls signatures with arrays by name."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter

results = []
interpreter = Interpreter("features.tflite")
print(interpreter.get_signature_list())
runner = interpreter.get_signature_runner()
print({name: details["dtype"].__name__ for name, details in runner.get_input_details().items()}, list(runner.get_output_details()))
for size in (1, 3):
    batch = np.linspace(-1, 1, size * 192, dtype=np.float32).reshape(size, 8, 8, 3)
    output = runner(**{"serving_default_input:0": batch})
    print({name: value.shape for name, value in output.items()})
    results.append(output)

interpreter = Interpreter("sum.tflite")
for key, names in interpreter.get_signature_list().items():
    runner = interpreter.get_signature_runner(key)
    given = {name: np.array([2.5], np.float32) for name in names["inputs"]}
    results += [runner(**given), runner(**given)]
    print(key, sorted(results[-1]))
