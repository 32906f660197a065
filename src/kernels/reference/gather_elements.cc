// GatherElements, ScatterElements and TensorScatter.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/reference/indexed.h"
#include "ops/params/indexing.h"

namespace parallax {
namespace {

/// Rows of indices along the last axis, and the elements of the data to which they point.
struct IndexRows {
  Dims data, indices;
  Strides strides{};  ///< strides of `data`
  int axis = 0;
  std::int64_t columns = 0, rows = 0;

  IndexRows(const Dims& of, const Dims& by, int along)
      : data(of), indices(by), strides(row_major_strides(of)), axis(along) {
    columns = by[by.rank() - 1];
    rows = by.elements() == 0 ? 0 : by.elements() / columns;
  }

  std::int64_t axis_stride() const { return strides[static_cast<std::size_t>(axis)]; }
  bool along_rows() const { return axis + 1 == indices.rank(); }

  /// Offset in the data of row `row`, its index along the axis left out.
  std::int64_t base(std::int64_t row) const {
    std::int64_t offset = 0;
    for (int d = indices.rank() - 2; d >= 0; --d) {
      if (d != axis) offset += row % indices[d] * strides[static_cast<std::size_t>(d)];
      row /= indices[d];
    }
    return offset;
  }

  /// Calls visit(i, offset) for each index of the row: its place among the indices and the element
  /// of the data that it names. Errors: kOutOfRange.
  template <class Visit>
  Status for_row(std::int64_t row, const std::byte* bytes, DType dtype, Visit visit) const {
    const std::int64_t start = base(row), step = along_rows() ? 0 : 1;
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t i = row * columns + column;
      PX_ASSIGN(const std::int64_t index,
                checked_index(load_index(bytes, dtype, i), axis, data[axis]));
      visit(i, start + column * step + index * axis_stride());
    }
    return {};
  }
};

IndexRows index_rows(const KernelRequest& request) {
  const Dims& data = request.inputs[0].dims;
  return {data, request.inputs[1].dims,
          positive_axis(params_of<AxisParams<0>>(request.node).axis, data.rank())};
}

/// Checks that the indices' dimensions do not exceed the data's, except along the axis.
Status check_reach(const IndexRows& rows) {
  bool good = rows.data.rank() == rows.indices.rank();
  for (int d = 0; good && d < rows.data.rank(); ++d)
    good = d == rows.axis || rows.indices[d] <= rows.data[d];
  return good ? Status() : make_error(ErrorCode::kInvalidInput, "more indices than elements");
}

/// Sizes of a TensorScatter, which copies slabs of `length` rows.
struct CacheShape {
  std::int64_t slabs = 0, per_sample = 0, length = 0, update = 0, row = 0;
  bool circular = false;
};

CacheShape cache_shape(const KernelRequest& request) {
  const Dims& cache = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<-2>>(request.node).axis, cache.rank());
  CacheShape shape;
  shape.per_sample = count_of(cache, 1, axis);
  shape.slabs = cache[0] * shape.per_sample;
  shape.length = cache[axis];
  shape.update = request.inputs[1].dims[axis];
  shape.row = count_of(cache, axis + 1, cache.rank()) * size_of(request.inputs[0].dtype);
  shape.circular = params_of<TensorScatterParams>(request.node).mode == CacheMode::kCircular;
  return shape;
}

/// Returns the row of the cache that the first row of an update replaces. Errors: kOutOfRange.
Result<std::int64_t> first_row(const CacheShape& shape, std::int64_t index) {
  if (shape.update == 0) return 0;
  if (shape.circular) {
    const std::int64_t row = index % shape.length;
    return row < 0 ? row + shape.length : row;
  }
  if (index >= 0 && index <= shape.length - shape.update) return index;
  return run_error(ErrorCode::kOutOfRange,
                   fmt::format("{} rows from {} on do not fit a cache of {}", shape.update, index,
                               shape.length));
}

}  // namespace

KernelResult reference_gather_elements(const KernelRequest& request) {
  const IndexRows rows = index_rows(request);
  PX_RETURN_IF_ERROR(check_reach(rows));
  const DType index_type = request.inputs[1].dtype;
  const std::int64_t tiles = tile_count(
      rows.rows,
      std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(rows.columns, 1), 1));
  return make_for_size(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b11},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(rows.rows, tiles, tile);
          T* y = args.out<T>();
          for (std::int64_t row = range.begin; row < range.end; ++row) {
            PX_RETURN_IF_ERROR(rows.for_row(row, args.inputs[1], index_type,
                                            [&](std::int64_t i, std::int64_t from) {
                                              y[i] = load_element<T>(args.inputs[0], from);
                                            }));
          }
          return {};
        });
  });
}

/// Updates are applied in order: the last of several for one element wins.
KernelResult reference_scatter_elements(const KernelRequest& request) {
  const IndexRows rows = index_rows(request);
  PX_RETURN_IF_ERROR(check_reach(rows));
  const ScatterReduction reduction = params_of<ScatterElementsParams>(request.node).reduction;
  const DType index_type = request.inputs[1].dtype;
  const std::int64_t bytes = request.inputs[0].bytes();
  return make_for<kAllTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = bytes > 0 ? 1 : 0, .byte_inputs = 0b111},
        [=](std::int64_t, const KernelArgs& args) -> Status {
          std::memcpy(args.outputs[0], args.inputs[0], static_cast<std::size_t>(bytes));
          for (std::int64_t row = 0; row < rows.rows; ++row) {
            PX_RETURN_IF_ERROR(
                rows.for_row(row, args.inputs[1], index_type, [&](std::int64_t i, std::int64_t to) {
                  T& place = args.out<T>()[to];
                  place = reduce(reduction, place, load_element<T>(args.inputs[2], i));
                }));
          }
          return {};
        });
  });
}

KernelResult reference_tensor_scatter(const KernelRequest& request) {
  const CacheShape shape = cache_shape(request);
  if (shape.update > shape.length) {
    return make_error(ErrorCode::kInvalidInput, "the update is longer than the cache");
  }
  const bool indexed = request.has(2);
  const std::int64_t slab = shape.length * shape.row;
  return make_lambda_kernel(
      {.tiles = slab == 0 ? 0 : shape.slabs, .byte_inputs = 0b111},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const std::int64_t index =
            indexed ? load_element<std::int64_t>(args.inputs[2], tile / shape.per_sample) : 0;
        PX_ASSIGN(const std::int64_t first, first_row(shape, index));
        std::byte* to = args.outputs[0] + tile * slab;
        std::memcpy(to, args.inputs[0] + tile * slab, static_cast<std::size_t>(slab));
        const std::byte* from = args.inputs[1] + tile * shape.update * shape.row;
        for (std::int64_t i = 0; i < shape.update; ++i) {
          std::memcpy(to + (first + i) % shape.length * shape.row, from + i * shape.row,
                      static_cast<std::size_t>(shape.row));
        }
        return {};
      });
}

}  // namespace parallax
