// MatMul and Gemm of f32 with a constant right operand: packed panels that are streamed while they
// are used, bias and activation fused. Small products are bound by reading the weights, hence tiles
// over panels; large ones are cut by rows too, so that the rows of a tile stay in the cache. If
// bf16 is requested, weights are rounded when they are packed, and rows by each tile into its
// scratch; sums, bias and activation are f32.
#include <optional>
#include <utility>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/matmul.h"

namespace parallax {
namespace {

class ConstantMatMul final : public Kernel {
 public:
  ConstantMatMul(std::int64_t rows, PackedMatrix b, const Unary& activation, const Machine& machine)
      : rows_(rows),
        b_(std::move(b)),
        activation_(activation),
        cut_(cut_matmul(rows, b_, machine)) {}

  std::int64_t tiles() const override { return cut_.tiles(); }
  std::int64_t scratch_bytes() const override {
    return b_.type->converts() ? cut_.most_rows * b_.steps() * kStepBytes : 0;
  }
  InputUse input_use(std::size_t i) const override {
    return i == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const auto rows = tile_range(rows_, cut_.row_blocks, row_block(tile), kBlockRowGranule);
    const auto panels = tile_range(b_.panels(), cut_.panel_groups, tile % cut_.panel_groups);
    const std::int64_t count = rows.end - rows.begin;
    const bool kept = b_.type->converts() && args.previous_tile >= 0 &&
                      row_block(args.previous_tile) == row_block(tile);
    const float* const from = args.in<float>(0) + rows.begin * b_.depth;
    MatMulRows a;
    a.a = kept ? args.scratch.data() : rows_of_steps(b_, from, count, args.scratch.data());
    a.rows = count;
    a.c = args.out<float>() + rows.begin * b_.columns;
    a.bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    a.activation = activation_;
    a.depth_blocks = cut_.depth_blocks;
    // The panel after the last is likely this thread's next, in another tile.
    multiply(a, b_, panels, panels.end < b_.panels());
    return {};
  }

 private:
  std::int64_t row_block(std::int64_t tile) const { return tile / cut_.panel_groups; }

  std::int64_t rows_;
  PackedMatrix b_;
  Unary activation_;
  MatMulCut cut_;
};

bool is_bias(const TensorDesc& bias, std::int64_t columns) {
  return bias.dtype == DType::kF32 && bias.dims.rank() >= 1 && bias.elements() == columns &&
         bias.dims[bias.dims.rank() - 1] == columns;
}

/// A product with a constant right operand.
struct ConstantProduct {
  PackSource source;
  std::int64_t rows = 0;
};

/// Returns the product of a MatMul of f32 [.., M, K] with a constant [K, N], bias [N] and
/// activation if passes fused them; nullopt for others.
std::optional<ConstantProduct> matmul_product(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[0];
  const TensorDesc& b = request.inputs[1];
  const int rank = b.dims.rank();
  if (b.dtype != DType::kF32 || b.data == nullptr || rank < 2 || a.dims.rank() < 1 ||
      !params_of<MatMulParams>(request.node).b_perm.empty())
    return std::nullopt;
  const std::int64_t depth = b.dims[rank - 2], columns = b.dims[rank - 1];
  if (b.elements() != depth * columns || a.dims[a.dims.rank() - 1] != depth || columns == 0 ||
      depth == 0)
    return std::nullopt;
  return ConstantProduct{{b.data, depth, columns, false, 1.0F}, a.elements() / depth};
}

/// Returns the product of a Gemm of f32 with constant B, transA = 0, and C, if given, [N] with beta
/// = 1; nullopt for others.
std::optional<ConstantProduct> gemm_product(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[0];
  const TensorDesc& b = request.inputs[1];
  const auto params = params_of<GemmParams>(request.node);
  if (b.dtype != DType::kF32 || b.data == nullptr || b.dims.rank() != 2 || a.dims.rank() != 2 ||
      params.trans_a || (request.has(2) && params.beta != 1.0F))
    return std::nullopt;
  const bool transposed = params.trans_b;
  const std::int64_t depth = b.dims[transposed ? 1 : 0], columns = b.dims[transposed ? 0 : 1];
  if (a.dims[1] != depth || columns == 0) return std::nullopt;
  return ConstantProduct{{b.data, depth, columns, transposed, params.alpha}, a.dims[0]};
}

bool takes(const KernelRequest& request, const std::optional<ConstantProduct>& product) {
  return product && product->source.depth > 0 && fused_activation(request.node) &&
         (!request.has(2) || is_bias(request.inputs[2], product->source.columns));
}

/// Returns the product with the elements in a file that its constant is made of.
PackSource with_stored(PackSource source, const TensorDesc& b) {
  if (b.stored == nullptr) return source;
  const int rank = b.dims.rank();
  source.stored = {b.stored, b.stored->stride(rank - 2), b.stored->stride(rank - 1)};
  if (source.transposed) std::swap(source.stored.row_stride, source.stored.column_stride);
  return source;
}

/// Creates the kernel with packed weights of that precision.
Result<std::unique_ptr<Kernel>> panels(const KernelRequest& request, Precision precision,
                                       const std::optional<ConstantProduct>& product) {
  if (request.precision != precision || !takes(request, product)) return not_covered();
  const bool half =
      precision == Precision::kF32 && request.inputs[1].is_half && product->source.alpha == 1.0F;
  const GemmType& type = half ? half_gemm_type() : gemm_type(precision);
  PX_ASSIGN(PackedMatrix b,
            pack_matrix(type, with_stored(product->source, request.inputs[1]), request.packed));
  return std::make_unique<ConstantMatMul>(product->rows, std::move(b),
                                          *fused_activation(request.node), *request.machine);
}

}  // namespace

Result<std::unique_ptr<Kernel>> panels_f32_matmul(const KernelRequest& request) {
  return panels(request, Precision::kF32, matmul_product(request));
}
Result<std::unique_ptr<Kernel>> panels_bf16_matmul(const KernelRequest& request) {
  return panels(request, Precision::kBf16, matmul_product(request));
}
Result<std::unique_ptr<Kernel>> panels_f32_gemm(const KernelRequest& request) {
  return panels(request, Precision::kF32, gemm_product(request));
}
Result<std::unique_ptr<Kernel>> panels_bf16_gemm(const KernelRequest& request) {
  return panels(request, Precision::kBf16, gemm_product(request));
}

}  // namespace parallax
