// Tensors at the boundary: element types, concrete dimensions, and views of dense row-major memory.
// Views never own; Tensor owns 64-byte aligned memory. Thread-safety: plain values,
// thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parallax/dtype.h"
#include "parallax/result.h"

namespace parallax {

/// The concrete dimensions of a tensor, at most kMaxRank of them, held inline. Each is >= 0.
class Dims {
 public:
  static constexpr int kMaxRank = 8;

  Dims() = default;
  Dims(std::initializer_list<std::int64_t> dims);
  /// Takes the first kMaxRank of `dims`; callers check the rank of untrusted shapes before.
  explicit Dims(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  /// Appends one dimension. REQUIRES: rank() < kMaxRank.
  void push_back(std::int64_t dim) { dims_[static_cast<std::size_t>(rank_++)] = dim; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::span<const std::int64_t> span() const {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }

  /// Product of the dimensions, 1 for rank 0; nothing where it would not fit 63 bits.
  std::optional<std::int64_t> checked_elements() const;
  /// The same for dimensions that were checked before. REQUIRES: checked_elements() has a value.
  std::int64_t elements() const { return checked_elements().value_or(0); }
  /// "1x3x640x640"; "scalar" for rank 0.
  std::string to_string() const;

  friend bool operator==(const Dims& a, const Dims& b);

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// bytes_of() for the elements of a tensor of these dimensions.
std::optional<std::int64_t> bytes_of(DType dtype, const Dims& dims);

/// Read-only view of a dense row-major tensor: `bytes.size()` == bytes_of(dtype, dims), strided
/// ones are copied first. `bytes.data()` is aligned to alignment_of(dtype). The memory outlives the
/// view.
struct TensorView {
  DType dtype = DType::kF32;
  Dims dims;
  std::span<const std::byte> bytes;

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

/// The same, writable.
struct MutableTensorView {
  DType dtype = DType::kF32;
  Dims dims;
  std::span<std::byte> bytes;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(bytes.data());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): what may be written may be read
  operator TensorView() const { return {dtype, dims, bytes}; }
};

/// An owning tensor; its memory is 64-byte aligned and zero-filled.
class Tensor {
 public:
  Tensor() = default;
  /// Errors: kOutOfMemory, also where the size does not fit 63 bits or the type has none.
  static Result<Tensor> allocate(DType dtype, const Dims& dims);

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  TensorView view() const { return {dtype_, dims_, {memory_.get(), size_}}; }
  MutableTensorView mutable_view() { return {dtype_, dims_, {memory_.get(), size_}}; }

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
