// Resize, nearest and linear, over any axes. Where a result's element comes from is computed once
// per axis and tile, in single precision as the standard's reference does, and looked up.
#include <fmt/format.h>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"

namespace parallax {
namespace {

enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric
};
enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

Coordinates coordinates_of(const std::string& name) {
  if (name == "half_pixel_symmetric") return Coordinates::kHalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return Coordinates::kPytorchHalfPixel;
  if (name == "align_corners") return Coordinates::kAlignCorners;
  if (name == "asymmetric") return Coordinates::kAsymmetric;
  return Coordinates::kHalfPixel;
}

Rounding rounding_of(const std::string& name) {
  if (name == "round_prefer_ceil") return Rounding::kPreferCeil;
  if (name == "floor") return Rounding::kFloor;
  if (name == "ceil") return Rounding::kCeil;
  return Rounding::kPreferFloor;
}

/// How much an axis grows, as a fraction: the quotient of two sizes, rounded, would move a position
/// off the middle between two elements, where it decides which one is nearest.
struct Scale {
  float above = 1;
  float below = 1;
};

/// Where element `i` of an axis resized from `in` to `out` lies on the original.
float original_coordinate(Coordinates mode, std::int64_t i, std::int64_t in, std::int64_t out,
                          Scale scale) {
  const auto x = static_cast<float>(i);
  const auto from = static_cast<float>(in), to = static_cast<float>(out);
  switch (mode) {
    case Coordinates::kHalfPixel:
      return (x + 0.5F) * scale.below / scale.above - 0.5F;
    case Coordinates::kHalfPixelSymmetric: {
      // The sampled span is centred where `out` is not exactly scale times `in`.
      const float offset = from / 2.0F * (1.0F - to * scale.below / (scale.above * from));
      return offset + (x + 0.5F) * scale.below / scale.above - 0.5F;
    }
    case Coordinates::kPytorchHalfPixel:
      return out > 1 ? (x + 0.5F) * scale.below / scale.above - 0.5F : 0.0F;
    case Coordinates::kAlignCorners:
      return out > 1 ? x * (from - 1.0F) / (to - 1.0F) : 0.0F;
    case Coordinates::kAsymmetric:
      break;
  }
  return x * scale.below / scale.above;
}

float rounded(Rounding mode, float x) {
  const float below = std::floor(x), fraction = x - below;
  if (fraction == 0.0F) return below;
  bool up = fraction > 0.5F;
  if (mode == Rounding::kFloor) up = false;
  if (mode == Rounding::kCeil) up = true;
  if (mode == Rounding::kPreferCeil) up = fraction >= 0.5F;
  return up ? below + 1.0F : below;
}

/// Where one position of one axis takes its value from: (1 - fraction) of `low`, fraction of the
/// next element.
struct Source {
  std::int64_t low = 0;
  float fraction = 0;
};

struct ResizeShape {
  Dims in, out;
  Strides strides{};
  bool linear = false;
  Coordinates coordinates{};
  Rounding rounding{};
  std::array<int, Dims::kMaxRank> entry{};  ///< which element of scales or sizes an axis has, or -1

  /// Entries of the table, all axes' after one another.
  std::int64_t table_size() const {
    std::int64_t size = 0;
    for (std::int64_t dim : out) size += dim;
    return size;
  }
};

Source source_of(const ResizeShape& shape, int axis, std::int64_t i, Scale scale) {
  const std::int64_t in = shape.in[axis];
  if (scale.above == scale.below && in == shape.out[axis]) return {i, 0};
  float x = original_coordinate(shape.coordinates, i, in, shape.out[axis], scale);
  if (!shape.linear) x = rounded(shape.rounding, x);
  const float last = static_cast<float>(in - 1);
  if (!(x > 0.0F)) return {0, 0};
  if (x >= last) return {in - 1, 0};
  const auto low = std::min(static_cast<std::int64_t>(x), in - 1);
  return {low, low == in - 1 ? 0.0F : x - static_cast<float>(low)};
}

/// Linear interpolation at `index`, axis after axis; `table` starts at the entries of `axis`.
template <class T>
float interpolate(const ResizeShape& shape, const T* x, const Source* table, const Dims& index,
                  int axis) {
  if (axis == shape.in.rank()) return static_cast<float>(*x);
  const Source& source = table[index[axis]];
  const std::int64_t stride = shape.strides[static_cast<std::size_t>(axis)];
  const Source* next = table + shape.out[axis];
  const float low = interpolate(shape, x + source.low * stride, next, index, axis + 1);
  if (source.fraction == 0.0F) return low;
  const float high = interpolate(shape, x + (source.low + 1) * stride, next, index, axis + 1);
  return low * (1.0F - source.fraction) + high * source.fraction;
}

/// Scale of an axis from the inputs: given, or the quotient of the sizes.
Scale scale_of(const ResizeShape& shape, int axis, const KernelArgs& args, bool by_scales) {
  const int entry = shape.entry[static_cast<std::size_t>(axis)];
  if (entry >= 0 && by_scales) return {load_element<float>(args.inputs[2], entry), 1};
  return {static_cast<float>(shape.out[axis]), static_cast<float>(shape.in[axis])};
}

template <class T>
void resize_elements(const ResizeShape& shape, TileRange range, const Source* table,
                     const KernelArgs& args) {
  const T* x = args.in<T>(0);
  for (std::int64_t o = range.begin; o < range.end; ++o) {
    Dims index = shape.out;
    std::int64_t rest = o;
    for (int axis = index.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape.out[axis];
      rest /= shape.out[axis];
    }
    if constexpr (!std::is_same_v<T, BoolByte>) {
      if (shape.linear) {
        args.out<T>()[o] = convert<T>(interpolate(shape, x, table, index, 0));
        continue;
      }
    }
    std::int64_t from = 0, start = 0;
    for (int axis = 0; axis < index.rank(); ++axis) {
      from += table[start + index[axis]].low * shape.strides[static_cast<std::size_t>(axis)];
      start += shape.out[axis];
    }
    args.out<T>()[o] = x[from];
  }
}

ResizeShape resize_shape(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  ResizeShape shape;
  shape.in = request.inputs[0].dims;
  shape.out = request.outputs[0].dims;
  shape.strides = row_major_strides(shape.in);
  shape.linear = attributes.get_string("mode", "nearest") == "linear";
  shape.coordinates =
      coordinates_of(attributes.get_string("coordinate_transformation_mode", "half_pixel"));
  shape.rounding = rounding_of(attributes.get_string("nearest_mode", "round_prefer_floor"));
  const int rank = shape.in.rank();
  const bool nhwc = attributes.get_string("layout", "NCHW") == "NHWC";
  auto axes = attributes.get_ints("axes");
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  shape.entry.fill(-1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    int axis = positive_axis(axes[i], rank);  // numbered as in NCHW, whatever the layout
    if (nhwc && axis > 0) axis = axis == 1 ? rank - 1 : axis - 1;
    shape.entry[static_cast<std::size_t>(axis)] = static_cast<int>(i);
  }
  return shape;
}

}  // namespace

KernelResult reference_resize(const KernelRequest& request) {
  const ResizeShape shape = resize_shape(request);
  if (shape.linear && request.inputs[0].dtype == DType::kBool) return nullptr;
  const bool by_scales = request.has(2) && request.inputs[2].elements() > 0;
  const std::int64_t count = shape.out.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 4);
  const LambdaKernelOptions options{
      .tiles = tiles,
      .scratch_bytes =
          count == 0 ? 0 : shape.table_size() * static_cast<std::int64_t>(sizeof(Source)),
      .byte_inputs = 0b1100,
      .unused_inputs = 0b0010};
  return dispatch(EveryType{}, request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      auto* table = reinterpret_cast<Source*>(args.scratch.data());
      std::int64_t next = 0;
      for (int axis = 0; axis < shape.in.rank(); ++axis) {
        const Scale scale = scale_of(shape, axis, args, by_scales);
        if (!(scale.above > 0.0F))
          return run_error(ErrorCode::kInvalidInput, "a scale is not positive");
        for (std::int64_t i = 0; i < shape.out[axis]; ++i)
          table[next++] = source_of(shape, axis, i, scale);
      }
      resize_elements<T>(shape, tile_range(count, tiles, tile), table, args);
      return {};
    });
  });
}

}  // namespace parallax
