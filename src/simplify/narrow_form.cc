#include "simplify/narrow_form.h"

#include "ops/common.h"
#include "ops/params/movement.h"
#include "ops/params/quantised.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

/// Longer lists are weights themselves.
constexpr std::int64_t kMostUnits = 64;

const Constant* constant_input(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return nullptr;
  const auto& constant = graph.values[node.inputs[i]].constant;
  return constant ? &*constant : nullptr;
}

/// Whether bytes of this type are [-128, 127] around each of the zero points.
bool is_symmetric(DType dtype, const Constant* zeros) {
  const int middle = dtype == DType::kU8 ? 128 : 0;
  if (dtype != DType::kI8 && dtype != DType::kU8) return false;
  if (zeros == nullptr) return middle == 0;
  for (std::int64_t i = 0; i < zeros->dims.elements(); ++i)
    if (read_element<std::int32_t>(zeros->dtype, zeros->bytes.data(), i) != middle) return false;
  return true;
}

NarrowForm of_dequantised(const Graph& graph, const Node& node) {
  const Constant* const x = constant_input(graph, node, 0);
  const Constant* const scales = constant_input(graph, node, 1);
  const auto params = params_of<DequantizeLinearParams>(node);
  if (scales == nullptr || scales->dtype != DType::kF32 || params.block_size != 0) return {};
  const std::int64_t count = scales->dims.elements();
  const auto axis = normalize_axis(params.axis, x->dims.rank());
  const bool along_first = axis == 0 && x->dims.rank() > 0 && count == x->dims[0];
  if ((count != 1 && !along_first) || count > kMostUnits) return {};
  if (!is_symmetric(x->dtype, constant_input(graph, node, 2))) return {};
  std::vector<float> units;
  for (std::int64_t i = 0; i < count; ++i)
    units.push_back(read_element<float>(DType::kF32, scales->bytes.data(), i));
  return {false, std::make_shared<const std::vector<float>>(std::move(units))};
}

NarrowForm of_transposed(const Graph& graph, const Node& node) {
  const Constant* const x = constant_input(graph, node, 0);
  NarrowForm form{x->is_half, x->units};
  const auto perm = params_of<TransposeParams>(node).perm;
  const bool first_stays = !perm.empty() && perm[0] == 0;
  if (form.units != nullptr && form.units->size() > 1 && !first_stays) form.units = nullptr;
  return form;
}

}  // namespace

NarrowForm narrow_form(const Graph& graph, const Node& node) {
  const Constant* const x = constant_input(graph, node, 0);
  if (x == nullptr) return {};
  if (node.op == OpKind::kCast) return {x->dtype == DType::kF16, nullptr};
  if (node.op == OpKind::kTranspose) return of_transposed(graph, node);
  if (node.op == OpKind::kDequantizeLinear) return of_dequantised(graph, node);
  return {};
}

}  // namespace parallax
