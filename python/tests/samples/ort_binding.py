"""Binds inputs and outputs once and runs in a loop, as code for GPUs does."""
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("digits.onnx", providers=ort.get_available_providers())
images = np.load("images.npy").reshape(-1, 1, 8, 8).astype(np.float32)
device, device_id = "cpu", 0

io_binding = session.io_binding()
x = ort.OrtValue.ortvalue_from_numpy(images[:4], device, device_id)
y = ort.OrtValue.ortvalue_from_shape_and_type([4, 10], np.float32, device, device_id)
io_binding.bind_input(name="image", device_type=x.device_name(), device_id=device_id, element_type=np.float32, shape=x.shape(), buffer_ptr=x.data_ptr())
io_binding.bind_output(name="logits", device_type=device, device_id=device_id, element_type=np.float32, shape=y.shape(), buffer_ptr=y.data_ptr())
results = []
for start in range(0, 12, 4):
    x.update_inplace(images[start:start + 4])
    session.run_with_iobinding(io_binding)
    results.append(y.numpy().copy())
print([result.argmax(axis=1).tolist() for result in results])

binding = session.io_binding()
binding.bind_cpu_input("image", images[:7])
binding.bind_output("logits", device)
session.run_with_iobinding(binding)
outputs = binding.get_outputs()
print(outputs[0].shape(), outputs[0].data_type(), outputs[0].device_name(), outputs[0].is_tensor(), outputs[0].has_value(), len(outputs))
results += binding.copy_outputs_to_cpu()

binding.clear_binding_outputs()
binding.bind_ortvalue_output("logits", ort.OrtValue.ortvalue_from_numpy(np.zeros((7, 10), np.float32)))
binding.synchronize_inputs()
session.run_with_iobinding(binding, ort.RunOptions())
binding.synchronize_outputs()
results.append(binding.get_outputs()[0].numpy())
results += [value.numpy() for value in session.run_with_ort_values(["logits"], {"image": x})]
