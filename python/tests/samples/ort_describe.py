"""Chooses a provider, sets options, and prints what the model is."""
import onnxruntime as rt

so = rt.SessionOptions()
so.graph_optimization_level = rt.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
so.execution_mode = rt.ExecutionMode.ORT_SEQUENTIAL
so.intra_op_num_threads = so.inter_op_num_threads = 1
so.log_severity_level = 3
so.enable_mem_pattern = False
so.add_session_config_entry("session.intra_op.allow_spinning", "0")
print(so.get_session_config_entry("session.intra_op.allow_spinning"), so.graph_optimization_level, so.execution_mode, so.enable_mem_pattern)

providers = ["CUDAExecutionProvider"] if "CUDAExecutionProvider" in rt.get_available_providers() else []
providers.append(("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"}))
with open("decoder.onnx", "rb") as file:
    session = rt.InferenceSession(file.read(), sess_options=so, providers=providers)
print(session.get_providers(), rt.get_device(), "CPUExecutionProvider" in rt.get_available_providers())
for title, nodes in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
    print(title)
    for node in nodes:
        dynamic = any(not isinstance(size, int) for size in node.shape)
        print(f"  {node.name} {node.type} {node.shape} {'dynamic' if dynamic else 'static'}")
print(session.get_inputs()[0])

meta = rt.InferenceSession("digits.onnx", so, ["CPUExecutionProvider"]).get_modelmeta()
print(meta.producer_name, meta.graph_name, repr(meta.domain), repr(meta.description), repr(meta.graph_description), meta.custom_metadata_map)
print(f"{so.graph_optimization_level} {so.execution_mode!r}", so.graph_optimization_level == rt.GraphOptimizationLevel.ORT_ENABLE_ALL)
print(session.get_session_options().intra_op_num_threads, session.get_overridable_initializers())

fixed = rt.SessionOptions()
fixed.add_free_dimension_override_by_name("batch", 4)
results = [rt.InferenceSession("digits.onnx", fixed, providers=["CPUExecutionProvider"]).get_inputs()[0].shape]
