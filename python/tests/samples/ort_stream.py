"""Looks for speech in a stream of audio, whose state the program keeps."""
import numpy as np
import onnxruntime


class Vad:
    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"], sess_options=options)
        self.reset()

    def reset(self):
        self._h = np.zeros((1, 1, 4)).astype("float32")
        self._c = np.zeros((1, 1, 4)).astype("float32")

    def __call__(self, chunk, sr):
        inputs = {"input": chunk[None], "h0": self._h, "c0": self._c, "sr": np.array(sr, dtype="int64")}
        out, self._h, self._c = self.session.run(None, inputs)
        return out


vad = Vad("vad.onnx")
audio = np.sin(np.arange(16 * 20, dtype=np.float32) ** 1.5 / 50)
results = []
for _ in range(2):
    vad.reset()
    results.append([vad(audio[i:i + 16], 16000).item() for i in range(0, len(audio), 16)])
    print("speech" if max(results[-1]) > 0.5 else "silence", len(results[-1]))
results += [vad._h, vad._c]
