// Types of values other than tensors: sequences, maps and optionals around tensors, and the known
// dimensions of these tensors. Pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/object.h"

namespace parallax {

/// Limit of Container::types. Inference, verification and snapshots refuse more: no known model
/// needs as many, and functions may recurse that deep.
inline constexpr std::size_t kMaxContainers = 16;

/// Sequences, optionals and maps around tensors whose dtype is the value's. "sequence of maps from
/// strings to f32 [3]" has types {kSequence, kMap}, key string, filled, dims {3}.
struct Container {
  std::vector<ObjectType> types;  ///< outermost first; empty only in what unwrap() returns
  DType key = DType::kI64;        ///< type of the maps' keys: i64 or string
  /// Whether it may have tensors; they have any rank if `dims` is nullopt.
  bool filled = false;
  /// Dimensions of these tensors; -1 if they differ or are not known.
  std::optional<std::vector<std::int64_t>> dims = {};

  friend bool operator==(const Container&, const Container&) = default;
};
/// Null: the value is a tensor.
using ContainerType = std::shared_ptr<const Container>;

/// Returns the type of a `type` whose elements are of type `inside`; the keys of a map have the
/// type inside.key. Allocates; the depth is not checked against kMaxContainers.
ContainerType wrap(ObjectType type, const Container& inside);
/// Returns the type inside the outermost one; its `types` is empty if that is a tensor. REQUIRES:
/// `types` is not empty.
Container unwrap(const Container& container);
/// Returns the type of values that may be of either type. Null if there is no such type, or if one
/// of them is null, which is a tensor. A sequence or map and an optional of it join to the
/// optional.
ContainerType join(const ContainerType& a, const ContainerType& b);
/// Returns whether two types are equal; null equals null alone.
bool same(const ContainerType& a, const ContainerType& b);
/// Sets the tensors of `into` to what holds for its own and for those of `other`: dimensions that
/// differ become -1, `dims` becomes nullopt if ranks differ. The types around them are not read.
void join_tensors(Container& into, const Container& other);

/// "sequence optional f32 [2, _]": the tensors' dimensions, "any" for any rank, "none" where there
/// are no tensors.
std::string to_string(const Container& container, DType dtype);

}  // namespace parallax
