"""Embeds sentences: gives a model those of the tokenizer's arrays that it has inputs for, pools and compares."""
import numpy as np
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions


def tokenize(texts):
    ids = [[1 + len(word) % 7 for word in text.split()] for text in texts]
    longest = max(map(len, ids))
    return {"input_ids": np.array([row + [0] * (longest - len(row)) for row in ids]),
            "attention_mask": np.array([[1] * len(row) + [0] * (longest - len(row)) for row in ids]),
            "token_type_ids": np.zeros((len(ids), longest), np.int64)}


options = SessionOptions()
options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
session = InferenceSession("embed.onnx", options, providers=["CPUExecutionProvider"])
names = {node.name for node in session.get_inputs()}
results = []
for texts in (["a model that runs", "a runtime"], ["one"], ["branches of a graph run", "in parallel", "within a budget of memory"]):
    encoded = {name: value.astype(np.int64) for name, value in tokenize(texts).items() if name in names}
    hidden = session.run(None, encoded)[0]
    mask = encoded["attention_mask"][..., None]
    pooled = (hidden * mask).sum(axis=1) / np.clip(mask.sum(axis=1), 1e-9, None)
    pooled = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    print(hidden.shape, hidden.dtype, sorted(names))
    results.append(pooled @ pooled.T)
