// MatMul and Gemm of f32 with a constant right operand: packed panels that are streamed while they
// are used, bias and activation fused. Small products are bound by reading the weights, hence tiles
// over panels; large ones are cut by rows too, so that the rows of a tile stay in the cache.
#include <algorithm>
#include <optional>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/matmul/bf16_matmul.h"
#include "kernels/cpu/tiles.h"
#include "ops/matmul.h"

namespace parallax {
namespace {

/// Rows of A that are worked on at once hold at most this many elements (384 KiB).
constexpr std::int64_t kBlockElements = 98304;
/// Few rows leave little time per step: short blocks of B then give the prefetch a near target.
/// Else a block is as long as two of them fit a second-level cache.
constexpr std::int64_t kFewRows = 18, kShortDepth = 128, kLongDepth = 768;
/// A tile costs about this many nanoseconds at 50 multiply-adds and 20 bytes of weights each.
constexpr std::int64_t kTileNanoseconds = 50000;

struct MatMulCut {
  std::int64_t row_blocks = 0, panel_groups = 0, depth_blocks = 0;
};

MatMulCut cut_matmul(std::int64_t rows, const PackedMatrix& b) {
  const std::int64_t block =
      std::clamp(kBlockElements / b.depth / kBlockRowGranule * kBlockRowGranule, kFewestBlockRows,
                 kMostBlockRows);
  MatMulCut cut;
  cut.row_blocks = tile_count(rows, block);
  const std::int64_t block_rows = std::min(rows, block);
  const auto panel_elements = b.depth * static_cast<std::int64_t>(b.widths.panel);
  const std::int64_t panel_cost = std::max(panel_elements / 5, panel_elements / 50 * block_rows);
  const std::int64_t tiles = count_tiles(cut.row_blocks * b.panels(), panel_cost, kTileNanoseconds);
  cut.panel_groups = std::min(tile_count(tiles, cut.row_blocks), b.panels());
  cut.depth_blocks = tile_count(b.depth, block_rows <= kFewRows ? kShortDepth : kLongDepth);
  return cut;
}

class ConstantMatMul final : public Kernel {
 public:
  ConstantMatMul(std::int64_t rows, PackedMatrix b, const Unary& activation)
      : rows_(rows), b_(std::move(b)), activation_(activation), cut_(cut_matmul(rows, b_)) {}

  std::int64_t tiles() const override {
    return b_.columns == 0 ? 0 : cut_.row_blocks * cut_.panel_groups;
  }
  InputUse input_use(std::size_t i) const override {
    return i == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto rows =
        tile_range(rows_, cut_.row_blocks, tile / cut_.panel_groups, kBlockRowGranule);
    const auto panels = tile_range(b_.panels(), cut_.panel_groups, tile % cut_.panel_groups);
    const float* bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    for (std::int64_t p = panels.begin; p < panels.end; ++p)
      run_panel(rows, p, p + 1 < b_.panels(), bias, args);
    return {};
  }

 private:
  void run_panel(TileRange rows, std::int64_t p, bool more, const float* bias,
                 const KernelArgs& args) const {
    MatMulPanel panel;
    panel.lda = to_size(b_.depth);
    panel.ldb = to_size(b_.stride(p));
    panel.ldc = to_size(b_.columns);
    panel.c = args.out<float>() + rows.begin * b_.columns + b_.column(p);
    panel.rows = to_size(rows.end - rows.begin);
    panel.columns = to_size(b_.width(p));
    panel.bias = bias == nullptr ? nullptr : bias + b_.column(p);
    for (std::int64_t block = 0; block < cut_.depth_blocks; ++block) {
      const auto k = tile_range(b_.depth, cut_.depth_blocks, block, 4);
      panel.a = args.in<float>(0) + rows.begin * b_.depth + k.begin;
      panel.b = b_.row(p, k.begin);
      panel.depth = to_size(k.end - k.begin);
      panel.accumulate = block > 0;
      if (block + 1 < cut_.depth_blocks) {
        panel.next_b = b_.row(p, k.end);
      } else {
        panel.next_b = more ? b_.row(p + 1, 0) : nullptr;
      }
      matmul_panel(panel);
    }
    if (activation_ != UnaryFunction::kNone)
      apply_unary_rows(activation_, panel.c, panel.ldc, panel.rows, panel.columns);
  }

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

/// MatMul of f32 [.., M, K] with a constant [K, N], and bias [N] and activation where passes put
/// them.
std::optional<ConstantProduct> matmul_product(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[0];
  const TensorDesc& b = request.inputs[1];
  const int rank = b.dims.rank();
  if (b.dtype != DType::kF32 || b.data == nullptr || rank < 2 || a.dims.rank() < 1 ||
      request.node.attributes.find(kMatMulPerm) != nullptr)
    return std::nullopt;
  const std::int64_t depth = b.dims[rank - 2], columns = b.dims[rank - 1];
  if (b.elements() != depth * columns || a.dims[a.dims.rank() - 1] != depth || columns == 0 ||
      depth == 0)
    return std::nullopt;
  return ConstantProduct{{b.data, depth, columns, false, 1.0F}, a.elements() / depth};
}

/// Gemm of f32 with constant B, transA = 0, and C, where it is given, [N] with beta = 1.
std::optional<ConstantProduct> gemm_product(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[0];
  const TensorDesc& b = request.inputs[1];
  const Attributes& attributes = request.node.attributes;
  if (b.dtype != DType::kF32 || b.data == nullptr || b.dims.rank() != 2 || a.dims.rank() != 2 ||
      attributes.get_int("transA", 0) != 0 ||
      (request.has(2) && attributes.get_float("beta", 1.0F) != 1.0F))
    return std::nullopt;
  const bool transposed = attributes.get_int("transB", 0) != 0;
  const std::int64_t depth = b.dims[transposed ? 1 : 0], columns = b.dims[transposed ? 0 : 1];
  if (a.dims[1] != depth || columns == 0) return std::nullopt;
  return ConstantProduct{{b.data, depth, columns, transposed, attributes.get_float("alpha", 1.0F)},
                         a.dims[0]};
}

bool takes(const KernelRequest& request, const std::optional<ConstantProduct>& product) {
  return product && product->source.depth > 0 && fused_activation(request.node) &&
         (!request.has(2) || is_bias(request.inputs[2], product->source.columns));
}

Result<std::unique_ptr<Kernel>> panels_f32(const KernelRequest& request,
                                           const std::optional<ConstantProduct>& product) {
  if (request.precision == Precision::kBf16 || !takes(request, product)) return not_covered();
  PX_ASSIGN(PackedMatrix b, pack_matrix(product->source, request.packed));
  return std::make_unique<ConstantMatMul>(product->rows, std::move(b),
                                          *fused_activation(request.node));
}

Result<std::unique_ptr<Kernel>> panels_bf16(const KernelRequest& request,
                                            const std::optional<ConstantProduct>& product) {
  if (request.precision != Precision::kBf16 || !takes(request, product)) return not_covered();
  return make_bf16_matmul(product->source, product->rows, *fused_activation(request.node),
                          request.packed);
}

}  // namespace

Result<std::unique_ptr<Kernel>> panels_f32_matmul(const KernelRequest& request) {
  return panels_f32(request, matmul_product(request));
}
Result<std::unique_ptr<Kernel>> panels_bf16_matmul(const KernelRequest& request) {
  return panels_bf16(request, matmul_product(request));
}
Result<std::unique_ptr<Kernel>> panels_f32_gemm(const KernelRequest& request) {
  return panels_f32(request, gemm_product(request));
}
Result<std::unique_ptr<Kernel>> panels_bf16_gemm(const KernelRequest& request) {
  return panels_bf16(request, gemm_product(request));
}

}  // namespace parallax
