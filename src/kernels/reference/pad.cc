// Pad in all modes: constant, reflect, edge, wrap. Negative pads cut elements off first.
#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/reference/pad_source.h"

namespace parallax {
namespace {

std::int64_t positive_remainder(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r < 0 ? r + b : r;
}

}  // namespace

std::int64_t padded_source(PadMode mode, std::int64_t at, std::int64_t dim) {
  if (at >= 0 && at < dim) return at;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return at < 0 ? 0 : dim - 1;
    case PadMode::kWrap:
      return positive_remainder(at, dim);
    case PadMode::kReflect:
      break;
  }
  if (dim == 1) return 0;
  const std::int64_t period = 2 * (dim - 1);
  const std::int64_t within = positive_remainder(at, period);
  return within < dim ? within : period - within;
}

namespace {

struct PadShape {
  Dims in, out;
  PadMode mode = PadMode::kConstant;
  TensorDesc pads, axes;

  std::int64_t table_size() const {
    std::int64_t size = 0;
    for (std::int64_t dim : out) size += dim;
    return size;
  }
};

/// Fills the entries of one axis with source indices.
Status fill_axis(const PadShape& shape, int axis, std::int64_t begin, std::int64_t end,
                 std::int64_t* table) {
  const std::int64_t dim = shape.in[axis], out = shape.out[axis];
  const std::int64_t cut_begin = begin < 0 ? begin : 0, cut_end = end < 0 ? end : 0;
  const auto total = checked_add(begin, end);
  const auto expected = total ? checked_add(dim, *total) : std::nullopt;
  if (expected != out)
    return run_error(ErrorCode::kInvalidInput, "pads do not give the result's shape");
  const auto cut = checked_add(cut_begin, cut_end);
  const std::int64_t left = cut && *cut >= -dim ? dim + *cut : 0;
  if (left <= 0 && out > 0 && shape.mode != PadMode::kConstant) {
    return run_error(ErrorCode::kInvalidInput, "no element to pad with");
  }
  for (std::int64_t i = 0; i < out; ++i) {
    const std::int64_t from = padded_source(shape.mode, i - (begin > 0 ? begin : 0), left);
    table[i] = from < 0 ? -1 : from - cut_begin;
  }
  return {};
}

Status fill_table(const PadShape& shape, const KernelArgs& args, std::int64_t* table) {
  const int rank = shape.in.rank();
  std::array<std::int64_t, Dims::kMaxRank> begin{}, end{};
  const std::int64_t count = shape.axes.present ? shape.axes.elements() : rank;
  if (shape.pads.elements() != 2 * count || count > rank) {
    return run_error(ErrorCode::kInvalidInput, "pads must have two elements per axis");
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t named =
        shape.axes.present ? load_index(args.inputs[3], shape.axes.dtype, i) : i;
    if (named < -rank || named >= rank)
      return run_error(ErrorCode::kInvalidInput, "axis out of range");
    const auto axis = static_cast<std::size_t>(positive_axis(named, rank));
    begin[axis] = load_index(args.inputs[1], shape.pads.dtype, i);
    end[axis] = load_index(args.inputs[1], shape.pads.dtype, count + i);
  }
  for (int axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    PX_RETURN_IF_ERROR(fill_axis(shape, axis, begin[at], end[at], table));
    table += shape.out[axis];
  }
  return {};
}

template <class T>
void pad_elements(const PadShape& shape, TileRange range, const std::int64_t* table, T value,
                  const KernelArgs& args) {
  const Strides strides = row_major_strides(shape.in);
  for (std::int64_t o = range.begin; o < range.end; ++o) {
    std::int64_t rest = o, from = 0, start = shape.table_size();
    bool inside = true;
    for (int axis = shape.out.rank() - 1; axis >= 0 && inside; --axis) {
      start -= shape.out[axis];
      const std::int64_t source = table[start + rest % shape.out[axis]];
      rest /= shape.out[axis];
      inside = source >= 0;
      from += source * strides[static_cast<std::size_t>(axis)];
    }
    store_element(args.outputs[0], o, inside ? load_element<T>(args.inputs[0], from) : value);
  }
}

}  // namespace

KernelResult reference_pad(const KernelRequest& request) {
  PadShape shape;
  shape.in = request.inputs[0].dims;
  shape.out = request.outputs[0].dims;
  shape.mode = params_of<PadParams>(request.node).mode;
  shape.pads = request.inputs[1];
  if (request.has(3)) shape.axes = request.inputs[3];
  const bool has_value = request.has(2) && request.inputs[2].elements() > 0;
  const std::int64_t count = shape.out.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 2);
  const LambdaKernelOptions options{.tiles = tiles,
                                    .scratch_bytes = count == 0 ? 0 : shape.table_size() * 8,
                                    .byte_inputs = 0b1111};
  return make_for_size(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      auto* table = reinterpret_cast<std::int64_t*>(args.scratch.data());
      PX_RETURN_IF_ERROR(fill_table(shape, args, table));
      const T value = has_value ? load_element<T>(args.inputs[2], 0) : T{0};
      pad_elements<T>(shape, tile_range(count, tiles, tile), table, value, args);
      return {};
    });
  });
}

}  // namespace parallax
