// Values of all ONNX types: tensors of numbers or strings, sequences, optionals and maps.
//
// Immutable and cheap to copy: copies share their contents. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/result.h"
#include "parallax/tensor.h"

namespace parallax {

/// The types of values: a tensor; a list of values that have one type; a value or its absence;
/// keys, each with a value.
enum class ObjectType : std::uint8_t { kTensor, kSequence, kOptional, kMap };
/// Returns "tensor", "sequence", "optional" or "map".
std::string_view to_string(ObjectType type);

/// A value of any ONNX type. Each function may be called on every Object: on one of another type it
/// returns an empty result or a default. Functions that make an Object throw
/// std::bad_alloc if memory runs out.
class Object {
 public:
  /// Makes an optional without an element.
  Object() = default;

  /// Makes a tensor of numbers or bools that uses the memory of `tensor` without copying it.
  /// `owner` keeps that memory alive; if it is null, the caller does, for all copies of the result.
  static Object view(const TensorView& tensor, std::shared_ptr<const void> owner = nullptr);
  /// Makes a tensor of numbers or bools that owns its memory.
  static Object tensor(Tensor tensor);
  /// Makes a tensor of strings, UTF-8, row-major. `owner` is kept as long as the contents. Errors:
  /// kInvalidInput unless there are as many strings as `dims` say.
  static Result<Object> strings(const Dims& dims, std::vector<std::string> strings,
                                std::shared_ptr<const void> owner = nullptr);
  /// Makes a sequence. That all elements have one type is checked when a run is given the sequence.
  static Object sequence(std::vector<Object> elements, std::shared_ptr<const void> owner = nullptr);
  /// Makes an optional with an element.
  static Object optional(Object element);
  /// Makes a map. `keys`: a tensor of distinct i64 or strings with one dimension; `values`: a
  /// tensor of the same shape. Errors: kInvalidInput for another type or shape.
  static Result<Object> map(Object keys, Object values);

  ObjectType type() const;
  /// The element type of a tensor; kString for a tensor of strings; kF32 for other types.
  DType dtype() const;
  /// The dimensions of a tensor, valid while a copy of the Object lives; rank 0 for other types.
  const Dims& dims() const;
  /// A view of a tensor of numbers, valid while a copy of the Object lives; its `bytes` are empty
  /// for all other types.
  TensorView tensor_view() const;
  /// The elements of a tensor of strings, row-major; empty for all other types. Valid while a copy
  /// of the Object lives.
  std::span<const std::string> strings() const;
  /// The elements of a sequence; the one element of an optional, or none; the keys and the values
  /// of a map. Empty for tensors. Valid while a copy of the Object lives.
  std::span<const Object> elements() const;

 private:
  struct Contents;
  explicit Object(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
};

}  // namespace parallax
