// An open file of the system, closed at the end of its scope. Not thread-safe.
//
// Descriptors are opened with O_CLOEXEC by all callers, so that child programs do not inherit them.
#pragma once

#include <unistd.h>

#include <utility>

namespace parallax {

/// Owns a file descriptor. Move-only.
class Descriptor {
 public:
  /// Takes ownership of `fd`; a negative number means no file.
  explicit Descriptor(int fd) : fd_(fd) {}
  /// Moving leaves the source without a file; move assignment swaps, so the source closes the old
  /// one.
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  /// Closes the file. Errors of close() are ignored; callers that write must flush before.
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// Returns the file's number, which stays owned by this object; negative if there is no file.
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace parallax
