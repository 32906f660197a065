"""Prints all that the details of tensors have."""
import ai_edge_litert.interpreter as tflite

results = []
for name in ("uint8", "int8", "features", "detector", "segmenter", "text", "sum", "added"):
    interpreter = tflite.Interpreter(f"{name}.tflite", num_threads=1)
    for allocated in (False, True):
        if allocated:
            interpreter.allocate_tensors()
        for details in interpreter.get_input_details() + interpreter.get_output_details():
            parameters = details["quantization_parameters"]
            print(name, details["name"], details["index"], details["shape"], details["shape_signature"], details["dtype"], details["quantization"][1])
            print(parameters["zero_points"], parameters["quantized_dimension"], details["sparsity_parameters"], sorted(details))
            results += [details["quantization"][0], parameters["scales"]]
    print(interpreter.get_signature_list())
