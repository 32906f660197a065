"""Serves requests: one session for many threads, calls that come back, runs that are ended."""
import concurrent.futures
import threading

import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("digits.onnx", providers=["CPUExecutionProvider"])
images = np.load("images.npy").reshape(-1, 1, 8, 8).astype(np.float32)


def handle(request):
    return session.run(["logits"], {"image": images[request:request + 2]})[0].argmax(axis=1).tolist()


with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
    print(list(pool.map(handle, range(20))))

done = threading.Event()
results = []


def callback(outputs, user_data, err):
    results.extend([user_data, outputs, err])
    done.set()


session.run_async(["logits"], {"image": images[:3]}, callback, {"request": 7})
print(done.wait(60), len(results))

options = ort.RunOptions()
options.log_severity_level = 4
options.terminate = True
try:
    session.run(None, {"image": images[:1]}, options)
    print("not ended")
except Exception:
    print("ended")
options.terminate = False
print(session.run(None, {"image": images[:1]}, run_options=options)[0].shape)
