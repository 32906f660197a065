#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

#include "buffer.h"
#include "errors.h"
#include "handles.h"

namespace parallax::python {
namespace {

constexpr const char* kInspectDoc =
    R"(Describes the contents of a model file, whether Parallax can run it or not.

file: a path, or an object with the bytes.
section: the section of a container that has the model; without one, only the sections of a
container with several models are described.

    >>> report = parallax.inspect("models/digits/digits.onnx")
    >>> report.format, report.operators[0].name, report.operators[0].count
    ('ONNX', 'Conv', 21)

Errors: FileError, InvalidInputError, InvalidModelError, UnsupportedError.)";

nb::object file_shape(const FileTensor& tensor) {
  return tensor.shape ? nb::object(shape_tuple(*tensor.shape)) : nb::none();
}

void bind_tensors(nb::module_& module) {
  nb::class_<FileQuantization>(module, "FileQuantization",
                               "The real numbers that integers of a TFLite file stand for: "
                               "(element - zero point) * scale.")
      .def_ro("scales", &FileQuantization::scales,
              "One, or one for each index along the axis; [] for a tensor that is not quantized.")
      .def_ro("zero_points", &FileQuantization::zero_points, "As many as scales.")
      .def_ro("axis", &FileQuantization::axis);
  nb::class_<FileTensor>(module, "FileTensor", "An input or output as the file declares it.")
      .def_ro("name", &FileTensor::name)
      .def_ro("type", &FileTensor::type, "'float16', 'sequence of float32'; '' if undeclared.")
      .def_prop_ro("shape", file_shape,
                   nb::sig("def shape(self) -> tuple[int | str | None, ...] | None"),
                   "As TensorInfo.shape; None if the rank is not declared.")
      .def_ro("has_default", &FileTensor::has_default,
              "Whether an input need not be given, because an initializer has its name.")
      .def_ro("index", &FileTensor::index, "Its number in a TFLite file; -1 in others.")
      .def_ro("quantization", &FileTensor::quantization);
  nb::class_<FileSignature>(module, "FileSignature",
                            "One of the computations that a TFLite file offers.")
      .def_ro("name", &FileSignature::name)
      .def_ro("inputs", &FileSignature::inputs)
      .def_ro("outputs", &FileSignature::outputs);
}

void bind_operators(nb::module_& module) {
  nb::class_<FileOperator>(module, "FileOperator", "All nodes of one operator.")
      .def_ro("domain", &FileOperator::domain, "'' for ai.onnx.")
      .def_ro("name", &FileOperator::name)
      .def_ro("opset", &FileOperator::opset, "The version; 0 if the file has none.")
      .def_ro("count", &FileOperator::count, "The number of nodes.")
      .def_ro("supported", &FileOperator::supported, "Whether Parallax has the operator.");
  nb::class_<FileWeights>(module, "FileWeights", "All weights of one element type.")
      .def_ro("type", &FileWeights::type)
      .def_ro("tensors", &FileWeights::tensors, "The number of tensors.")
      .def_ro("parameters", &FileWeights::parameters, "The number of elements.")
      .def_ro("bytes", &FileWeights::bytes);
}

void bind_sections(nb::module_& module) {
  nb::class_<FileSection>(module, "FileSection",
                          "A part of a container: a ZIP archive such as MediaPipe's .task, or a "
                          "LiteRT-LM file.")
      .def_ro("name", &FileSection::name, "Unique in the file.")
      .def_ro("type", &FileSection::type, "'TFLiteModel', 'SP_Tokenizer', 'file', ...")
      .def_ro("bytes", &FileSection::bytes, "The size in the file.")
      .def_ro("is_model", &FileSection::is_model, "Whether Model(section=) may name it.");
}

FileReport inspect(nb::handle file, const std::string& section) {
  std::filesystem::path path;
  // Bytes would be a path for Python's own functions.
  if (!nb::isinstance<nb::bytes>(file) && nb::try_cast(file, path)) {
    auto report = [&] {
      const nb::gil_scoped_release released;
      return inspect_file(path, section);
    }();
    return value_or_raise(std::move(report));
  }
  Buffer buffer;
  if (!buffer.acquire(file))
    throw nb::type_error("the model must be a path or an object with the bytes of a file");
  const auto bytes = buffer.bytes();
  auto report = [&] {
    const nb::gil_scoped_release released;
    return inspect_file(bytes, section);
  }();
  return value_or_raise(std::move(report));
}

}  // namespace

void bind_report(nb::module_& module) {
  bind_tensors(module);
  bind_operators(module);
  bind_sections(module);
  nb::class_<FileReport>(module, "FileReport", "The contents of a model file.")
      .def_ro("format", &FileReport::format, "'ONNX' or 'TFLite'; '' if no model is chosen.")
      .def_ro("format_version", &FileReport::format_version)
      .def_ro("opsets", &FileReport::opsets, "Pairs of a domain, '' for ai.onnx, and a version.")
      .def_ro("inputs", &FileReport::inputs)
      .def_ro("outputs", &FileReport::outputs)
      .def_ro("nodes", &FileReport::nodes, "The number of nodes, those of bodies included.")
      .def_ro("operators", &FileReport::operators, "The most frequent one first.")
      .def_ro("signatures", &FileReport::signatures, "In the file's order; TFLite only.")
      .def_ro("weights", &FileReport::weights, "The type with the most bytes first.")
      .def_ro("metadata", &FileReport::metadata)
      .def_ro("container", &FileReport::container,
              "'ZIP archive', 'LiteRT-LM 1.4.0'; '' for a file that is one model.")
      .def_ro("sections", &FileReport::sections, "Those of a container, in the file's order.");
  module.def("inspect", inspect, nb::arg("file"), nb::kw_only(), nb::arg("section") = "",
             nb::sig("def inspect(file: str | os.PathLike[str] | typing_extensions.Buffer, *, "
                     "section: str = '') -> FileReport"),
             kInspectDoc);
}

}  // namespace parallax::python
