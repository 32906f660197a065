// Tensors at the API: concrete dimensions, views of dense row-major memory, and tensors that own
// theirs. Thread-safety: plain values; an object may be read by several threads while none writes.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parallax/dtype.h"
#include "parallax/result.h"

namespace parallax {

/// The concrete dimensions of a tensor, outermost first: at most kMaxRank of them, each >= 0, held
/// inline. The default is rank 0, a scalar.
class Dims {
 public:
  /// The highest rank that Parallax supports, the limit of every Dims. The loader refuses models
  /// with a higher rank.
  static constexpr int kMaxRank = 8;

  /// Makes rank 0: a scalar, which has one element.
  Dims() = default;
  /// Makes dimensions that the program knows. REQUIRES: at most kMaxRank of them; asserted.
  Dims(std::initializer_list<std::int64_t> dims);
  explicit Dims(std::span<const std::int64_t> dims);
  /// Returns untrusted dimensions. Errors: kUnsupported for a rank above kMaxRank; kInvalidInput
  /// for a negative dimension.
  static Result<Dims> checked(std::span<const std::int64_t> dims);

  /// The number of dimensions, 0 to kMaxRank.
  int rank() const { return rank_; }
  /// The size of an axis. REQUIRES: 0 <= axis < rank(); asserted.
  std::int64_t operator[](int axis) const {
    assert(axis >= 0 && axis < rank_);
    return dims_[static_cast<std::size_t>(axis)];
  }
  std::int64_t& operator[](int axis) {
    assert(axis >= 0 && axis < rank_);
    return dims_[static_cast<std::size_t>(axis)];
  }
  /// Appends one dimension. REQUIRES: rank() < kMaxRank; asserted.
  void push_back(std::int64_t dim) {
    assert(rank_ < kMaxRank);
    dims_[static_cast<std::size_t>(rank_++)] = dim;
  }
  /// Iterators and a view over rank() dimensions, valid until the object is changed or destroyed.
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::span<const std::int64_t> span() const {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }

  /// Returns the product of the dimensions, 1 for rank 0; nullopt if a dimension is negative, or if
  /// the product of those that are not 0 exceeds 63 bits.
  std::optional<std::int64_t> checked_elements() const;
  /// Returns the same for dimensions that were checked before. REQUIRES: checked_elements() has a
  /// value; otherwise returns 0.
  std::int64_t elements() const { return checked_elements().value_or(0); }
  /// Returns "1x3x640x640"; "scalar" for rank 0.
  std::string to_string() const;

  friend bool operator==(const Dims& a, const Dims& b);

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// Returns the bytes of a dense tensor; nullopt as bytes_of(dtype, elements), and if the number of
/// elements exceeds 63 bits.
std::optional<std::int64_t> bytes_of(DType dtype, const Dims& dims);

/// Returns an error, kInvalidInput, unless tensors of `dims` have `elements` elements. The views
/// below call it; it reads no memory.
Status check_elements(const Dims& dims, std::size_t elements);

/// A read-only view of a dense row-major tensor: `bytes.size()` == bytes_of(dtype, dims), and
/// `bytes.data()` is aligned to alignment_of(dtype). Copy a strided tensor first. A view never owns
/// its memory, which must outlive it.
struct TensorView {
  DType dtype = DType::kF32;
  Dims dims;
  std::span<const std::byte> bytes;

  /// Returns a view of `elements`, as TensorView::of<float>(list, {1, 28, 28}). Errors:
  /// kInvalidInput if `dims` have another number of elements.
  template <TensorElement T>
  static Result<TensorView> of(std::span<const T> elements, const Dims& dims) {
    if (auto status = check_elements(dims, elements.size()); !status)
      return tl::unexpected(std::move(status).error());
    return TensorView{dtype_of<T>(), dims, std::as_bytes(elements)};
  }
  /// The first element; the others follow without gaps, row-major. REQUIRES: dtype ==
  /// dtype_of<T>(); asserted.
  template <TensorElement T>
  const T* as() const {
    assert(dtype == dtype_of<T>());
    return reinterpret_cast<const T*>(bytes.data());
  }
};

/// A writable view, under the same conditions as TensorView; a constant one still writes elements.
struct MutableTensorView {
  DType dtype = DType::kF32;
  Dims dims;
  std::span<std::byte> bytes;

  /// As TensorView::of().
  template <TensorElement T>
  static Result<MutableTensorView> of(std::span<T> elements, const Dims& dims) {
    if (auto status = check_elements(dims, elements.size()); !status)
      return tl::unexpected(std::move(status).error());
    return MutableTensorView{dtype_of<T>(), dims, std::as_writable_bytes(elements)};
  }
  /// As TensorView::as().
  template <TensorElement T>
  T* as() const {
    assert(dtype == dtype_of<T>());
    return reinterpret_cast<T*>(bytes.data());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): what may be written may be read
  operator TensorView() const { return {dtype, dims, bytes}; }
};

/// A tensor that owns its memory, which is 64-byte aligned. Movable, not copyable; to copy it,
/// allocate another and copy the bytes of the view.
class Tensor {
 public:
  /// Makes an empty tensor: a scalar f32 without memory.
  Tensor() = default;
  /// Allocates a tensor filled with zeros from the system; a runtime's budget and allocator are not
  /// asked. Errors: kOutOfMemory, also for a negative dimension, for more than 1 TiB and for types
  /// without a fixed size (kString).
  static Result<Tensor> allocate(DType dtype, const Dims& dims);

  /// The element type and the dimensions; those of a scalar f32 before an allocation.
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  /// A view that is valid until the tensor is destroyed or assigned to; moving the tensor keeps it.
  TensorView view() const { return {dtype_, dims_, {memory_.get(), size_}}; }
  MutableTensorView mutable_view() { return {dtype_, dims_, {memory_.get(), size_}}; }
  /// The elements, row-major, valid as long as view(). REQUIRES: dtype() == dtype_of<T>();
  /// asserted.
  template <TensorElement T>
  std::span<const T> data() const {
    return {view().as<T>(), size_ / sizeof(T)};
  }
  template <TensorElement T>
  std::span<T> data() {
    return {mutable_view().as<T>(), size_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  DType dtype_ = DType::kF32;
  Dims dims_;
  std::size_t size_ = 0;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace parallax
