// An optional of something large that few have: it takes a pointer, not the room of its value.
// Thread-safety: as std::optional.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace parallax {

/// std::optional<T> whose value lies on the heap; a copy copies the value. Moved from, it is empty.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  // NOLINTBEGIN(google-explicit-constructor): like std::optional's
  Boxed(std::nullopt_t) {}
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

  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  void reset() { value_.reset(); }
  template <class... A>
  T& emplace(A&&... arguments) {
    value_ = std::make_unique<T>(std::forward<A>(arguments)...);
    return *value_;
  }
  friend bool operator==(const Boxed& a, const Boxed& b) {
    return a && b ? *a == *b : a.has_value() == b.has_value();
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace parallax
