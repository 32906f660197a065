"""Generates tokens with a cache of keys, which begins empty: outputs become the inputs of the next step."""
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("decoder.onnx", providers=["CPUExecutionProvider"])
past_names = [node.name for node in session.get_inputs() if node.name.startswith("past_")]
shapes = {node.name: [size if isinstance(size, int) else {"batch": 1}.get(size, 0) for size in node.shape] for node in session.get_inputs()}
types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
past = {node.name: np.zeros(shapes[node.name], types[node.type]) for node in session.get_inputs() if node.name in past_names}

tokens = [1, 5, 2]
input_ids = np.array([tokens], dtype=np.int64)
results = []
for step in range(8):
    logits, *present = session.run(None, {"input_ids": input_ids, **past})
    past = dict(zip(past_names, present))
    input_ids = logits[:, -1:].argmax(axis=-1)
    tokens.append(input_ids.item())
    results.append(logits[0, -1])
    print(step, logits.shape, [value.shape for value in past.values()])
print(tokens)
