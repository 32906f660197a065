#include "delegates/opencl/space.h"

#include <algorithm>
#include <cstddef>

namespace parallax::opencl {
namespace {

/// Rows of at least this many elements have work-groups of their own.
constexpr std::int64_t kWideRow = 128;

std::int32_t narrow(std::int64_t x) { return static_cast<std::int32_t>(x); }

bool merges(const Walk& walk, std::size_t last, std::int64_t inner,
            const std::vector<Strides>& operands, std::size_t axis) {
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (walk.operands[k].at[last] * inner != operands[k][axis]) return false;
  return true;
}

void add_axis(Walk& walk, std::int64_t dim, const std::vector<Strides>& operands, std::size_t axis,
              bool may_merge) {
  SpaceArgument& s = walk.space;
  const auto rank = static_cast<std::size_t>(s.rank);
  if (may_merge && rank > 0 && merges(walk, rank - 1, s.dims[rank - 1], operands, axis)) {
    s.dims[rank - 1] *= narrow(dim);
    return;
  }
  s.dims[rank] = narrow(dim);
  for (std::size_t k = 0; k < operands.size(); ++k)
    walk.operands[k].at[rank] = narrow(operands[k][axis]);
  ++s.rank;
}

Walk make_walk(const Dims& dims, const std::vector<Strides>& operands, bool all_axes) {
  Walk walk;
  walk.operands.resize(operands.size());
  walk.space.dims.fill(1);
  const std::int64_t count = dims.elements();
  if (count == 0) return walk;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    if (dims[axis] != 1 || all_axes)
      add_axis(walk, dims[axis], operands, static_cast<std::size_t>(axis), !all_axes);
  }
  walk.space.rank = std::max(walk.space.rank, 1);
  walk.space.count = narrow(count);
  const std::int64_t width = walk.space.dims[0], rows = count / width;
  const std::size_t chunks = groups_of(width);
  const bool by_rows = rows == 1 || width >= kWideRow;
  if (by_rows) walk.space.chunks = narrow(static_cast<std::int64_t>(chunks));
  walk.groups = by_rows ? chunks * static_cast<std::size_t>(rows) : groups_of(count);
  return walk;
}

}  // namespace

Walk walk_of(const Dims& dims, const std::vector<Strides>& operands) {
  return make_walk(dims, operands, false);
}
Walk plain_walk_of(const Dims& dims, const std::vector<Strides>& operands) {
  return make_walk(dims, operands, true);
}

}  // namespace parallax::opencl
