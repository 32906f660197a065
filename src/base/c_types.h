// Converts between the structs of parallax/c_types.h and C++ values. Input from C is not trusted:
// sizes, numbers and pointers are checked. Errors have stage kSession. Thread-safety: pure
// functions.
//
// Used on both sides of the delegate interface: by the library that calls a delegate, and by
// delegates that are written in C++. Each struct begins with its size, by which a side knows which
// fields the other has.
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

/// Returns a copy of `*given` with the fields of this version; fields beyond given->size are 0.
/// Errors: kInvalidInput if `given` is null, or its size does not cover the size field itself.
/// Fields of later versions are dropped. At most given->size bytes are read.
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

/// Returns the number that ONNX gives to `dtype`.
px_dtype to_c(DType dtype);
/// Converts an element type. Errors: kUnsupported if the number is not a known element type.
/// Numbers are those of TensorProto.DataType.
Result<DType> dtype_from(px_dtype dtype);

/// Returns a tensor that points to the dims and the memory of `view`; `view` must outlive it, so
/// temporaries are rejected. The receiver must not write through a tensor that was made of a
/// TensorView, though its pointer is not const.
px_tensor to_c(const TensorView& view);
px_tensor to_c(const MutableTensorView& view);
px_tensor to_c(TensorView&&) = delete;
px_tensor to_c(MutableTensorView&&) = delete;
/// Returns a view of the memory of `tensor`; nothing is copied. Errors: kUnsupported for an element
/// type or rank that is not supported, and for strings; kInvalidInput if the dims are negative or
/// contradict the number of bytes, if the memory is null, or if it is not aligned to the element
/// size.
Result<MutableTensorView> tensor_from(const px_tensor* tensor);

/// Owns a px_type and the arrays that it points to. Dimensions that are not fixed are negative,
/// with the symbol's name.
class CType {
 public:
  /// Copies the dims and symbols of `info`. The object cannot be moved, because type_ points into
  /// it.
  explicit CType(const TensorInfo& info);
  CType(CType&&) = delete;
  /// Returns the struct; it and its arrays live as long as this object.
  const px_type& get() const { return type_; }

 private:
  std::vector<std::int64_t> dims_;    ///< -1 for a dimension with a symbol
  std::vector<std::string> texts_;    ///< the name of each dimension's symbol; may be empty
  std::vector<const char*> symbols_;  ///< into texts_; null for a fixed dimension
  px_type type_;
};
/// Converts a type; the result has no name. Errors: kUnsupported for an unknown element type or
/// rank; kInvalidInput for missing dims, or dims below -1. The texts are copied.
Result<TensorInfo> type_from(const px_type* type);

/// Converts a status. Never throws: if memory for the texts runs out, only the code is set. The
/// receiver calls `release`. The stage is lost: status_from() gives kSession.
px_status to_c(const Status& status) noexcept;
/// Converts `*status` and calls its `release`, so its texts must not be used afterwards. Codes of
/// later versions become kInternal. kInvalidInput if `status` is null or too short; it is not
/// released then.
Status status_from(px_status* status);

/// Wraps the functions of `allocator`, whose struct is copied; null stays null. Errors:
/// kInvalidInput if a function is missing. The functions and their context must outlive the result
/// and all memory from it.
Result<std::shared_ptr<Allocator>> allocator_from(const px_allocator* allocator);
/// Returns functions that call `allocator`, which must outlive all memory allocated through them.
px_allocator to_c(Allocator& allocator);

}  // namespace parallax
