// The constant right operand of a matrix product in panels that micro-kernels read in order, and
// its products. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/gemm_type.h"
#include "kernels/kernel.h"

namespace parallax {

/// [depth, columns] in panels of MatMulWidths::panel columns, each [steps(), its stride] steps of
/// the type; a depth of no whole steps and the last panel are padded with zeros.
struct PackedMatrix {
  /// Describes a matrix of this size, without bytes; pack_matrix() adds them.
  PackedMatrix(const GemmType& type, std::int64_t depth, std::int64_t columns);

  /// Type of the steps; never null.
  const GemmType* type;
  /// Size in elements, without padding.
  std::int64_t depth, columns;
  MatMulWidths widths;
  /// Panels, one after the other; shared with other kernels, null before pack_matrix(). Deferred
  /// packing fills them later (PackedWeights::fill()), so factories must not read them.
  std::shared_ptr<const AlignedBytes> bytes;

  /// Returns the rows of a panel.
  std::int64_t steps() const { return type->steps(depth); }
  /// Returns the number of panels; only the last one may have fewer columns than widths.panel.
  std::int64_t panels() const;
  /// Return the first column of a panel, and the number of its columns. REQUIRES, as the functions
  /// below: 0 <= panel < panels().
  std::int64_t column(std::int64_t panel) const;
  std::int64_t width(std::int64_t panel) const;
  /// Returns the steps from one row of a panel to the next.
  std::int64_t stride(std::int64_t panel) const;
  /// Returns the size of all panels in bytes; nullopt if it does not fit in 63 bits.
  std::optional<std::int64_t> size() const;
  /// Returns the address of row `step` of a panel.
  const std::byte* row(std::int64_t panel, std::int64_t step) const;
};

/// Writes a panel as f32 [depth, stride], with zeros for missing columns. Called when weights are
/// packed, immediately or later, so it must own everything that it reads, except the constant.
/// `panel` ascends from 0; `to` has matrix.depth * matrix.stride(panel) floats. Memory that it
/// writes is aligned to a float.
using FillPanel = std::function<void(const PackedMatrix& matrix, std::int64_t panel, float* to)>;
/// Writes some rows of a panel as f32 [rows, stride], likewise.
using FillRows =
    std::function<void(const PackedMatrix& matrix, std::int64_t panel, TileRange rows, float* to)>;
/// A dense constant that has the rows of a matrix one after the other, or its columns.
struct DenseConstant {
  std::span<const std::byte> bytes;
  bool columns = false;
};

/// Packs the matrix that `fill` computes from the constant `source`. `layout` names everything else
/// that the result depends on; equal packings are shared as PackedWeights::get() says. The name of
/// the type and the widths are added to `layout`. Errors: kOutOfMemory, also if the size does not
/// fit 63 bits.
Result<PackedMatrix> pack_matrix(PackedMatrix matrix, const std::byte* source,
                                 const std::string& layout, FillPanel fill, PackedWeights& packed,
                                 std::span<const std::byte> instead = {});
/// As pack_matrix(), in the order in which the constant's pages lie, which are released meanwhile:
/// a large matrix in a file needs one megabyte next to what it is packed to, not all of its bytes.
Result<PackedMatrix> pack_in_order(PackedMatrix matrix, const std::byte* source,
                                   const std::string& layout, FillRows fill, DenseConstant constant,
                                   PackedWeights& packed, std::span<const std::byte> instead = {});

/// The f16 or f32 in a file that a matrix of f32 is made of, one by one. Element (k, j) of the
/// matrix is at k * row_stride + j * column_stride.
struct StoredMatrix {
  std::shared_ptr<const StoredForm> form;          ///< null: not known
  std::int64_t row_stride = 0, column_stride = 0;  ///< elements of `form` between rows, and columns
};
/// The matrix alpha * B. `data` is B [depth, columns], f32, or its transpose. `data` must live as
/// long as PackedWeights::get() demands of a constant.
struct PackSource {
  const std::byte* data = nullptr;  ///< any alignment
  std::int64_t depth = 0, columns = 0;
  bool transposed = false;
  float alpha = 1;
  /// That of B. Packed instead of `data` if it is f32, or f16 and the type packs f16.
  StoredMatrix stored = {};
};
/// Packs the matrix, shared through `packed` with every kernel that asks for the same. Errors:
/// kOutOfMemory.
Result<PackedMatrix> pack_matrix(const GemmType& type, const PackSource& source,
                                 PackedWeights& packed);

/// Rows of A, and the destination and epilogue of their products with a matrix: activation(A B +
/// bias + residual).
struct MatMulRows {
  /// [rows, steps()], of the type's steps. Rows are dense.
  const void* a = nullptr;
  std::int64_t rows = 0;
  /// [rows, columns]. Dense f32, or what the type's sums are; must not overlap A.
  void* c = nullptr;
  /// [columns], or null. Its elements have the sums' type, and sums begin with them.
  const void* bias = nullptr;
  /// [rows, columns] f32, dense, added to complete sums of f32; or null. May be C if there is one
  /// block of depth and the weights are f32; otherwise must not overlap it.
  const float* residual = nullptr;
  Unary activation;
  std::int64_t depth_blocks = 1;  ///< blocks that the depth is cut into
};
/// Returns dense rows of a tensor as MatMulRows::a: `from` itself if the type needs no conversion,
/// else `scratch`, which may be `from`. `scratch` has rows * b.steps() steps of four bytes.
const void* rows_of_steps(const PackedMatrix& b, const void* from, std::int64_t rows,
                          std::byte* scratch);
/// Multiplies `rows` with the columns of `panels`. `more`: the caller multiplies the panel after
/// them next, so that this call prefetches it. Blocks of depth begin at multiples of four steps and
/// are summed in ascending order; residual and activation follow the last. Several threads may call
/// it for different panels of the same rows.
void multiply(const MatMulRows& rows, const PackedMatrix& b, TileRange panels, bool more);

}  // namespace parallax
