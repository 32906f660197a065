// The types of values that are no tensors: what lies around tensors, and what is known of these.
// Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/object.h"

namespace parallax {

/// Deeper types than any model has, shallow enough to recurse.
inline constexpr std::size_t kMaxContainers = 16;

/// Sequences, optionals and maps around tensors whose dtype is the value's. "sequence of maps from
/// strings to f32 [3]" has types {kSequence, kMap}, key string, filled, dims {3}.
struct Container {
  std::vector<ObjectType> types;  ///< outermost first, at least one
  DType key = DType::kI64;        ///< type of the maps' keys: i64 or string
  /// Whether it may have tensors; they have any rank if `dims` is empty.
  bool filled = false;
  /// Dimensions of these tensors; -1 if they differ or are not known.
  std::optional<std::vector<std::int64_t>> dims = {};

  friend bool operator==(const Container&, const Container&) = default;
};
/// Null: the value is a tensor.
using ContainerType = std::shared_ptr<const Container>;

/// Returns a `type` around what `inside` says. Allocates; the depth is not checked against
/// kMaxContainers.
ContainerType wrap(ObjectType type, const Container& inside);
/// Returns the type inside the outermost one; its `types` is empty for a tensor. REQUIRES: `types`
/// is not empty.
Container unwrap(const Container& container);
/// Returns the type of values of which some are of one type and some of the other; null if they
/// cannot be one value, or if one of them is null. A type and an optional of it join to the
/// optional.
ContainerType join(const ContainerType& a, const ContainerType& b);
/// Returns whether two types are equal; null equals null alone.
bool same(const ContainerType& a, const ContainerType& b);
/// Sets the tensors of `into` to what holds for its own and for those of `other`: dimensions that
/// differ become -1, different ranks leave `dims` empty. The types around them are not read.
void join_tensors(Container& into, const Container& other);

/// "sequence optional f32 [2, _]": the tensors' dimensions, "any" for any rank, "none" where there
/// are no tensors.
std::string to_string(const Container& container, DType dtype);

}  // namespace parallax
