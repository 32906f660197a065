// MatMulInteger with constant weights, and rows of bytes for others. Unsigned rows whose length is
// whole steps are read in place; others are copied, tile by tile.
#include "kernels/cpu/quantised/byte_product.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "base/files/mapped_file.h"
#include "base/status.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/quantised/byte_sums.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Multiply-accumulates of a tile: 25 microseconds. Reading a weight takes as long as multiplying
/// ten rows by it.
constexpr std::int64_t kByteRowMacs = 5000000, kFewestRows = 10;

/// Tiles of the product: runs of rows, which are multiplied block by block, times groups of panels.
struct ByteRowCut {
  std::int64_t runs = 1, groups = 1, block = 0;

  ByteRowCut(std::int64_t rows, const PackedMatrix& weights, const Machine& machine) {
    const MatMulCut cut = cut_matmul(rows, weights, machine);
    block = cut.most_rows;
    if (cut.row_blocks == 1) {
      const auto panel = static_cast<std::int64_t>(weights.widths.panel);
      const std::int64_t macs = std::max(rows, kFewestRows) * weights.depth * panel;
      groups = std::min(count_tiles(weights.panels(), macs, kByteRowMacs), weights.panels());
    } else {
      runs = count_tiles(rows, weights.depth * weights.columns, kByteRowMacs);
    }
  }
};

class ByteRows final : public Kernel {
 public:
  ByteRows(std::int64_t rows, PackedMatrix weights, Requantisation to, const Machine& machine)
      : rows_(rows),
        weights_(std::move(weights)),
        to_(std::move(to)),
        in_place_(!to_.x_is_signed() && weights_.depth % weights_.type->elements == 0),
        cut_(rows, weights_, machine) {
    most_columns_ = tile_count(weights_.panels(), cut_.groups) *
                    static_cast<std::int64_t>(weights_.widths.panel);
  }

  std::int64_t tiles() const override { return cut_.runs * cut_.groups; }
  std::int64_t scratch_bytes() const override {
    return Requantisation::scratch_bytes(most_columns_) + start_bytes() +
           (in_place_ ? 0 : cut_.block * weights_.steps() * kStepBytes);
  }
  InputUse input_use(std::size_t input) const override {
    return input == kProductW || input == kProductWZero ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto run = tile_range(rows_, cut_.runs, tile / cut_.groups, kBlockRowGranule);
    const auto panels = tile_range(weights_.panels(), cut_.groups, tile % cut_.groups);
    const std::int64_t first = weights_.column(panels.begin);
    const std::int64_t end = weights_.column(panels.end - 1) + weights_.width(panels.end - 1);
    const auto columns = to_.prepare(args, first, end, args.scratch.data());
    for (std::int64_t begin = run.begin; begin < run.end; begin += cut_.block)
      multiply_block({begin, std::min(begin + cut_.block, run.end)}, panels, columns, args);
    return {};
  }

 private:
  void multiply_block(const TileRange& rows, const TileRange& panels,
                      const Requantisation::Columns& columns, const KernelArgs& args) const {
    const std::int64_t count = rows.end - rows.begin, first = weights_.column(panels.begin);
    MatMulPanel panel;
    panel.a = rows_of(args, rows);
    if (to_.w_zero() != 0) panel.row_start = starts_of(args, panel.a, count);
    panel.lda = to_size(weights_.steps());
    panel.ldc = to_size(weights_.columns);
    panel.rows = to_size(count);
    panel.depth = to_size(weights_.steps());
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      const std::int64_t column = weights_.column(p);
      const Requantise requantise = columns.from(column - first);
      panel.b = weights_.row(p, 0);
      panel.ldb = to_size(weights_.stride(p));
      panel.c =
          args.out<std::byte>() + (rows.begin * weights_.columns + column) * to_.element_bytes();
      panel.columns = to_size(weights_.width(p));
      panel.bias = columns.start + (column - first);
      panel.requantise = &requantise;
      weights_.type->multiply(panel);
      to_.finish(panel.c, weights_.columns, count, weights_.width(p));
    }
  }

  const void* rows_of(const KernelArgs& args, const TileRange& rows) const {
    const auto* from = args.in<std::uint8_t>(kProductX) + rows.begin * weights_.depth;
    if (in_place_) return from;
    auto* const to =
        args.scratch.data() + Requantisation::scratch_bytes(most_columns_) + start_bytes();
    rows_of_steps(weights_, from, rows.end - rows.begin, to);
    // Steps beyond the depth meet weights of 0.
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
    if (to_.x_is_signed())
      turn_signs(bytes, bytes, to_size((rows.end - rows.begin) * weights_.steps() * kStepBytes));
    return to;
  }

  std::int64_t start_bytes() const {
    return to_.w_zero() == 0 ? 0 : rounded_up(cut_.block * kStepBytes, kAlignment);
  }
  const std::int32_t* starts_of(const KernelArgs& args, const void* rows,
                                std::int64_t count) const {
    auto* const to = reinterpret_cast<std::int32_t*>(args.scratch.data() +
                                                     Requantisation::scratch_bytes(most_columns_));
    const std::int64_t stride = in_place_ ? weights_.depth : weights_.steps() * kStepBytes;
    sum_byte_rows(static_cast<const std::uint8_t*>(rows), to_size(stride), to_size(weights_.depth),
                  to_size(count), to);
    to_.start_rows(args, weights_.depth, {to, to_size(count)});
    return to;
  }

  std::int64_t rows_;
  PackedMatrix weights_;
  Requantisation to_;
  bool in_place_;
  ByteRowCut cut_;
  std::int64_t most_columns_ = 0;
};

}  // namespace

void turn_signs(const std::uint8_t* from, std::uint8_t* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i] ^ 0x80U;
}

std::unique_ptr<Kernel> make_byte_rows(std::int64_t rows, PackedMatrix weights,
                                       Requantisation requantisation, const Machine& machine) {
  return std::make_unique<ByteRows>(rows, std::move(weights), std::move(requantisation), machine);
}

/// Creates the kernel of MatMulInteger of [.., M, K] and a constant [K, N].
Result<std::unique_ptr<Kernel>> byte_panels_matmul(const KernelRequest& request) {
  const TensorDesc& a = request.inputs[kProductX];
  const TensorDesc& b = request.inputs[kProductW];
  if (b.data == nullptr || b.dims.rank() != 2 || a.dims.rank() < 1) return not_covered();
  const std::int64_t depth = b.dims[0], columns = b.dims[1];
  if (request.outputs[0].elements() == 0 || depth == 0 || a.dims[a.dims.rank() - 1] != depth)
    return not_covered();
  const bool is_signed = b.dtype == DType::kI8;
  const std::string layout =
      fmt::format("matmul {}x{} {}", depth, columns, is_signed ? "i8" : "u8");
  const DenseConstant dense{{b.data, to_size(depth * columns)}};
  const auto sum = [from = b.data, depth, columns, is_signed, dense](std::int32_t* to) {
    std::fill_n(to, columns, 0);
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t j = 0; j < columns; ++j)
        to[j] += weight_byte(from, is_signed, k * columns + j);
    release_pages(dense.bytes);  // before there is memory for the packed ones
  };
  PX_ASSIGN(auto to, Requantisation::make(request, columns, layout, sum));
  if (!to) return not_covered();
  const auto fill = [from = b.data, columns, is_signed](const PackedMatrix& matrix, std::int64_t p,
                                                        TileRange rows, float* panel) {
    const std::int64_t stride = matrix.stride(p), width = matrix.width(p);
    std::fill_n(panel, (rows.end - rows.begin) * stride, 0.0F);
    for (std::int64_t k = rows.begin; k < rows.end; ++k, panel += stride)
      for (std::int64_t j = 0; j < width; ++j)
        panel[j] =
            static_cast<float>(weight_byte(from, is_signed, k * columns + matrix.column(p) + j));
  };
  PX_ASSIGN(PackedMatrix weights, pack_in_order(PackedMatrix(byte_gemm_type(), depth, columns),
                                                b.data, layout, fill, dense, request.packed));
  return make_byte_rows(a.elements() / depth, std::move(weights), std::move(*to), *request.machine);
}

}  // namespace parallax
