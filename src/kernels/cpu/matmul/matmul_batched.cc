// MatMul of two f32 tensors that are both computed at run time (attention: Q K^T, scores V), or
// whose constant right operand has batches and may be transposed. A unit of work is a
// block of rows of one batch; a tile is a run of units.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/batches.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/matmul.h"

namespace parallax {
namespace {

/// Sizes and layouts of [.., rows, depth] x [.., depth, columns] over broadcast batches.
struct BatchedShape {
  std::int64_t rows = 0, depth = 0, columns = 0;
  std::int64_t batches = 1;
  int batch_rank = 0;
  Dims dims;  ///< shape of the result
  BatchStrides a_strides{};
  MatrixOperand b;
  std::shared_ptr<const AlignedBytes> packed;  ///< data that `b` describes; null: input 1
};

/// Packs a transposed constant as products read it, matrix after matrix: in the model its rows may
/// be far apart and lie at any address.
Result<std::shared_ptr<const AlignedBytes>> pack_transposed(const TensorDesc& stored,
                                                            const Permuted& operand,
                                                            PackedWeights& packed) {
  std::string layout = "matmul batches of";
  for (int axis = 0; axis < operand.dims.rank(); ++axis)
    layout += fmt::format(" {} by {}", operand.dims[axis],
                          operand.strides[static_cast<std::size_t>(axis)]);
  const auto fill = [data = stored.data, operand](std::byte* to) {
    const int rank = operand.dims.rank() - 2;
    const MatrixOperand from = matrix_operand(operand, rank);
    const std::int64_t matrix = from.rows * from.columns;
    for (std::int64_t i = 0; i < operand.dims.elements() / matrix;
         ++i, to += matrix * kFloatBytes) {
      const std::byte* at = data + batch_offset(operand.dims, rank, from.batches, i) * kFloatBytes;
      for (std::int64_t j = 0; j < from.columns; ++j)
        for (std::int64_t k = 0; k < from.rows; ++k)
          std::memcpy(to + (k * from.columns + j) * kFloatBytes,
                      at + (k * from.row_stride + j * from.column_stride) * kFloatBytes,
                      kFloatBytes);
    }
  };
  return packed.get(stored.data, layout, operand.dims.elements() * kFloatBytes, fill);
}

/// Returns the layout of the right operand; a vector counts as one column.
MatrixOperand right_operand(const Dims& stored, std::span<const std::int64_t> perm,
                            int batch_rank) {
  if (stored.rank() >= 2) return matrix_operand(permuted(stored, perm), batch_rank);
  MatrixOperand column;
  column.rows = stored[0];
  column.row_stride = 1;
  return column;
}

BatchedShape batched_shape(const Dims& a, const Dims& b, std::span<const std::int64_t> perm,
                           const Dims& y) {
  BatchedShape shape;
  shape.depth = a[a.rank() - 1];
  shape.rows = a.rank() >= 2 ? a[a.rank() - 2] : 1;
  shape.batch_rank = y.rank() - (a.rank() >= 2 ? 1 : 0) - (b.rank() >= 2 ? 1 : 0);
  shape.dims = y;
  for (int d = 0; d < shape.batch_rank; ++d) shape.batches *= y[d];
  shape.a_strides = batch_strides(a, shape.rows * shape.depth, shape.batch_rank);
  shape.b = right_operand(b, perm, shape.batch_rank);
  shape.columns = shape.b.columns;
  return shape;
}

class BatchedMatMul final : public Kernel {
 public:
  BatchedMatMul(const BatchedShape& shape, const Unary& activation, Precision precision,
                const Machine& machine)
      : shape_(shape), activation_(activation), precision_(precision) {
    const std::int64_t block = fitting_rows(machine.copied_product_rows(), shape.depth);
    row_blocks_ = tile_count(shape.rows, block);
    const std::int64_t unit_rows = std::min(shape.rows, block);
    const std::int64_t unit = unit_rows * shape.depth * shape.columns;
    units_ = shape.batches * row_blocks_;
    tiles_ = count_tiles(units_, unit, kBlockTileMacs);
    if (shape.columns == 0) tiles_ = 0;
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override { return matmul_block_scratch_bytes(precision_); }
  InputUse input_use(std::size_t i) const override {
    return i == 1 && shape_.packed != nullptr ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const auto units = tile_range(units_, tiles_, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit)
      run_unit(unit / row_blocks_,
               tile_range(shape_.rows, row_blocks_, unit % row_blocks_, kBlockRowGranule), args);
    return {};
  }

 private:
  void run_unit(std::int64_t batch, TileRange rows, const KernelArgs& args) const {
    const auto at = [&](const BatchStrides& strides) {
      return batch_offset(shape_.dims, shape_.batch_rank, strides, batch);
    };
    MatMulBlock block;
    block.precision = precision_;
    block.a = args.in<float>(0) + at(shape_.a_strides) + rows.begin * shape_.depth;
    block.lda = shape_.depth;
    const float* const b = shape_.packed == nullptr
                               ? args.in<float>(1)
                               : reinterpret_cast<const float*>(shape_.packed->data());
    block.b = b + at(shape_.b.batches);
    block.b_transposed = shape_.b.column_stride != 1;
    block.ldb = block.b_transposed ? shape_.b.column_stride : shape_.b.row_stride;
    block.c = args.out<float>() + (batch * shape_.rows + rows.begin) * shape_.columns;
    block.ldc = shape_.columns;
    block.rows = rows.end - rows.begin;
    block.depth = shape_.depth;
    block.columns = shape_.columns;
    block.bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    block.activation = activation_;
    matmul_block(block, args.scratch);
  }

  BatchedShape shape_;
  Unary activation_;
  Precision precision_;
  std::int64_t row_blocks_ = 0, units_ = 0, tiles_ = 0;
};

/// Creates the kernel of MatMul of two f32 of any shapes, with bias [N] and activation if passes
/// fused them.
Result<std::unique_ptr<Kernel>> blocks(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[0];
  const TensorDesc& b = request.inputs[1];
  const auto activation = fused_activation(request.node);
  if (b.dtype != DType::kF32 || !activation || a.dims.rank() < 1 || b.dims.rank() < 1)
    return not_covered();
  const auto perm = params_of<MatMulParams>(request.node).b_perm;
  BatchedShape shape = batched_shape(a.dims, b.dims, perm, request.outputs[0].dims);
  if (shape.b.column_stride != 1 && shape.b.row_stride != 1) return not_covered();
  if (shape.depth == 0 || (request.has(2) && request.inputs[2].elements() != shape.columns))
    return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  if (b.data != nullptr && !perm.empty()) {
    const Permuted operand = permuted(b.dims, perm);
    PX_ASSIGN(shape.packed, pack_transposed(b, operand, request.packed));
    shape.b = right_operand(operand.dims, {}, shape.batch_rank);
  }
  return std::make_unique<BatchedMatMul>(shape, *activation, request.precision, *request.machine);
}

}  // namespace

Result<std::unique_ptr<Kernel>> blocks_f32_matmul(const KernelRequest& request) {
  return request.precision == Precision::kBf16 ? not_covered() : blocks(request);
}
Result<std::unique_ptr<Kernel>> blocks_bf16_matmul(const KernelRequest& request) {
  return request.precision == Precision::kBf16 ? blocks(request) : not_covered();
}

}  // namespace parallax
