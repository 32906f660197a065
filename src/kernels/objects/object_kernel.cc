#include "kernels/objects/object_kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/objects/kernels.h"
#include "ops/op.h"

namespace parallax {

namespace {

struct ObjectKernelRow {
  OpKind op;
  ObjectKernel kernel;
};
constexpr std::array kObjectKernels = {
#define PX_OBJECT_KERNEL(op, function) ObjectKernelRow{OpKind::k##op, function},
#include "kernels/objects/kernels.def"
#undef PX_OBJECT_KERNEL
};

}  // namespace

ObjectKernel object_kernel(OpKind kind) {
  const auto row = std::ranges::find(kObjectKernels, kind, &ObjectKernelRow::op);
  if (row != kObjectKernels.end()) return row->kernel;
  return moves_strings(kind) ? move_strings : nullptr;
}

Error object_error(const ObjectCall& call, ErrorCode code, std::string message) {
  return {
      Stage::kRun, code, {}, fmt::format("{}: {}", to_string(call.node.op), std::move(message))};
}

namespace {

/// Returns the bytes of the strings, objects and characters together; nullopt on overflow.
std::optional<std::int64_t> bytes_of_strings(std::span<const std::string> strings) {
  auto bytes = checked_mul(std::ssize(strings), sizeof(std::string));
  for (const std::string& text : strings)
    bytes = bytes ? checked_add(*bytes, static_cast<std::int64_t>(text.size())) : std::nullopt;
  return bytes;
}

tl::unexpected<Error> too_large(const ObjectCall& call) {
  return tl::unexpected(object_error(call, ErrorCode::kOutOfMemory, "the result is too large"));
}

}  // namespace

Result<Object> counted(const ObjectCall& call, Tensor tensor) {
  struct Owner {
    std::shared_ptr<const void> charge;
    Tensor tensor;
  };
  PX_ASSIGN(auto charge, call.memory.take(std::ssize(tensor.view().bytes)));
  const auto owner = std::make_shared<const Owner>(Owner{std::move(charge), std::move(tensor)});
  return Object::view(owner->tensor.view(), owner);
}

Result<Tensor> take_tensor(const ObjectCall& call, DType dtype, const Dims& dims) {
  const auto bytes = bytes_of(dtype, dims);
  if (!bytes) return too_large(call);
  // Checks that the budget has room. The object made of the tensor holds the lasting charge.
  PX_ASSIGN(const auto room, call.memory.take(*bytes));
  auto tensor = Tensor::allocate(dtype, dims);
  if (!tensor)
    return tl::unexpected(object_error(call, tensor.error().code, tensor.error().message));
  return tensor;
}

Result<Object> owned(const ObjectCall& call, const Object& tensor) {
  const TensorView view = tensor.tensor_view();
  if (view.dtype == DType::kString || tensor.type() != ObjectType::kTensor) return tensor;
  PX_ASSIGN(Tensor copy, take_tensor(call, view.dtype, view.dims));
  if (!view.bytes.empty())
    std::memcpy(copy.mutable_view().bytes.data(), view.bytes.data(), view.bytes.size());
  return counted(call, std::move(copy));
}

Result<Object> make_object(const ObjectCall& call, const Dims& dims,
                           std::vector<std::string> strings) {
  const auto bytes = bytes_of_strings(strings);
  if (!bytes) return too_large(call);
  PX_ASSIGN(auto charge, call.memory.take(*bytes));
  return Object::strings(dims, std::move(strings), std::move(charge));
}

Result<std::vector<std::int64_t>> integers_of(const ObjectCall& call, const Object& tensor) {
  const TensorView view = tensor.tensor_view();
  const Constant constant{view.dtype, view.dims, view.bytes, nullptr};
  auto list = integers(constant, view.bytes.size() + 1);
  if (list) return *std::move(list);
  return tl::unexpected(object_error(call, ErrorCode::kInvalidInput, "needs integers"));
}

Result<std::int64_t> integer_input(const ObjectCall& call, std::size_t i) {
  PX_ASSIGN(const auto list, integers_of(call, *call.input(i)));
  if (list.size() == 1) return list[0];
  return tl::unexpected(
      object_error(call, ErrorCode::kInvalidInput, fmt::format("input {} must be one element", i)));
}

}  // namespace parallax
