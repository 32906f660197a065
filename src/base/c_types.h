// The structs of parallax/c_types.h and the C++ values that they stand for. What comes from C is
// not trusted: sizes, numbers and pointers are checked. Thread-safety: pure functions.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "parallax/c_types.h"
#include "parallax/model.h"
#include "parallax/result.h"
#include "parallax/runtime.h"
#include "parallax/tensor.h"

namespace parallax {

/// A struct with the fields of this version: those beyond given->size are 0. Errors: kInvalidInput
/// for null, and for a size that has no room for the size itself.
template <class Struct>
Result<Struct> of_this_version(const Struct* given) {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  static_assert(offsetof(Struct, size) == 0);
  if (given == nullptr || given->size < sizeof(given->size))
    return tl::unexpected(
        Error{Stage::kSession, ErrorCode::kInvalidInput, {}, "a struct without a size"});
  Struct result{};
  std::memcpy(&result, given, std::min(given->size, sizeof(Struct)));
  result.size = sizeof(Struct);
  return result;
}

px_dtype to_c(DType dtype);
/// Errors: kUnsupported for a number that is no element type.
Result<DType> dtype_from(px_dtype dtype);

/// Points to the dims and the memory of `view`, which must outlive it.
px_tensor to_c(const TensorView& view);
px_tensor to_c(const MutableTensorView& view);
px_tensor to_c(TensorView&&) = delete;
px_tensor to_c(MutableTensorView&&) = delete;
/// Errors: kUnsupported for the type or the rank; kInvalidInput for dims and bytes that contradict
/// each other, no memory, or memory that is not aligned to an element's size.
Result<MutableTensorView> tensor_from(const px_tensor* tensor);

/// A px_type and what it points to.
class CType {
 public:
  explicit CType(const TensorInfo& info);
  CType(CType&&) = delete;
  const px_type& get() const { return type_; }

 private:
  std::vector<std::int64_t> dims_;
  std::vector<std::string> texts_;
  std::vector<const char*> symbols_;
  px_type type_;
};
/// Without a name. Errors: as tensor_from().
Result<TensorInfo> type_from(const px_type* type);

/// Never throws: without memory for the texts it has none.
px_status to_c(const Status& status) noexcept;
/// Releases it.
Status status_from(px_status* status);

/// Null for null. Errors: kInvalidInput where a function is missing.
Result<std::shared_ptr<Allocator>> allocator_from(const px_allocator* allocator);
/// Calls `allocator`, which must outlive it.
px_allocator to_c(Allocator& allocator);

}  // namespace parallax
