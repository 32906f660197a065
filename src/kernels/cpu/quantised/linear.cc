// QuantizeLinear and DequantizeLinear with one scale, between f32 and 8 bits, QuantizeLinear
// through a table, and DynamicQuantizeLinear.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/gemm/byte_loops.h"
#include "kernels/cpu/quantised/linear_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"

namespace parallax {
namespace {

constexpr std::size_t kScale = 1, kZero = 2;

bool has_one_scale(const KernelRequest& request) {
  const TensorDesc& scale = request.inputs[kScale];
  return scale.dtype == DType::kF32 && scale.elements() == 1 &&
         params_of<DequantizeLinearParams>(request.node).block_size == 0;
}

/// Returns the scale and zero point of bytes of type `dtype`.
ByteScale byte_scale(const KernelArgs& args, bool has_zero, DType dtype) {
  ByteScale as;
  as.is_signed = dtype == DType::kI8;
  as.scale = args.in<float>(kScale)[0];
  if (!has_zero) return as;
  const std::uint8_t zero = args.in<std::uint8_t>(kZero)[0];
  as.zero = as.is_signed ? static_cast<std::int8_t>(zero) : zero;
  return as;
}

/// Calls run(args, begin, n) for the elements of each tile.
template <class Run>
Result<std::unique_ptr<Kernel>> element_tiles(std::int64_t count, Run run) {
  const std::int64_t tiles = count_tiles(count, kTileElements * 2);
  return tiled_kernel({.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const auto range = tile_range(count, tiles, tile, kTileGranule);
    run(args, range.begin, to_size(range.end - range.begin));
    return {};
  });
}

Result<std::unique_ptr<Kernel>> table_of_bytes(const KernelRequest& request) {
  const auto constant = byte_table(request.node).value_or(Constant{});
  std::array<std::uint8_t, kByteTableSize> table{};
  if (constant.bytes.size() != table.size()) return not_covered();
  std::memcpy(table.data(), constant.bytes.data(), table.size());
  return element_tiles(request.outputs[0].elements(),
                       [table](const KernelArgs& args, std::int64_t begin, std::size_t n) {
                         look_up_bytes(table.data(), args.in<std::uint8_t>(0) + begin,
                                       args.out<std::uint8_t>() + begin, n);
                       });
}

}  // namespace

Result<std::unique_ptr<Kernel>> byte_quantize(const KernelRequest& request) {
  if (has_byte_table(request.node)) return table_of_bytes(request);
  const DType to = request.outputs[0].dtype;
  if (request.inputs[0].dtype != DType::kF32 || !contains(kByteIntegers, to) ||
      !has_one_scale(request))
    return not_covered();
  return element_tiles(request.outputs[0].elements(),
                       [to, has_zero = request.has(kZero)](const KernelArgs& args,
                                                           std::int64_t begin, std::size_t n) {
                         quantise_bytes(byte_scale(args, has_zero, to), args.in<float>(0) + begin,
                                        args.out<std::uint8_t>() + begin, n);
                       });
}

Result<std::unique_ptr<Kernel>> byte_dequantize(const KernelRequest& request) {
  const DType from = request.inputs[0].dtype;
  if (request.outputs[0].dtype != DType::kF32 || !contains(kByteIntegers, from) ||
      !has_one_scale(request))
    return not_covered();
  return element_tiles(request.outputs[0].elements(), [from, has_zero = request.has(kZero)](
                                                          const KernelArgs& args,
                                                          std::int64_t begin, std::size_t n) {
    dequantise_bytes(byte_scale(args, has_zero, from), args.in<std::uint8_t>(0) + begin,
                     args.out<float>() + begin, n);
  });
}

/// Creates the kernel of DynamicQuantizeLinear. Each tile computes the range of all elements:
/// reading them costs less than another node would.
Result<std::unique_ptr<Kernel>> byte_dynamic_quantize(const KernelRequest& request) {
  const std::int64_t count = request.inputs[0].elements();
  if (count == 0) return not_covered();
  constexpr std::int64_t kMaxTiles = 2;
  const std::int64_t tiles = std::min(count_tiles(count, kTileElements * 2), kMaxTiles);
  return tiled_kernel({.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const RealRange real = range_of(args.in<float>(0), to_size(count));
    ByteScale as;
    as.scale = real.low == real.high ? 1.0F : (real.high - real.low) / 255.0F;
    const float zero = std::nearbyint(-real.low / as.scale);
    as.zero = std::isnan(zero) ? 0 : static_cast<std::int32_t>(std::clamp(zero, 0.0F, 255.0F));
    const auto range = tile_range(count, tiles, tile, kTileGranule);
    quantise_bytes(as, args.in<float>(0) + range.begin, args.out<std::uint8_t>() + range.begin,
                   to_size(range.end - range.begin));
    if (tile != 0) return {};
    if (args.outputs[1] != nullptr) args.out<float>(1)[0] = as.scale;
    if (args.outputs[2] != nullptr)
      args.out<std::uint8_t>(2)[0] = static_cast<std::uint8_t>(as.zero);
    return {};
  });
}

}  // namespace parallax
