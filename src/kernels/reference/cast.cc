// Cast and CastLike: elements of any type as numbers that have all of them, and those as elements
// of any other.
#include <array>

#include "kernels/reference/common.h"
#include "ops/params/numbers.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

/// Numbers that are converted together; a multiple of 8, so that no two tiles write one byte.
constexpr std::int64_t kNumbers = 512;

Narrowing narrowing_of(const Node& node) {
  const auto params = params_of<CastLikeParams>(node);
  const ScaleRounding mode = params.round_mode;
  return {.saturate = params.saturate,
          .scale = mode == ScaleRounding::kNearest ? Narrowing::Scale::kNearest
                   : mode == ScaleRounding::kDown  ? Narrowing::Scale::kDown
                                                   : Narrowing::Scale::kUp};
}

template <class Number>
KernelResult cast_through(const KernelRequest& request) {
  const DType from = request.inputs[0].dtype, to = request.outputs[0].dtype;
  const Narrowing how = narrowing_of(request.node);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = 1, .unused_inputs = ~1U},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const TileRange range = tile_range(count, tiles, tile, kNumbers);
        std::array<Number, kNumbers> numbers;
        for (std::int64_t i = range.begin; i < range.end; i += kNumbers) {
          const auto n = static_cast<std::size_t>(std::min(kNumbers, range.end - i));
          read_elements(from, args.inputs[0], i, std::span(numbers).first(n));
          write_elements(to, std::span<const Number>(numbers).first(n), args.outputs[0], i, how);
        }
        return {};
      });
}

}  // namespace

KernelResult reference_cast(const KernelRequest& request) {
  const DType from = request.inputs[0].dtype;
  switch (info_of(from).kind) {
    case DTypeClass::kFloat:
      return from == DType::kF64 ? cast_through<double>(request) : cast_through<float>(request);
    case DTypeClass::kSigned:
      return cast_through<std::int64_t>(request);
    case DTypeClass::kUnsigned:
    case DTypeClass::kBool:
      return cast_through<std::uint64_t>(request);
    default:
      return nullptr;
  }
}

}  // namespace parallax
