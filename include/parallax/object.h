// Values that are more than a tensor of numbers: tensors of strings, sequences, optionals and maps.
// A tensor of numbers may be one too: it is what most sequences hold.
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

enum class ObjectType : std::uint8_t { kTensor, kSequence, kOptional, kMap };
/// "tensor", "sequence", "optional", "map".
std::string_view to_string(ObjectType type);

class Object {
 public:
  /// An optional without an element.
  Object() = default;

  /// A tensor of numbers or bools, which lies where it lies. `owner` keeps its memory; null: the
  /// caller does.
  static Object view(const TensorView& tensor, std::shared_ptr<const void> owner = nullptr);
  static Object tensor(Tensor tensor);
  /// A tensor of strings, UTF-8. `owner` goes with the contents. Errors: kInvalidInput where there
  /// are not as many as `dims` say.
  static Result<Object> strings(const Dims& dims, std::vector<std::string> strings,
                                std::shared_ptr<const void> owner = nullptr);
  static Object sequence(std::vector<Object> elements, std::shared_ptr<const void> owner = nullptr);
  static Object optional(Object element);
  /// `keys`: a tensor of different i64 or strings with one dimension; `values`: one of as many.
  /// Errors: kInvalidInput.
  static Result<Object> map(Object keys, Object values);

  ObjectType type() const;
  /// Of a tensor: kString for one of strings.
  DType dtype() const;
  /// Of a tensor.
  const Dims& dims() const;
  /// Of a tensor of numbers; without bytes for all else.
  TensorView tensor_view() const;
  /// Of a tensor of strings, row-major; empty for all else.
  std::span<const std::string> strings() const;
  /// Of a sequence; of an optional, one or none; of a map, its keys and its values. Empty for
  /// tensors.
  std::span<const Object> elements() const;

 private:
  struct Contents;
  explicit Object(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
};

}  // namespace parallax
