"""Looks at what arrays belong to whom: copies stay, views change."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter("added.tflite")
interpreter.allocate_tensors()
left, right = (details["index"] for details in interpreter.get_input_details())
output = interpreter.get_output_details()[0]["index"]
shape = interpreter.get_input_details()[0]["shape"]
results = []
given = np.full(shape, 130, np.uint8)
interpreter.set_tensor(left, given)
given[:] = 0  # set_tensor has copied
interpreter.set_tensor(right, np.full(shape, 8, np.uint8))
interpreter.invoke()
first = interpreter.get_tensor(output)
view = interpreter.tensor(left)
view()[:] = 140
results += [first, interpreter.get_tensor(left), interpreter.get_tensor(right)]
interpreter.invoke()
results += [first, interpreter.get_tensor(output), interpreter.tensor(output)().copy()]
first[:] = 1  # get_tensor has copied
results.append(interpreter.get_tensor(output))
interpreter.allocate_tensors()
interpreter.invoke()
results.append(interpreter.get_tensor(output))
print([array.tolist() for array in results], [array.flags.writeable for array in results])
