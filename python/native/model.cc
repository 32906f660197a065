#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>

#include "buffer.h"
#include "errors.h"
#include "handles.h"

namespace parallax::python {
namespace {

using KnownSizes = std::map<std::string, std::optional<std::vector<std::int64_t>>>;

constexpr const char* kModelDoc =
    R"(A loaded ONNX or TFLite model, ready for any number of sessions.

file: the path of a model file, or an object with its bytes (bytes, memoryview, mmap, NumPy array),
which are used in place and must not change while the model lives.
disabled_passes: names of passes to skip (Model.passes()).
max_nesting: how deep If, Loop and Scan may be nested, 0 to 64.
inputs: sizes of inputs that the caller knows better than the file: {name: [1, -1, 64]}; -1 and None:
as the file says.
signature: the signature of a TFLite file that runs; '': its first subgraph.
section: the section of a container (.task, .litertlm) that has the model; '': its only model.
folder: the folder of external weights, for a model from bytes.
runtime: provides the cache, and the threads of sessions.

    >>> model = parallax.Model("models/digits/digits.onnx")
    >>> model.inputs, model.outputs
    ([image: float32[batch, 1, 8, 8]], [logits: float32[batch, 10]])

Errors: FileError, InvalidModelError, UnsupportedError (which lists all that is missing),
InvalidInputError, OutOfMemoryError. Immutable; any threads may use it. Other threads of Python run
while it loads.)";

std::string dimension_text(const Dimension& dimension) {
  if (dimension.value >= 0) return std::to_string(dimension.value);
  return dimension.symbol.empty() ? "?" : dimension.symbol;
}

std::string type_text(const TensorInfo& info) {
  std::string text;
  for (const ObjectType container : info.containers) {
    text += to_string(container);
    text += container == ObjectType::kMap ? " from " + std::string(to_string(info.key)) + " to "
                                          : " of ";
  }
  return text + std::string(to_string(info.dtype));
}

std::string tensor_text(const TensorInfo& info) {
  std::string text = info.name + ": " + type_text(info) + "[";
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis)
    text += (axis == 0 ? "" : ", ") + dimension_text(info.shape[axis]);
  return text + "]";
}

std::string list_text(const std::vector<TensorInfo>& tensors) {
  std::string text;
  for (const TensorInfo& info : tensors) text += (text.empty() ? "" : ", ") + tensor_text(info);
  return text;
}

std::vector<std::pair<std::string, std::string>> tie_pairs(const ModelHandle& self) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Tie& tie : self.model.ties()) pairs.emplace_back(tie.input, tie.output);
  return pairs;
}

void bind_tensor_info(nb::module_& module) {
  nb::class_<TensorInfo>(module, "TensorInfo", "The type of an input or output.")
      .def_ro("name", &TensorInfo::name)
      .def_prop_ro(
          "dtype", [](const TensorInfo& self) { return to_string(self.dtype); },
          "NumPy's name of the element type, or that of ml_dtypes: 'float32', "
          "'bfloat16'; 'string'.")
      .def_prop_ro(
          "shape", [](const TensorInfo& self) { return shape_tuple(self.shape); },
          nb::sig("def shape(self) -> tuple[int | str | None, ...]"),
          "A tuple: numbers; for free dimensions the symbol, as 'batch' or '2*seq + 1'. "
          "A dimension that the file does not name is called after its input, 'x_dim_0'; "
          "in what inspect() returns it is None.")
      .def_prop_ro("type", type_text,
                   "The same as dtype for a tensor; 'sequence of float32', 'optional of int64', "
                   "'map from string to float32'.")
      .def("__repr__", tensor_text);
}

void bind_metadata(nb::module_& module) {
  nb::class_<ModelMetadata>(module, "Metadata", "Statements of a model's file about itself.")
      .def_ro("producer_name", &ModelMetadata::producer_name)
      .def_ro("producer_version", &ModelMetadata::producer_version)
      .def_ro("domain", &ModelMetadata::domain)
      .def_ro("model_version", &ModelMetadata::model_version)
      .def_ro("doc_string", &ModelMetadata::doc_string)
      .def_ro("graph_name", &ModelMetadata::graph_name)
      .def_ro("properties", &ModelMetadata::properties, "Pairs of texts; keys may repeat.")
      .def_ro("truncated", &ModelMetadata::truncated, "Whether something was too long.");
}

void init_model(ModelHandle* self, nb::handle file, std::vector<std::string> disabled_passes,
                int max_nesting, const KnownSizes& inputs, std::string signature,
                std::string section, const std::filesystem::path& folder, const Runtime* runtime) {
  LoadOptions options{.disabled_passes = std::move(disabled_passes),
                      .max_nesting = max_nesting,
                      .inputs = {},
                      .signature = std::move(signature),
                      .section = std::move(section)};
  for (const auto& [name, dims] : inputs) options.inputs.push_back({name, dims});
  new (self) ModelHandle(load_model(file, options, runtime, folder));
}

/// The types as checkers of Python programs see them: this and its like are in the stub.
constexpr const char* kModelSignature =
    "def __init__(self, file: str | os.PathLike[str] | typing_extensions.Buffer, *, "
    "disabled_passes: collections.abc.Sequence[str] = [], max_nesting: int = 16, "
    "inputs: collections.abc.Mapping[str, collections.abc.Sequence[int] | None] = {}, "
    "signature: str = '', section: str = '', folder: str | os.PathLike[str] = '', "
    "runtime: Runtime | None = None) -> None";

}  // namespace

nb::tuple shape_tuple(const std::vector<Dimension>& shape) {
  nb::list sizes;
  for (const Dimension& dimension : shape) {
    if (dimension.value >= 0)
      sizes.append(dimension.value);
    else if (dimension.symbol.empty())
      sizes.append(nb::none());
    else
      sizes.append(dimension.symbol);
  }
  return nb::tuple(sizes);
}

ModelHandle load_model(nb::handle file, const LoadOptions& options, const Runtime* runtime,
                       const std::filesystem::path& folder) {
  std::filesystem::path path;
  // Bytes would be a path for Python's own functions.
  if (!nb::isinstance<nb::bytes>(file) && nb::try_cast(file, path)) {
    auto model = [&] {
      const nb::gil_scoped_release released;
      return runtime == nullptr ? Model::load(path, options) : Model::load(path, options, *runtime);
    }();
    return {value_or_raise(std::move(model)), path.string()};
  }
  auto buffer = make_shared_buffer();
  if (!buffer->acquire(file))
    throw nb::type_error("the model must be a path or an object with the bytes of a file");
  const ModelBytes bytes{buffer->bytes(), buffer, folder};
  auto model = [&] {
    const nb::gil_scoped_release released;
    return runtime == nullptr ? Model::load(bytes, options) : Model::load(bytes, options, *runtime);
  }();
  return {value_or_raise(std::move(model)), std::to_string(bytes.bytes.size()) + " bytes"};
}

void bind_model(nb::module_& module) {
  bind_tensor_info(module);
  bind_metadata(module);
  nb::class_<ModelHandle>(module, "Model", kModelDoc)
      .def("__init__", init_model, nb::arg("file"), nb::kw_only(),
           nb::arg("disabled_passes") = std::vector<std::string>(), nb::arg("max_nesting") = 16,
           nb::arg("inputs") = KnownSizes(), nb::arg("signature") = "", nb::arg("section") = "",
           nb::arg("folder") = "", nb::arg("runtime").none() = nb::none(), nb::sig(kModelSignature))
      .def_prop_ro(
          "inputs", [](const ModelHandle& self) { return self.model.inputs(); },
          "The inputs that a run must give, in the file's order.")
      .def_prop_ro(
          "outputs", [](const ModelHandle& self) { return self.model.outputs(); },
          "The outputs, in the file's order.")
      .def_prop_ro("ties", tie_pairs,
                   "Pairs (input, output) of the state that a TFLite model keeps from run to run.")
      .def_prop_ro(
          "symbols", [](const ModelHandle& self) { return self.model.symbols(); },
          "Names of the free dimensions, which the shapes of inputs give their values.")
      .def_prop_ro("metadata", [](const ModelHandle& self) { return self.model.metadata(); })
      .def_prop_ro(
          "nodes", [](const ModelHandle& self) { return self.model.nodes(); },
          "The number of nodes after the passes.")
      .def_static("passes", &Model::passes, "Names of all passes, in the order in which they run.")
      .def("__repr__", [](const ModelHandle& self) {
        return "<parallax.Model " + self.name + ": (" + list_text(self.model.inputs()) + ") -> (" +
               list_text(self.model.outputs()) + "), " + std::to_string(self.model.nodes()) +
               " nodes>";
      });
}

}  // namespace parallax::python
