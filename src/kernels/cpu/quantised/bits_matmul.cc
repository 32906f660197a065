// MatMulNBits of f32 rows. Weights stay packed where the file is mapped. A few rows are arranged
// once per thread and multiplied with words of weights; many rows are multiplied with panels of
// weights that each tile widens into its scratch, part by part.
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/quantised/bits_matrix.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Most rows that need no panels. On one core with AVX-512, 12 layers of 4096x4096 with 4 bits take
/// 21 ms for each 4 of them; 16 rows take 91 ms with panels.
constexpr std::int64_t kFewBitsRows = 16;
/// Columns that tiles begin at multiples of: a cache line of results.
constexpr std::int64_t kBitsGranule = kLineFloats;
/// Cost of a tile in nanoseconds; bytes of weights that a core reads in a nanosecond,
/// multiply-accumulates and widened weights.
constexpr std::int64_t kBitsTileNanoseconds = 50000, kReadBytes = 8, kBitsMacs = 40, kWidened = 8;

/// Inputs of a node, apart from their addresses.
struct BitsForm {
  BitsProduct sizes;
  std::int64_t rows = 0;
  bool packed_zeros = false;

  BitsMatrix matrix(const KernelArgs& args) const {
    return {sizes, args.inputs[kBitsWeights], args.inputs[kBitsScales],
            args.inputs.size() > kBitsZeros ? args.inputs[kBitsZeros] : nullptr, packed_zeros};
  }
  static const std::byte* bias(const KernelArgs& args) {
    return args.inputs.size() > kBitsBias ? args.inputs[kBitsBias] : nullptr;
  }
  /// Bytes of weights and scales of a column.
  std::int64_t column_bytes() const { return sizes.blocks() * (sizes.block_bytes() + kFloatBytes); }
};

class FewBitsRows final : public Kernel {
 public:
  explicit FewBitsRows(const BitsForm& form)
      : form_(form), row_floats_(bits_row_floats(form.sizes)) {
    const std::int64_t cost = kBitsGranule * std::max(form.column_bytes() / kReadBytes,
                                                      form.rows * form.sizes.depth / kBitsMacs);
    tiles_ = count_tiles(tile_count(form.sizes.columns, kBitsGranule), cost, kBitsTileNanoseconds);
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override { return form_.rows * row_floats_ * kFloatBytes; }
  InputUse input_use(std::size_t i) const override {
    return i == 0 ? InputUse::kAligned : InputUse::kBytes;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    auto* const arranged = reinterpret_cast<float*>(args.scratch.data());
    for (std::int64_t i = 0; args.previous_tile < 0 && i < form_.rows; ++i)
      arrange_bits_row(form_.sizes, args.in<float>(0) + i * form_.sizes.depth,
                       arranged + i * row_floats_);
    const auto columns = tile_range(form_.sizes.columns, tiles_, tile, kBitsGranule);
    multiply_bits(form_.matrix(args), {arranged, form_.rows, columns.begin, columns.end,
                                       BitsForm::bias(args), args.out<float>()});
    return {};
  }

 private:
  BitsForm form_;
  std::int64_t row_floats_, tiles_ = 0;
};

class ManyBitsRows final : public Kernel {
 public:
  explicit ManyBitsRows(const BitsForm& form)
      : form_(form), panel_(static_cast<std::int64_t>(gemm_.widths().panel)) {
    const std::int64_t panels = tile_count(form.sizes.columns, panel_);
    // Large blocks share the widening. A few panels are cut into smaller ones, for other threads.
    blocks_ = std::max(
        tile_count(form.rows, kMaxBlockRows),
        std::min(tile_count(kSmallNodeTiles, panels), tile_count(form.rows, kFewestBlockRows)));
    const std::int64_t weights = form.sizes.depth * panel_;
    const std::int64_t cost =
        weights / kWidened + tile_count(form.rows, blocks_) * weights / gemm_.speed;
    groups_ = std::min(
        panels, tile_count(count_tiles(panels * blocks_, cost, kBitsTileNanoseconds), blocks_));
  }

  std::int64_t tiles() const override { return blocks_ * groups_; }
  std::int64_t scratch_bytes() const override {
    return (kBitsPartDepth + 1) * panel_ * kFloatBytes;
  }
  InputUse input_use(std::size_t i) const override {
    return i == 0 ? InputUse::kAligned : InputUse::kBytes;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const auto rows = tile_range(form_.rows, blocks_, tile / groups_, kBlockRowGranule);
    const auto panels =
        tile_range(tile_count(form_.sizes.columns, panel_), groups_, tile % groups_);
    if (rows.begin == rows.end) return {};
    for (std::int64_t p = panels.begin; p < panels.end; ++p) multiply_panel(rows, p, args);
    return {};
  }

 private:
  /// Multiplies rows with the columns of a panel.
  void multiply_panel(const TileRange& rows, std::int64_t p, const KernelArgs& args) const {
    const BitsMatrix matrix = form_.matrix(args);
    const std::int64_t depth = form_.sizes.depth, all = form_.sizes.columns;
    auto* const weights = reinterpret_cast<float*>(args.scratch.data());
    float* const bias = weights + kBitsPartDepth * panel_;
    BitsPart part{p * panel_, std::min(panel_, all - p * panel_)};
    MatMulPanel panel;
    panel.lda = to_size(depth);
    panel.b = weights;
    panel.ldb = to_size(rounded_up(part.columns, static_cast<std::int64_t>(gemm_.widths().vector)));
    panel.c = args.out<float>() + rows.begin * all + part.column;
    panel.ldc = to_size(all);
    panel.rows = to_size(rows.end - rows.begin);
    panel.columns = to_size(part.columns);
    if (const std::byte* from = BitsForm::bias(args); from != nullptr) {
      __builtin_memcpy(bias, from + part.column * kFloatBytes, panel.columns * sizeof(float));
      panel.bias = bias;
    }
    for (; part.begin < depth; part.begin += kBitsPartDepth) {
      part.depth = std::min(kBitsPartDepth, depth - part.begin);
      widen_bits(matrix, part, weights);
      panel.a = args.in<float>(0) + rows.begin * depth + part.begin;
      panel.depth = to_size(part.depth);
      panel.accumulate = part.begin > 0;
      gemm_.multiply(panel);
    }
  }

  BitsForm form_;
  const GemmType& gemm_ = gemm_type(Precision::kF32);
  std::int64_t panel_, blocks_ = 1, groups_ = 1;
};

}  // namespace

/// Creates the kernel of MatMulNBits of f32 [.., M, K].
Result<std::unique_ptr<Kernel>> columns_bits_matmul(const KernelRequest& request) {
  const auto sizes = bits_product(request.node);
  const bool power_of_two = sizes && (sizes->block & (sizes->block - 1)) == 0;
  if (!power_of_two) return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  BitsForm form{*sizes, request.inputs[0].elements() / sizes->depth};
  form.packed_zeros = request.has(kBitsZeros) && request.inputs[kBitsZeros].dtype == DType::kU8;
  const double arranged = static_cast<double>(form.rows) * static_cast<double>(sizes->depth);
  if (form.rows <= kFewBitsRows && arranged <= kMaxScratchElements)
    return std::make_unique<FewBitsRows>(form);
  return std::make_unique<ManyBitsRows>(form);
}

}  // namespace parallax
