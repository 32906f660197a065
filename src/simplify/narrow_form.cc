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

/// Elements that are read together: a few cache lines, so that a transposition writes to lines that
/// stay in the first-level cache.
constexpr std::int64_t kPieceElements = 64;

/// Part of a run: its first element in the source and in the result, and the index of that element
/// along the first axis.
struct Run {
  std::int64_t from = 0, to = 0, first = 0;
};

/// The elements of a constant with dimensions `dims`, cut along one axis: that along which they lie
/// next to each other in the source, or else the last.
struct Runs {
  const StoredForm& stored;
  const Dims& dims;
  int axis;
  std::int64_t length, count;           ///< elements of a run, runs
  std::int64_t from_step, to_step = 1;  ///< from element to element, in the source and the result

  Runs(const StoredForm& form, const Dims& of) : stored(form), dims(of), axis(of.rank() - 1) {
    for (int i = 0; i < dims.rank(); ++i)
      if (stored.stride(i) == 1 && dims[i] > 1) axis = i;
    length = axis < 0 ? 1 : dims[axis];
    count = length == 0 ? 0 : dims.elements() / length;
    from_step = axis < 0 ? 1 : stored.stride(axis);
    for (int i = axis + 1; i < dims.rank(); ++i) to_step *= dims[i];
  }

  /// Returns the part of run i from its element `begin` on.
  Run at(std::int64_t i, std::int64_t begin) const {
    Run run{begin * from_step, begin * to_step, begin};
    std::int64_t step = 1;
    for (int at = dims.rank() - 1; at >= 0; step *= dims[at--]) {
      if (at == axis) continue;
      const std::int64_t index = i % dims[at];
      i /= dims[at];
      run.from += index * stored.stride(at);
      run.to += index * step;
      if (at == 0) run.first = index;
    }
    return run;
  }

  void read(const Run& run, std::span<float> to) const {
    const Constant& source = stored.source;
    if (from_step == 1) return read_elements(source.dtype, source.bytes.data(), run.from, to);
    for (std::size_t j = 0; j < to.size(); ++j)
      to[j] = read_element<float>(source.dtype, source.bytes.data(),
                                  run.from + static_cast<std::int64_t>(j) * from_step);
  }
};

/// Multiplies bytes with their units: `step` is 1 if they follow the first axis, else 0.
void scale(const NarrowForm& form, const Run& run, std::int64_t step, std::span<float> numbers) {
  const float zero = form.stored->source.dtype == DType::kU8 ? 128 : 0;
  const std::vector<float>& units = *form.units;
  const std::int64_t first = units.size() == 1 ? 0 : run.first;
  if (units.size() == 1) step = 0;
  for (std::size_t j = 0; j < numbers.size(); ++j)
    numbers[j] = (numbers[j] - zero) *
                 units[static_cast<std::size_t>(first + static_cast<std::int64_t>(j) * step)];
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
  const Runs runs(*form.stored, dims);
  auto* const to = reinterpret_cast<float*>(into.data());
  for (std::int64_t begin = 0; begin < runs.length; begin += kPieceElements) {
    for (std::int64_t i = 0; i < runs.count; ++i) {
      const Run run = runs.at(i, begin);
      float piece[kPieceElements];
      const std::span<float> numbers(
          piece, static_cast<std::size_t>(std::min(kPieceElements, runs.length - begin)));
      runs.read(run, numbers);
      if (form.units != nullptr) scale(form, run, runs.axis == 0 ? 1 : 0, numbers);
      for (std::size_t j = 0; j < numbers.size(); ++j)
        to[run.to + static_cast<std::int64_t>(j) * runs.to_step] = numbers[j];
    }
  }
}

}  // namespace parallax
