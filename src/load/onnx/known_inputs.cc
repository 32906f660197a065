#include "load/onnx/known_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "load/known_inputs.h"

namespace parallax {
namespace {

constexpr std::int64_t kFirstWithDefaults = 4;  ///< IR version

Status apply_dims(const KnownInput& known, OnnxValueInfo& input) {
  const std::vector<std::int64_t>& dims = *known.dims;
  if (!input.is_tensor || !input.containers.empty())
    return refuse_known_input(known, "is not a tensor");
  if (!input.shape) input.shape.emplace(dims.size());
  PX_RETURN_IF_ERROR(check_known_dims(known, input.shape->size()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    OnnxDimension& dim = (*input.shape)[i];
    if (dims[i] == -1) continue;
    if (dim.value && *dim.value >= 0 && *dim.value != dims[i])
      return refuse_known_input(
          known, fmt::format("cannot have size {} in dimension {}, the file's is {}", dims[i], i,
                             *dim.value));
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
  std::vector<std::string_view> inputs;
  for (const OnnxValueInfo& input : graph.inputs) inputs.emplace_back(input.name);
  PX_RETURN_IF_ERROR(check_known_inputs(known, inputs));
  std::set<std::string_view> names;
  for (const KnownInput& one : known) {
    names.insert(one.name);
    if (ir_version < kFirstWithDefaults && has_initializer(graph, one.name))
      return refuse_known_input(
          one, fmt::format("is a constant of this model (IR version {}; defaults that a run may "
                           "replace are there from {} on)",
                           ir_version, kFirstWithDefaults));
    if (one.dims)
      PX_RETURN_IF_ERROR(apply_dims(
          one, *std::ranges::find(graph.inputs, std::string_view(one.name), &OnnxValueInfo::name)));
  }
  erase_initializers(names, graph);
  return {};
}

}  // namespace parallax
