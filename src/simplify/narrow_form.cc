#include "simplify/narrow_form.h"

#include <algorithm>

#include "ops/common.h"
#include "ops/deferred.h"
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
  return {false, std::make_shared<const std::vector<float>>(std::move(units)),
          stored_form(*x, x->dims)};
}

NarrowForm of_cast(const Graph& graph, const Node& node) {
  const Constant* const x = constant_input(graph, node, 0);
  if (x->dtype != DType::kF16) return {};
  return {true, nullptr, stored_form(*x, x->dims)};
}

NarrowForm of_transposed(const Graph& graph, const Node& node) {
  const Constant* const x = constant_input(graph, node, 0);
  NarrowForm form{x->is_half, x->units};
  const auto perm = params_of<TransposeParams>(node).perm;
  const bool first_stays = !perm.empty() && perm[0] == 0;
  if (form.units != nullptr && form.units->size() > 1 && !first_stays) return {form.is_half};
  if (const auto stored = stored_form(*x, x->dims))
    form.stored = transposed_form(*stored, x->dims, perm);
  return form;
}

}  // namespace

NarrowForm narrow_form(const Graph& graph, const Node& node) {
  const Constant* const x = constant_input(graph, node, 0);
  if (x == nullptr) return {};
  if (node.op == OpKind::kCast) return of_cast(graph, node);
  if (node.op == OpKind::kTranspose) return of_transposed(graph, node);
  if (node.op == OpKind::kDequantizeLinear) return of_dequantised(graph, node);
  return {};
}

void write_numbers(const NarrowForm& form, const Dims& dims, std::span<std::byte> into) {
  const Constant& source = form.stored->source;
  const float zero = source.dtype == DType::kU8 ? 128 : 0;
  const int last = dims.rank() - 1;
  const std::int64_t row = last < 0 ? 1 : dims[last], step = form.stored->stride(std::max(last, 0));
  auto* to = reinterpret_cast<float*>(into.data());
  const std::int64_t rows = row == 0 ? 0 : dims.elements() / row;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t from = 0, left = i;
    for (int axis = last - 1; axis >= 0; left /= dims[axis--])
      from += left % dims[axis] * form.stored->stride(axis);
    const std::int64_t first = last < 1 ? 0 : i / (rows / dims[0]);
    for (std::int64_t j = 0; j < row; ++j, ++to) {
      const auto x = read_element<float>(source.dtype, source.bytes.data(), from + j * step);
      if (form.units == nullptr) {
        *to = x;
        continue;
      }
      const std::vector<float>& units = *form.units;
      *to = (x - zero) *
            units[units.size() == 1 ? 0 : static_cast<std::size_t>(last < 1 ? j : first)];
    }
  }
}

}  // namespace parallax
