// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include "kernels/reference/quantised.h"
#include "ops/params/quantised.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

constexpr std::size_t kScale = 1, kZero = 2;

/// Returns the zero point's type, or `fallback` if there is no zero point.
DType zero_type(const KernelRequest& request, DType fallback) {
  return request.has(kZero) ? request.inputs[kZero].dtype : fallback;
}

std::int64_t zero_at(const KernelArgs& args, bool has_zero, DType dtype, std::int64_t i) {
  return has_zero ? load_integer(dtype, args.inputs[kZero], i) : 0;
}

/// Granule of tiles, so that no two of them write the same byte: elements may be smaller than one.
constexpr std::int64_t kPerByte = 8;

KernelResult table_kernel(const KernelRequest& request) {
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  const auto table = byte_table(request.node).value_or(Constant{});
  if (std::ssize(table.bytes) != kByteTableSize) return nullptr;
  std::array<std::byte, kByteTableSize> entries{};
  std::memcpy(entries.data(), table.bytes.data(), entries.size());
  return make_lambda_kernel(
      {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(count, tiles, tile);
        for (std::int64_t i = range.begin; i < range.end; ++i)
          args.out<std::byte>()[i] = entries[std::to_integer<std::uint8_t>(args.inputs[0][i])];
        return {};
      });
}

bool is_float(DType dtype) { return info_of(dtype).kind == DTypeClass::kFloat; }

/// f(x, scale, zero point) of each element, of types that are all floats.
template <class F>
KernelResult map_floats(const KernelRequest& request, DType zero, Narrowing how, F f) {
  const DType from = request.inputs[0].dtype, to = request.outputs[0].dtype;
  const DType real = request.inputs[kScale].dtype;
  const ScaleOrder order(request);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  const bool has_zero = request.has(kZero);
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = 0b111},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange elements = tile_range(count, tiles, tile, kPerByte);
        for (std::int64_t i = elements.begin; i < elements.end; ++i) {
          const std::int64_t at = order(i);
          const auto x = read_element<float>(from, args.inputs[0], i);
          const auto scale = read_element<float>(real, args.inputs[kScale], at);
          const float point = has_zero ? read_element<float>(zero, args.inputs[kZero], at) : 0.0F;
          write_element(to, f(x, scale, point), args.out<std::byte>(), i, how);
        }
        return {};
      });
}

/// Quantises to floats of 8 and 4 bits.
KernelResult quantize_to_floats(const KernelRequest& request) {
  const DType zero = zero_type(request, request.outputs[0].dtype);
  if (!is_float(request.outputs[0].dtype) || !is_float(zero)) return nullptr;
  Narrowing how;
  how.saturate = params_of<QuantizeLinearParams>(request.node).saturate;
  return map_floats(request, zero, how,
                    [](float x, float scale, float point) { return x / scale + point; });
}

KernelResult dequantize_floats(const KernelRequest& request) {
  const DType from = request.inputs[0].dtype;
  if (!is_float(from) || info_of(request.outputs[0].dtype).bits < 16) return nullptr;
  return map_floats(request, zero_type(request, from), {},
                    [](float x, float scale, float point) { return (x - point) * scale; });
}

/// y = (x - zero) scale of the elements [range) of x, integers of type `from`.
template <class S, class Y>
void dequantize_range(DType from, const std::byte* x, TileRange range, std::int64_t zero, S scale,
                      Y* y) {
  const auto each = [&](auto integer) {
    for (std::int64_t i = range.begin; i < range.end; ++i)
      y[i] = static_cast<Y>(static_cast<S>(integer(i) - zero) * scale);
  };
  // Weights of bytes are many.
  if (from == DType::kI8) {
    each([x](std::int64_t i) -> std::int64_t { return static_cast<std::int8_t>(x[i]); });
  } else if (from == DType::kU8) {
    each([x](std::int64_t i) -> std::int64_t { return std::to_integer<std::uint8_t>(x[i]); });
  } else {
    each([from, x](std::int64_t i) { return load_integer(from, x, i); });
  }
}

}  // namespace

KernelResult reference_quantize(const KernelRequest& request) {
  if (has_byte_table(request.node)) return table_kernel(request);
  const DType to = request.outputs[0].dtype;
  const auto range_of_type = integer_range(to);
  const DType real = request.inputs[kScale].dtype;
  if (!range_of_type) return quantize_to_floats(request);
  if (request.has(kZero) && !integer_range(request.inputs[kZero].dtype)) return nullptr;
  const IntegerRange range = *range_of_type;
  const ScaleOrder order(request);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  const bool has_zero = request.has(kZero);
  const DType zero = zero_type(request, to);
  const auto make = [&](auto of_x, auto of_scale) -> KernelResult {
    using X = typename decltype(of_x)::type;
    using S = typename decltype(of_scale)::type;
    using Quotient = std::conditional_t<std::is_integral_v<S>, double, S>;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b110},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange elements = tile_range(count, tiles, tile, kPerByte);
          for (std::int64_t i = elements.begin; i < elements.end; ++i) {
            const std::int64_t at = order(i);
            store_integer_element(
                to,
                quantised(static_cast<Quotient>(args.in<X>(0)[i]),
                          static_cast<Quotient>(load_element<S>(args.inputs[kScale], at)),
                          zero_at(args, has_zero, zero, at), range),
                args.out<std::byte>(), i);
          }
          return {};
        });
  };
  constexpr DTypeSet kReal = kFloatTypes | dtype_bit(DType::kI32);
  return make_for<kReal>(request.inputs[0].dtype, [&](auto of_x) -> KernelResult {
    return make_for<kReal>(real, [&](auto of_scale) { return make(of_x, of_scale); });
  });
}

KernelResult reference_dequantize(const KernelRequest& request) {
  const DType from = request.inputs[0].dtype;
  if (!integer_range(from)) return dequantize_floats(request);
  const ScaleOrder order(request);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  const bool has_zero = request.has(kZero);
  const DType zero = zero_type(request, from);
  const auto make = [&](auto of_scale, auto of_result) -> KernelResult {
    using S = typename decltype(of_scale)::type;
    using Y = typename decltype(of_result)::type;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b111},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange elements = tile_range(count, tiles, tile);
          for (std::int64_t i = elements.begin; i < elements.end;) {
            const std::int64_t at = order(i);
            const TileRange same{i, i + std::min(order.run(i), elements.end - i)};
            dequantize_range(from, args.inputs[0], same, zero_at(args, has_zero, zero, at),
                             load_element<S>(args.inputs[kScale], at), args.out<Y>());
            i = same.end;
          }
          return {};
        });
  };
  return make_for<kFloatTypes>(request.inputs[kScale].dtype, [&](auto of_scale) -> KernelResult {
    return make_for<kFloatTypes>(request.outputs[0].dtype,
                                 [&](auto of_result) { return make(of_scale, of_result); });
  });
}

/// Maps the range of the elements, extended to include zero, to that of u8. NaN counts as zero; a
/// tensor of zeros, or an empty one, has scale 1.
KernelResult reference_dynamic_quantize(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kF32) return nullptr;
  const std::int64_t count = request.inputs[0].elements();
  return make_lambda_kernel({}, [=](std::int64_t, const KernelArgs& args) -> Status {
    const float* x = args.in<float>(0);
    float low = 0, high = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (x[i] < low) low = x[i];
      if (x[i] > high) high = x[i];
    }
    const float scale = low == high ? 1.0F : (high - low) / 255.0F;
    const std::int64_t zero = quantised(-low, scale, 0, {0, 255});
    for (std::int64_t i = 0; i < count; ++i)
      args.out<std::uint8_t>(0)[i] =
          static_cast<std::uint8_t>(quantised(x[i], scale, zero, {0, 255}));
    if (args.outputs[1] != nullptr) args.out<float>(1)[0] = scale;
    if (args.outputs[2] != nullptr) args.out<std::uint8_t>(2)[0] = static_cast<std::uint8_t>(zero);
    return {};
  });
}

}  // namespace parallax
