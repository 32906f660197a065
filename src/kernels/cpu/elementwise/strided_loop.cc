#include "kernels/cpu/elementwise/strided_loop.h"

#include <vector>

namespace parallax {
namespace {

using Offsets = StridedLoop::Offsets;

/// Returns true if `size` steps of `inner` move every tensor by the distance of one of `outer`.
bool merges(const Offsets& outer, const Offsets& inner, std::int64_t size) {
  for (std::size_t i = 0; i < outer.size(); ++i)
    if (outer[i] != inner[i] * size) return false;
  return true;
}

}  // namespace

StridedLoop::StridedLoop(std::span<const std::int64_t> dims, std::span<const Offsets> strides,
                         Offsets start)
    : start_(start) {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    elements_ *= dims[d];
    if (dims[d] == 1) continue;
    const auto last = static_cast<std::size_t>(rank_ - 1);
    if (rank_ > 0 && merges(strides_[last], strides[d], dims[d])) {
      dims_[last] *= dims[d];
      strides_[last] = strides[d];
      continue;
    }
    dims_[static_cast<std::size_t>(rank_)] = dims[d];
    strides_[static_cast<std::size_t>(rank_++)] = strides[d];
  }
  // Rows and columns always exist.
  while (rank_ < 2) {
    std::move_backward(dims_.begin(), dims_.begin() + rank_, dims_.begin() + rank_ + 1);
    std::move_backward(strides_.begin(), strides_.begin() + rank_, strides_.begin() + rank_ + 1);
    dims_[0] = 1;
    strides_[0] = {};
    ++rank_;
  }
}

StridedLoop::Position StridedLoop::position_of_row(std::int64_t row) const {
  Position at;
  at.offsets = start_;
  for (int d = rank_ - 2; d >= 0; --d) {
    const auto u = static_cast<std::size_t>(d);
    at.index[u] = row % dims_[u];
    row /= dims_[u];
    for (std::size_t i = 0; i < kMaxInputs; ++i) at.offsets[i] += at.index[u] * strides_[u][i];
  }
  return at;
}

void StridedLoop::advance(Position& at, std::int64_t rows) const {
  std::int64_t step = rows;
  for (int d = rank_ - 2; d >= 0; --d) {
    const auto u = static_cast<std::size_t>(d);
    at.index[u] += step;
    for (std::size_t i = 0; i < kMaxInputs; ++i) at.offsets[i] += step * strides_[u][i];
    if (at.index[u] < dims_[u]) return;
    for (std::size_t i = 0; i < kMaxInputs; ++i) at.offsets[i] -= at.index[u] * strides_[u][i];
    at.index[u] = 0;
    step = 1;
  }
}

std::array<std::int64_t, Dims::kMaxRank> dense_strides(const Dims& dims) {
  std::array<std::int64_t, Dims::kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int d = dims.rank() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= dims[d];
  }
  return strides;
}

StridedLoop broadcast_loop(const Dims& output, std::span<const Dims> inputs) {
  std::vector<Offsets> strides(static_cast<std::size_t>(output.rank()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto dense = dense_strides(inputs[i]);
    const int missing = output.rank() - inputs[i].rank();
    for (int d = 0; d < inputs[i].rank(); ++d) {
      const int axis = d + missing;
      strides[static_cast<std::size_t>(axis)][i] =
          inputs[i][d] == 1 ? 0 : dense[static_cast<std::size_t>(d)];
    }
  }
  return StridedLoop(output.span(), strides);
}

}  // namespace parallax
