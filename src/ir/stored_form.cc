#include "ir/stored_form.h"

#include "ir/charge.h"

namespace parallax {
namespace {

constexpr DTypeSet kStoredTypes =
    dtype_bit(DType::kF32) | dtype_bit(DType::kF16) | dtype_bit(DType::kI8) | dtype_bit(DType::kU8);

std::array<std::int64_t, Dims::kMaxRank> dense(const Dims& dims) {
  std::array<std::int64_t, Dims::kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= dims[axis];
  }
  return strides;
}

}  // namespace

std::optional<StoredForm> own_form(const Constant& constant) {
  if (!contains(kStoredTypes, constant.dtype) || &uncharged(constant.owner) != &constant.owner)
    return std::nullopt;
  return StoredForm{constant, dense(constant.dims)};
}

StoredForm transposed_form(const StoredForm& form, const Dims& from,
                           std::span<const std::int64_t> perm) {
  StoredForm result{form.source, {}};
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    std::int64_t source = perm.empty() ? from.rank() - 1 - axis : perm[at];
    if (source < 0) source += from.rank();
    result.strides[at] = form.stride(static_cast<int>(source));
  }
  return result;
}

std::optional<StoredForm> reshaped_form(const StoredForm& form, const Dims& from, const Dims& to) {
  if (from == to) return form;
  if (form.strides != dense(from)) return std::nullopt;
  return StoredForm{form.source, dense(to)};
}

}  // namespace parallax
