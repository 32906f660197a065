// An optional for large values that are rarely present: empty, it has the size of a pointer.
// Thread-safety: as std::optional.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace parallax {

/// A std::optional<T> whose value is on the heap. Copying copies the value; moving transfers the
/// pointer and leaves the source empty. The value type must be copyable. sizeof(Boxed<T>) is the
/// size of a pointer. Used for members of values and nodes that few of them have.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  // NOLINTBEGIN(google-explicit-constructor): implicit, like std::optional's
  Boxed(std::nullopt_t) {}
  /// Allocate memory for the value: may throw std::bad_alloc, also when copying.
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(std::optional<T> value) {
    if (value) value_ = std::make_unique<T>(*std::move(value));
  }
  // NOLINTEND(google-explicit-constructor)
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) *this = Boxed(other);
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  /// Returns whether there is a value, as has_value() does.
  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  /// Access the value. REQUIRES: has_value(). For a temporary box it is an rvalue.
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  /// Destroys the value, if there is one.
  void reset() { value_.reset(); }
  /// Replaces the value by T(arguments...), and returns it. References to the old value dangle.
  template <class... A>
  T& emplace(A&&... arguments) {
    value_ = std::make_unique<T>(std::forward<A>(arguments)...);
    return *value_;
  }
  /// Compares values. Two empty boxes are equal; an empty one and a full one are not.
  friend bool operator==(const Boxed& a, const Boxed& b) {
    return a && b ? *a == *b : a.has_value() == b.has_value();
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace parallax
