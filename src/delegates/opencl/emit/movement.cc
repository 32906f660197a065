// Emits operators that move elements: Transpose, Expand, Slice, Concat, Split, Tile, Pad, and views
// whose bytes must be elsewhere.
#include "ops/params/movement.h"
#include "delegates/opencl/elementwise.h"
#include "delegates/opencl/emit/emitters.h"
#include "kernels/reference/common.h"

namespace parallax::opencl {
namespace {

KernelId pick_of(std::int64_t element_bytes) {
  return element_bytes == 1   ? KernelId::pick_8
         : element_bytes == 2 ? KernelId::pick_16
         : element_bytes == 4 ? KernelId::pick_32
                              : KernelId::pick_64;
}

struct Cut {
  std::int64_t start = 0, step = 1;
};

/// Returns a slice with its start clamped as ONNX defines; `out` steps stay within [0, dim).
Result<Cut> cut_of(std::int64_t start, std::int64_t step, std::int64_t dim, std::int64_t out) {
  if (start < 0) start += dim;
  start = step < 0 ? std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(dim - 1, 0))
                   : std::clamp<std::int64_t>(start, 0, dim);
  if (out == 0) return Cut{0, 0};
  const auto reach = checked_mul(out - 1, step);
  const auto last = reach ? checked_add(start, *reach) : std::nullopt;
  if (step == 0 || start >= dim || !last || *last < 0 || *last >= dim)
    return bad_step("slice leaves its input");
  return Cut{start, out == 1 ? 0 : step};
}

/// Copies `dims` elements between a part of a tensor, which begins at `axis` position `from`, and a
/// dense one.
void move_part(Emission& e, TensorArgument whole, const Dims& whole_dims, int axis,
               std::int64_t from, TensorArgument part, const Dims& dims, bool into_whole) {
  const Strides strides = row_major_strides(whole_dims);
  whole.first += from * strides[static_cast<std::size_t>(axis)];
  const Strides dense = row_major_strides(dims);
  if (into_whole) {
    emit_move(e, dims, part, dense, whole, strides);
  } else {
    emit_move(e, dims, whole, strides, part, dense);
  }
}

/// Returns the element of [0, dim) that position `at`, inside or outside, shows; -1 for the fill.
std::int64_t shown(PadMode mode, std::int64_t at, std::int64_t dim) {
  if (at >= 0 && at < dim) return at;
  const auto remainder = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  if (mode == PadMode::kEdge) return at < 0 ? 0 : dim - 1;
  if (mode == PadMode::kWrap) return remainder(at, dim);
  if (mode != PadMode::kReflect) return -1;
  if (dim == 1) return 0;
  const std::int64_t period = 2 * (dim - 1), within = remainder(at, period);
  return within < dim ? within : period - within;
}

/// Emits a selection of elements by one table entry for each position of each axis.
Status emit_pick(Emission& e, const std::vector<std::vector<std::int32_t>>& entries,
                 TensorArgument fill) {
  const Walk walk = plain_walk_of(e.out(), {row_major_strides(e.in(0))});
  std::vector<std::int32_t> table;
  StridesArgument starts;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    starts.at[k] = static_cast<std::int32_t>(table.size());
    const auto& axis = entries[entries.size() - 1 - k];
    table.insert(table.end(), axis.begin(), axis.end());
  }
  const TensorArgument y = e.output();
  const std::int32_t has_fill = fill.place >= 0 ? 1 : 0;
  e.launch(pick_of(y.element_bytes), {walk.groups, 1, 1},
           {walk.space, e.input(0), walk.operands[0], e.table(table), starts, has_fill, fill, y});
  return {};
}

struct Pads {
  std::vector<std::int64_t> begin, end;
};
Result<Pads> pads_of(const Emission& e) {
  const int rank = e.in(0).rank();
  PX_ASSIGN(const std::vector<std::int64_t> pads, known_integers(e.inputs[1]));
  std::vector<std::int64_t> axes;
  if (e.has(3)) {
    PX_ASSIGN(axes, known_integers(e.inputs[3]));
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) return bad_step("pads must have two elements per axis");
  Pads result{std::vector<std::int64_t>(static_cast<std::size_t>(rank), 0),
              std::vector<std::int64_t>(static_cast<std::size_t>(rank), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) return bad_step("axis out of range");
    const auto axis = static_cast<std::size_t>(positive_axis(axes[i], rank));
    result.begin[axis] = pads[i];
    result.end[axis] = pads[axes.size() + i];
  }
  return result;
}

/// Table entries of one padded axis.
Result<std::vector<std::int32_t>> padded_axis(PadMode mode, std::int64_t begin, std::int64_t end,
                                              std::int64_t dim, std::int64_t out) {
  const std::int64_t cut_begin = std::min<std::int64_t>(begin, 0),
                     cut_end = std::min<std::int64_t>(end, 0);
  const auto total = checked_add(begin, end);
  if ((total ? checked_add(dim, *total) : std::nullopt) != out)
    return bad_step("pads do not give the result's shape");
  const std::int64_t left = std::max<std::int64_t>(dim + cut_begin + cut_end, 0);
  if (left == 0 && out > 0 && mode != PadMode::kConstant) return bad_step("no element to pad with");
  std::vector<std::int32_t> entries;
  for (std::int64_t i = 0; i < out; ++i) {
    const std::int64_t from = shown(mode, i - std::max<std::int64_t>(begin, 0), left);
    entries.push_back(static_cast<std::int32_t>(from < 0 ? -1 : from - cut_begin));
  }
  return entries;
}

}  // namespace

Status emit_view(Emission& e) {
  if (e.in(0).checked_elements() != e.out().checked_elements())
    return bad_step("the result has not as many elements as the input");
  const Strides dense = row_major_strides(e.out());
  emit_move(e, e.out(), e.input(0), dense, e.output(), dense);
  return {};
}

Status emit_transpose(Emission& e) {
  const Dims& in = e.in(0);
  const Strides dense = row_major_strides(in);
  const auto perm = params_of<TransposeParams>(e.node).perm;
  Strides strides{};
  for (int axis = 0; axis < in.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const int from = perm.empty() ? in.rank() - 1 - axis : positive_axis(perm[i], in.rank());
    strides[i] = dense[static_cast<std::size_t>(from)];
  }
  emit_move(e, e.out(), e.input(0), strides, e.output(), row_major_strides(e.out()));
  return {};
}

Status emit_expand(Emission& e) {
  emit_move(e, e.out(), e.input(0), broadcast_strides(e.in(0), e.out()), e.output(),
            row_major_strides(e.out()));
  return {};
}

Status emit_slice(Emission& e) {
  const Dims& in = e.in(0);
  PX_ASSIGN(const std::vector<std::int64_t> starts, known_integers(e.inputs[1]));
  std::vector<std::int64_t> axes, steps;
  if (e.has(3)) {
    PX_ASSIGN(axes, known_integers(e.inputs[3]));
  }
  if (e.has(4)) {
    PX_ASSIGN(steps, known_integers(e.inputs[4]));
  }
  Strides strides = row_major_strides(in);
  const Strides dense = strides;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int axis =
        positive_axis(i < axes.size() ? axes[i] : static_cast<std::int64_t>(i), in.rank());
    if (axis < 0 || axis >= in.rank()) return bad_step("bad slice axis");
    PX_ASSIGN(const Cut cut,
              cut_of(starts[i], i < steps.size() ? steps[i] : 1, in[axis], e.out()[axis]));
    const auto at = static_cast<std::size_t>(axis);
    first += cut.start * dense[at];
    strides[at] = cut.step * dense[at];
  }
  emit_move(e, e.out(), e.input(0, first), strides, e.output(), row_major_strides(e.out()));
  return {};
}

Status emit_concat(Emission& e) {
  const int axis = positive_axis(params_of<AxisParams<0>>(e.node).axis, e.out().rank());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    if (!e.has(i)) return bad_step("an input is left out");
    move_part(e, e.output(), e.out(), axis, at, e.input(i), e.in(i), true);
    at += e.in(i)[axis];
  }
  if (at != e.out()[axis]) return bad_step("inputs do not fill the result");
  return {};
}

Status emit_split(Emission& e) {
  const Dims& in = e.in(0);
  const int axis = positive_axis(params_of<AxisParams<0>>(e.node).axis, in.rank());
  const auto parts = static_cast<std::int64_t>(e.outputs.size());
  const std::int64_t equal = in[axis] / parts + (in[axis] % parts != 0 ? 1 : 0);
  std::vector<std::int64_t> sizes;
  if (e.has(1)) {
    PX_ASSIGN(sizes, known_integers(e.inputs[1]));
  }
  std::int64_t at = 0;
  for (std::size_t i = 0; i < e.outputs.size(); ++i) {
    if (e.wants(i)) {
      if (e.out(i)[axis] > in[axis] - at) return bad_step("the parts do not add up to the axis");
      move_part(e, e.input(0), in, axis, at, e.output(i), e.out(i), false);
    }
    at += i < sizes.size() ? sizes[i] : equal;
    if (at < 0 || at > in[axis]) at = in[axis];
  }
  return {};
}

Status emit_tile(Emission& e) {
  if (e.out().elements() == 0) return {};
  if (e.out().rank() == 0) return emit_expand(e);
  std::vector<std::vector<std::int32_t>> entries(static_cast<std::size_t>(e.out().rank()));
  for (int axis = 0; axis < e.out().rank(); ++axis) {
    for (std::int64_t i = 0; i < e.out()[axis]; ++i)
      entries[static_cast<std::size_t>(axis)].push_back(
          static_cast<std::int32_t>(i % e.in(0)[axis]));
  }
  return emit_pick(e, entries, {});
}

/// Computes the numbers now, when sizes are bound.
Status emit_range(Emission& e) {
  const std::int64_t count = e.out().elements();
  if (count == 0) return {};
  for (const std::size_t i : {0U, 2U}) {
    if (!e.has(i) || e.inputs[i].desc.data == nullptr)
      return not_covered("a range that is known to the device only");
  }
  const DType dtype = e.outputs[0].desc.dtype;
  return dispatch<kNumbers>(dtype == DType::kF16 ? DType::kF32 : dtype, [&](auto type) -> Status {
    using T = typename decltype(type)::type;
    const T start = load_element<T>(e.inputs[0].desc.data, 0),
            delta = load_element<T>(e.inputs[2].desc.data, 0);
    std::vector<T> numbers;
    for (std::int64_t i = 0; i < count; ++i)
      numbers.push_back(wrap_add(start, wrap_mul(static_cast<T>(i), delta)));
    TensorArgument from{-1, 0, sizeof(T)};
    if constexpr (std::is_same_v<T, float>) {
      from = e.tensor_table(numbers);
    } else {
      from.place = e.memory.table(std::as_bytes(std::span(numbers)));
    }
    const Strides dense = row_major_strides(e.out());
    emit_move(e, e.out(), from, dense, e.output(), dense);
    return {};
  });
}

Status emit_pad(Emission& e) {
  if (e.out().elements() == 0) return {};
  const TensorArgument fill =
      e.has(2) && e.inputs[2].desc.elements() > 0 ? e.input(2) : TensorArgument{};
  if (e.out().rank() == 0) return emit_view(e);
  PX_ASSIGN(const Pads pads, pads_of(e));
  const PadMode mode = params_of<PadParams>(e.node).mode;
  std::vector<std::vector<std::int32_t>> entries;
  for (int axis = 0; axis < e.out().rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    PX_ASSIGN(std::vector<std::int32_t> one,
              padded_axis(mode, pads.begin[at], pads.end[at], e.in(0)[axis], e.out()[axis]));
    entries.push_back(std::move(one));
  }
  return emit_pick(e, entries, fill);
}

}  // namespace parallax::opencl
