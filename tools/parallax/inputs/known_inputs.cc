#include "inputs/known_inputs.h"

#include <algorithm>
#include <map>
#include <string>

#include "files/npy.h"

namespace parallax::cli {
namespace {

/// The file of `text`, "NAME=FILE", if it names this input.
std::optional<std::string> file_for(const std::string& text, const std::string& input) {
  if (!text.starts_with(input + "=")) return std::nullopt;
  return text.substr(input.size() + 1);
}

bool is_given(const Options& options, const std::string& input) {
  return std::ranges::any_of(options.inputs,
                             [&](const auto& text) { return file_for(text, input).has_value(); });
}

/// Whether --input names what is no input of the model.
bool names_another(const Options& options, const Model& model) {
  return !std::ranges::all_of(options.inputs, [&](const std::string& text) {
    return std::ranges::any_of(model.inputs(), [&](const TensorInfo& info) {
      return file_for(text, info.name).has_value();
    });
  });
}

/// Whether --shape gives one dimension two sizes.
bool tells_apart(const Options& options, const Model& model) {
  std::map<std::string, std::int64_t> sizes;
  for (const GivenShape& shape : options.shapes) {
    const auto input = std::ranges::find(model.inputs(), shape.input, &TensorInfo::name);
    if (input == model.inputs().end() || input->shape.size() != shape.dims.size()) continue;
    for (std::size_t i = 0; i < shape.dims.size(); ++i) {
      if (input->shape[i].value >= 0) continue;
      const auto [known, added] = sizes.try_emplace(input->shape[i].symbol, shape.dims[i]);
      if (known->second != shape.dims[i]) return true;
    }
  }
  return false;
}

/// Whether --shape gives a dimension another size than the file.
bool changes_sizes(const Options& options, const Model& model) {
  return std::ranges::any_of(options.shapes, [&](const GivenShape& shape) {
    const auto input = std::ranges::find(model.inputs(), shape.input, &TensorInfo::name);
    const auto agrees = [](const Dimension& dim, std::int64_t size) {
      return dim.value < 0 || dim.value == size;
    };
    return input != model.inputs().end() && !std::ranges::equal(input->shape, shape.dims, agrees);
  });
}

/// The dimensions of the array that --input gives for `input`.
std::optional<std::vector<std::int64_t>> dims_of_file(const Options& options,
                                                      const std::string& input) {
  for (const std::string& text : options.inputs) {
    const auto file = file_for(text, input);
    if (!file) continue;
    const auto tensor = read_npy(*file);
    if (!tensor) return std::nullopt;
    const auto dims = tensor->dims().span();
    return std::vector(dims.begin(), dims.end());
  }
  return std::nullopt;
}

/// Sizes that --dim gives, by name.
std::vector<std::int64_t> named_dims(const Options& options, const std::vector<Dimension>& shape) {
  std::vector<std::int64_t> dims;
  for (const Dimension& dim : shape) {
    dims.push_back(-1);
    const auto given = std::ranges::find(options.dims, dim.symbol, &GivenDim::symbol);
    if (dim.value < 0 && given != options.dims.end() && given->values.size() == 1)
      dims.back() = given->values.front();
  }
  return dims;
}

std::optional<std::vector<std::int64_t>> known_dims(const Options& options, const FileTensor& input,
                                                    bool read_files) {
  const auto shape = std::ranges::find(options.shapes, input.name, &GivenShape::input);
  if (shape != options.shapes.end()) return shape->dims;
  auto of_file = read_files ? dims_of_file(options, input.name) : std::nullopt;
  if (of_file || !input.shape) return of_file;
  std::vector<std::int64_t> dims = named_dims(options, *input.shape);
  if (std::ranges::all_of(dims, [](std::int64_t dim) { return dim < 0; })) return std::nullopt;
  return dims;
}

/// The inputs of the signature that runs, or the file's.
const std::vector<FileTensor>& chosen_inputs(const Options& options, const FileReport& file) {
  const auto found =
      std::ranges::find(file.signatures, options.load.signature, &FileSignature::name);
  return options.load.signature.empty() || found == file.signatures.end() ? file.inputs
                                                                          : found->inputs;
}

bool gives_sizes(const Options& options) {
  return !options.shapes.empty() || !options.dims.empty() || !options.inputs.empty();
}

}  // namespace

std::vector<KnownInput> known_inputs(const Options& options, const Result<Model>& loaded) {
  const bool refused = !loaded && (loaded.error().code == ErrorCode::kUnsupported ||
                                   loaded.error().code == ErrorCode::kInvalidModel);
  if (!gives_sizes(options) || (!loaded && !refused)) return {};
  const bool apart = loaded && tells_apart(options, *loaded);
  const bool changed = loaded && changes_sizes(options, *loaded);
  const bool all = refused || options.loads_with_sizes;
  if (!all && !apart && !changed && !names_another(options, *loaded)) return {};
  const auto file = inspect_file(options.model, options.load.section);
  if (!file) return {};
  // The sizes of a TFLite file are often one example's; those of an ONNX file are its word.
  const bool sized = all || apart || (changed && file->format == "TFLite");
  std::vector<KnownInput> known;
  for (const FileTensor& input : chosen_inputs(options, *file)) {
    KnownInput one{input.name};
    if (sized) one.dims = known_dims(options, input, all);
    const bool replaces = input.has_default && is_given(options, input.name);
    if (input.has_default ? replaces : one.dims.has_value()) known.push_back(std::move(one));
  }
  return known;
}

bool may_load_with_sizes(const Options& options, const Error& error) {
  return !options.loads_with_sizes && gives_sizes(options) && error.stage == Stage::kRun &&
         error.code == ErrorCode::kUnsupported;
}

bool names_dimension(const Options& options, const std::string& name) {
  const auto file = inspect_file(options.model, options.load.section);
  if (!file) return false;
  return std::ranges::any_of(file->inputs, [&](const FileTensor& input) {
    return input.shape &&
           std::ranges::find(*input.shape, name, &Dimension::symbol) != input.shape->end();
  });
}

}  // namespace parallax::cli
