#include "load/onnx/known_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "load/names.h"

namespace parallax {
namespace {

constexpr std::int64_t kFirstWithDefaults = 4;  ///< IR version

tl::unexpected<Error> refused(const KnownInput& known, std::string_view why) {
  return tl::unexpected(
      load_error(ErrorCode::kInvalidInput, fmt::format("input {} {}", quote(known.name), why)));
}

Status apply_dims(const KnownInput& known, OnnxValueInfo& input) {
  const std::vector<std::int64_t>& dims = *known.dims;
  if (!input.is_tensor || !input.containers.empty()) return refused(known, "is not a tensor");
  if (!input.shape) input.shape.emplace(dims.size());
  if (input.shape->size() != dims.size())
    return refused(
        known, fmt::format("has {} dimensions, {} are given", input.shape->size(), dims.size()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    OnnxDimension& dim = (*input.shape)[i];
    if (dims[i] == -1) continue;
    const bool fixed = dim.value && *dim.value >= 0;
    if (dims[i] < 0 || (fixed && *dim.value != dims[i]))
      return refused(known,
                     fmt::format("cannot have size {} in dimension {}{}", dims[i], i,
                                 fixed ? fmt::format(", the file's is {}", *dim.value) : ""));
    dim.value = dims[i];
  }
  return {};
}

/// Erases the initializers of these names.
void erase_initializers(const std::set<std::string_view>& names, OnnxGraph& graph) {
  std::erase_if(graph.initializers,
                [&](const OnnxTensor& tensor) { return names.contains(tensor.name); });
  std::erase_if(graph.sparse_initializers,
                [&](const OnnxSparseTensor& tensor) { return names.contains(tensor.values.name); });
}

bool has_initializer(const OnnxGraph& graph, std::string_view name) {
  return std::ranges::find(graph.initializers, name, &OnnxTensor::name) !=
             graph.initializers.end() ||
         std::ranges::any_of(graph.sparse_initializers,
                             [&](const auto& tensor) { return tensor.values.name == name; });
}

}  // namespace

Status apply_known_inputs(std::span<const KnownInput> known, std::int64_t ir_version,
                          OnnxGraph& graph) {
  std::set<std::string_view> names;
  for (const KnownInput& one : known) {
    if (!names.insert(one.name).second) return refused(one, "is given twice");
    const auto input =
        std::ranges::find(graph.inputs, std::string_view(one.name), &OnnxValueInfo::name);
    if (input == graph.inputs.end()) return refused(one, "is not among the model's");
    if (ir_version < kFirstWithDefaults && has_initializer(graph, one.name))
      return refused(one, fmt::format("is a constant of this model (IR version {}; defaults that a "
                                      "run may replace are there from {} on)",
                                      ir_version, kFirstWithDefaults));
    if (one.dims) PX_RETURN_IF_ERROR(apply_dims(one, *input));
  }
  erase_initializers(names, graph);
  return {};
}

}  // namespace parallax
