#include "kernels/objects/parts.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "ops/op.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

std::int64_t elements_from(const Dims& dims, int begin, int end) {
  std::int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= dims[axis];
  return product;
}

/// Copies a box of `rows` runs of `run` elements; `stride`s are elements from run to run.
struct Runs {
  std::int64_t rows, run, from, from_stride, to, to_stride;
};

void copy_strings(std::span<const std::string> from, std::vector<std::string>& to,
                  const Runs& runs) {
  for (std::int64_t row = 0; row < runs.rows; ++row)
    for (std::int64_t i = 0; i < runs.run; ++i)
      to[static_cast<std::size_t>(runs.to + row * runs.to_stride + i)] =
          from[static_cast<std::size_t>(runs.from + row * runs.from_stride + i)];
}

void copy_bytes(const TensorView& from, const MutableTensorView& to, const Runs& runs) {
  const std::int64_t size = size_of(from.dtype);
  if (runs.run == 0) return;
  for (std::int64_t row = 0; row < runs.rows; ++row)
    std::memcpy(to.bytes.data() + (runs.to + row * runs.to_stride) * size,
                from.bytes.data() + (runs.from + row * runs.from_stride) * size,
                static_cast<std::size_t>(runs.run * size));
}

/// A tensor that is filled by runs.
class Target {
 public:
  static Result<Target> make(const ObjectCall& call, DType dtype, const Dims& dims) {
    Target target(dims);
    const auto elements = dims.checked_elements();
    if (!elements)
      return tl::unexpected(object_error(call, ErrorCode::kOutOfMemory, "the result is too large"));
    if (dtype != DType::kString) {
      if (size_of(dtype) == 0)
        return tl::unexpected(object_error(call, ErrorCode::kUnsupported,
                                           fmt::format("cuts tensors of {}", to_string(dtype))));
      PX_ASSIGN(target.tensor_, take_tensor(call, dtype, dims));
      return target;
    }
    const auto bytes = checked_mul(*elements, sizeof(std::string));
    if (!bytes)
      return tl::unexpected(object_error(call, ErrorCode::kOutOfMemory, "the result is too large"));
    PX_ASSIGN(const auto room, call.memory.take(*bytes));
    target.strings_.emplace(static_cast<std::size_t>(*elements));
    return target;
  }

  void copy(const Object& from, const Runs& runs) {
    if (strings_) {
      copy_strings(from.strings(), *strings_, runs);
    } else {
      copy_bytes(from.tensor_view(), tensor_.mutable_view(), runs);
    }
  }

  Result<Object> take(const ObjectCall& call) {
    return strings_ ? make_object(call, dims_, *std::move(strings_))
                    : counted(call, std::move(tensor_));
  }

 private:
  explicit Target(const Dims& dims) : dims_(dims) {}

  Dims dims_;
  Tensor tensor_;
  std::optional<std::vector<std::string>> strings_;
};

}  // namespace

std::optional<int> axis_of(const ObjectCall& call, int rank) {
  return normalize_axis(params_of<AxisParams<0>>(call.node).axis, rank);
}

Result<Object> part_of(const ObjectCall& call, const Object& whole, int axis, std::int64_t begin,
                       std::int64_t length, bool drop) {
  const Dims& dims = whole.dims();
  Dims part;
  for (int i = 0; i < dims.rank(); ++i)
    if (i != axis || !drop) part.push_back(i == axis ? length : dims[i]);
  PX_ASSIGN(Target target, Target::make(call, whole.dtype(), part));
  if (part.elements() > 0) {
    const std::int64_t inner = elements_from(dims, axis + 1, dims.rank());
    const std::int64_t run = length * inner;
    target.copy(whole,
                {elements_from(dims, 0, axis), run, begin * inner, dims[axis] * inner, 0, run});
  }
  return target.take(call);
}

Result<Object> concatenated(const ObjectCall& call, std::span<const Object> parts, int axis,
                            bool add) {
  const Dims& first = parts[0].dims();
  std::int64_t length = 0;
  for (const Object& part : parts) {
    const auto sum = checked_add(length, add ? 1 : part.dims()[axis]);
    if (!sum)
      return tl::unexpected(object_error(call, ErrorCode::kOutOfMemory, "the result is too large"));
    length = *sum;
  }
  Dims all;
  for (int i = 0; i < axis; ++i) all.push_back(first[i]);
  all.push_back(length);
  for (int i = add ? axis : axis + 1; i < first.rank(); ++i) all.push_back(first[i]);
  PX_ASSIGN(Target target, Target::make(call, parts[0].dtype(), all));
  if (all.elements() == 0) return target.take(call);
  const std::int64_t rows = elements_from(all, 0, axis);
  const std::int64_t inner = elements_from(all, axis + 1, all.rank());
  std::int64_t at = 0;
  for (const Object& part : parts) {
    const std::int64_t run = (add ? 1 : part.dims()[axis]) * inner;
    target.copy(part, {rows, run, 0, run, at, length * inner});
    at += run;
  }
  return target.take(call);
}

}  // namespace parallax
