// MatMulNBits of com.microsoft: a product with weights of 2, 4 or 8 bits, which have a scale for
// each block of a column.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/matmul.h"
#include "ops/quantised.h"

namespace parallax {

namespace {

/// Refuses an input that is there and certainly has not `count` elements.
Status expect_elements(const InferContext& context, std::size_t i, std::int64_t count) {
  if (!context.has(i)) return {};
  const auto elements = product(context.inputs[i].shape).constant();
  if (!elements || *elements == count) return {};
  return fail(context, fmt::format("input {} must have {} elements", i, count));
}

InferResult infer_matmul_n_bits(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, kBitsWeights, dtype_bit(DType::kU8)));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, kBitsScales));
  PX_RETURN_IF_ERROR(expect_dtype(context, kBitsZeros,
                                  dtype_bit(DType::kU8) | dtype_bit(context.inputs[0].dtype)));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, kBitsBias));
  if (context.has(kBitsGroups))
    return fail(context, "an order of groups is not supported", ErrorCode::kUnsupported);
  const auto sizes = bits_product(context.node);
  if (!sizes) return fail(context, "K, N, bits and block_size do not go together");
  Shape shape = context.inputs[0].shape;
  if (shape.empty() || !unify(shape.back(), Expr(sizes->depth)))
    return fail(context, fmt::format("rows must have {} elements", sizes->depth));
  const std::int64_t blocks = sizes->columns * sizes->blocks();
  PX_RETURN_IF_ERROR(expect_elements(context, kBitsWeights, blocks * sizes->block_bytes()));
  PX_RETURN_IF_ERROR(expect_elements(context, kBitsScales, blocks));
  const bool packed = context.has(kBitsZeros) && context.inputs[kBitsZeros].dtype == DType::kU8;
  PX_RETURN_IF_ERROR(
      expect_elements(context, kBitsZeros, packed ? sizes->columns * sizes->zero_bytes() : blocks));
  PX_RETURN_IF_ERROR(expect_elements(context, kBitsBias, sizes->columns));
  shape.back() = Expr(sizes->columns);
  return one_output(context.inputs[0].dtype, std::move(shape));
}

std::int64_t macs_matmul_n_bits(const Node& node, std::span<const Dims>,
                                std::span<const Dims> outputs) {
  const auto sizes = bits_product(node);
  if (!sizes || outputs.empty()) return 0;
  return saturating_mul(saturating_elements(outputs[0]), sizes->depth);
}

}  // namespace

std::optional<BitsProduct> bits_product(const Node& node) {
  constexpr std::int64_t kMax = std::int64_t{1} << 24;
  const auto params = params_of<MatMulNBitsParams>(node);
  const BitsProduct sizes{params.depth, params.columns, params.bits, params.block_size};
  const bool in_range = sizes.depth > 0 && sizes.depth <= kMax && sizes.columns > 0 &&
                        sizes.columns <= kMax && sizes.block >= 16 && sizes.block <= kMax &&
                        sizes.block % 8 == 0;
  const bool known_bits = sizes.bits == 2 || sizes.bits == 4 || sizes.bits == 8;
  return in_range && known_bits ? std::optional(sizes) : std::nullopt;
}

const OpDef& op_def_MatMulNBits() {
  static const OpDef def = [] {
    OpDef d(OpKind::kMatMulNBits, whole_tensors(WorkKind::kProduct, ConformanceForm::kOwn));
    d.min_inputs = 3;
    d.max_inputs = 6;
    d.attributes = attributes_of<MatMulNBitsParams>();
    d.infer = infer_matmul_n_bits;
    d.macs = macs_matmul_n_bits;
    return d;
  }();
  return def;
}

}  // namespace parallax
