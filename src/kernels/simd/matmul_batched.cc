// MatMul of two f32 tensors that are both computed while running (attention: Q K^T, scores V), or
// whose constant right operand has batches of its own. A unit of work is a block of rows of one
// batch; a tile is a run of units. Panels of B that many rows use are copied to scratch first,
// block by block, so that the inner loops read them in order; few rows read B where it lies.
#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/simd/activation.h"
#include "kernels/simd/matmul_loops.h"
#include "kernels/simd/strided_loop.h"
#include "kernels/simd/tiles.h"

namespace parallax {
namespace {

constexpr std::int64_t kRowGranule = 6;
/// Rows of A worked on at once, and steps in depth of a panel in scratch.
constexpr std::int64_t kBlockElements = 65536, kMostBlockRows = 144, kFewestBlockRows = 24;
constexpr std::int64_t kBlockDepth = 256;
/// With fewer rows than these, copying a panel costs more than reading it where it lies.
constexpr std::int64_t kPackRows = 13;
/// Multiply-adds per tile.
constexpr std::int64_t kTileMacs = std::int64_t{2} << 20;

/// [.., rows, depth] x [.., depth, columns] over broadcast batches.
struct BatchedShape {
  std::int64_t rows = 0, depth = 0, columns = 0;
  std::int64_t batches = 1;
  int batch_rank = 0;
  std::array<std::int64_t, Dims::kMaxRank> batch_dims{}, a_strides{}, b_strides{};
};

/// Strides, in elements, of the batch dimensions of one operand against those of the output.
void batch_strides(const Dims& operand, std::int64_t matrix, int batch_rank,
                   std::array<std::int64_t, Dims::kMaxRank>& strides) {
  const int own = std::max(operand.rank() - 2, 0);
  std::int64_t stride = matrix;
  for (int d = own - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d + batch_rank - own)] = operand[d] == 1 ? 0 : stride;
    stride *= operand[d];
  }
}

BatchedShape batched_shape(const Dims& a, const Dims& b, const Dims& y) {
  BatchedShape shape;
  shape.depth = a[a.rank() - 1];
  shape.rows = a.rank() >= 2 ? a[a.rank() - 2] : 1;
  shape.columns = b.rank() >= 2 ? b[b.rank() - 1] : 1;
  shape.batch_rank = y.rank() - (a.rank() >= 2 ? 1 : 0) - (b.rank() >= 2 ? 1 : 0);
  for (int d = 0; d < shape.batch_rank; ++d) {
    shape.batch_dims[static_cast<std::size_t>(d)] = y[d];
    shape.batches *= y[d];
  }
  batch_strides(a, shape.rows * shape.depth, shape.batch_rank, shape.a_strides);
  batch_strides(b, shape.depth * shape.columns, shape.batch_rank, shape.b_strides);
  return shape;
}

class BatchedMatMul final : public Kernel {
 public:
  BatchedMatMul(const BatchedShape& shape, UnaryFunction activation)
      : shape_(shape), widths_(matmul_widths()), activation_(activation) {
    const std::int64_t block = std::clamp(kBlockElements / shape.depth / kRowGranule * kRowGranule,
                                          kFewestBlockRows, kMostBlockRows);
    row_blocks_ = tile_count(shape.rows, block);
    const std::int64_t unit_rows = std::min(shape.rows, block);
    const std::int64_t unit = unit_rows * shape.depth * shape.columns;
    units_ = shape.batches * row_blocks_;
    tiles_ =
        tile_count(units_, std::max<std::int64_t>(kTileMacs / std::max<std::int64_t>(unit, 1), 1));
    if (shape.columns == 0) tiles_ = 0;
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return kBlockDepth * static_cast<std::int64_t>(widths_.panel * sizeof(float));
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(units_, tiles_, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit)
      run_unit(unit / row_blocks_,
               tile_range(shape_.rows, row_blocks_, unit % row_blocks_, kRowGranule), args);
    return {};
  }

 private:
  void run_unit(std::int64_t batch, TileRange rows, const KernelArgs& args) const {
    const float* a = args.in<float>(0);
    const float* b = args.in<float>(1);
    float* c = args.out<float>() + (batch * shape_.rows + rows.begin) * shape_.columns;
    for (int d = shape_.batch_rank - 1; d >= 0; --d) {
      const auto u = static_cast<std::size_t>(d);
      a += batch % shape_.batch_dims[u] * shape_.a_strides[u];
      b += batch % shape_.batch_dims[u] * shape_.b_strides[u];
      batch /= shape_.batch_dims[u];
    }
    const float* bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    const auto width = static_cast<std::int64_t>(widths_.panel);
    MatMulPanel panel;
    panel.lda = to_size(shape_.depth);
    panel.ldc = to_size(shape_.columns);
    panel.rows = to_size(rows.end - rows.begin);
    for (std::int64_t column = 0; column < shape_.columns; column += width) {
      panel.columns = to_size(std::min(width, shape_.columns - column));
      panel.c = c + column;
      panel.bias = bias == nullptr ? nullptr : bias + column;
      run_panel(panel, a + rows.begin * shape_.depth, b + column, args.scratch);
    }
  }

  /// All the depth of one panel; `b` is its first column where B lies.
  void run_panel(MatMulPanel panel, const float* a, const float* b,
                 std::span<std::byte> scratch) const {
    const std::size_t padded =
        (panel.columns + widths_.vector - 1) / widths_.vector * widths_.vector;
    const bool in_place = padded == panel.columns &&
                          (panel.rows < to_size(kPackRows) || padded == to_size(shape_.columns));
    auto* packed = reinterpret_cast<float*>(scratch.data());
    const std::int64_t blocks = tile_count(shape_.depth, kBlockDepth);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const auto k = tile_range(shape_.depth, blocks, block, 4);
      panel.a = a + k.begin;
      panel.b = b + k.begin * shape_.columns;
      panel.ldb = to_size(shape_.columns);
      panel.depth = to_size(k.end - k.begin);
      panel.accumulate = block > 0;
      if (!in_place) {
        copy_panel(panel.b, packed, panel.depth, panel.columns, padded);
        panel.b = packed;
        panel.ldb = padded;
      }
      matmul_panel(panel);
    }
    if (activation_ != UnaryFunction::kNone)
      apply_unary_rows(activation_, panel.c, panel.ldc, panel.rows, panel.columns);
  }

  void copy_panel(const float* from, float* to, std::size_t depth, std::size_t columns,
                  std::size_t padded) const {
    for (std::size_t k = 0; k < depth; ++k) {
      std::memcpy(to, from, columns * sizeof(float));
      std::fill(to + columns, to + padded, 0.0F);
      from += shape_.columns;
      to += padded;
    }
  }

  BatchedShape shape_;
  MatMulWidths widths_;
  UnaryFunction activation_;
  std::int64_t row_blocks_ = 0, units_ = 0, tiles_ = 0;
};

}  // namespace

/// MatMul of two f32 of any shapes, with bias [N] and activation where passes put them.
Result<std::unique_ptr<Kernel>> simd_matmul_batched(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[0];
  const TensorDesc& b = request.inputs[1];
  const auto activation = fused_activation(request.node);
  if (a.dtype != DType::kF32 || b.dtype != DType::kF32 || !activation || a.dims.rank() < 1 ||
      b.dims.rank() < 1)
    return not_covered();
  const BatchedShape shape = batched_shape(a.dims, b.dims, request.outputs[0].dims);
  if (shape.depth == 0 || (request.has(2) && request.inputs[2].elements() != shape.columns))
    return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  return std::make_unique<BatchedMatMul>(shape, *activation);
}

}  // namespace parallax
