// Access to the contents of the API's classes, for the library and its tests. The functions here
// are thread-safe; each class of contents says which of its members are.
//
// A class of the API holds its contents behind a smart pointer called `impl_` and declares Access a
// friend.
#pragma once

namespace parallax {

/// The friend of Model, Runtime, Session and State.
struct Access {
  /// Returns the pointer to the contents of `object`, which was not moved from.
  template <class T>
  static const auto& impl(const T& object) {
    return object.impl_;
  }
};

/// Returns the contents of `object`. REQUIRES: it was not moved from.
template <class T>
auto& impl_of(const T& object) {
  return *Access::impl(object);
}

}  // namespace parallax
