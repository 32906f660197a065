// Overlap of boxes, for the instruction set of this machine. A list may be read concurrently.
#pragma once

#include <cstddef>

namespace parallax {

/// Two corners of a box, x0 <= x1 and y0 <= y1 unless it is degenerate; in any unit.
struct BoxCorners {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float area() const { return (x1 - x0) * (y1 - y0); }
};

/// Boxes of positive area, coordinate by coordinate in one piece of memory, which the caller owns
/// and which must outlive the list. NonMaxSuppression keeps the boxes that it has selected in one,
/// so that a candidate is compared with a vector of them.
class BoxList {
 public:
  /// Boxes that are compared together; entries behind the last box overlap nothing.
  static constexpr std::size_t kGroup = 64;
  /// Returns the floats that a list of at most `boxes` needs.
  static constexpr std::size_t floats(std::size_t boxes) { return 5 * padded(boxes); }

  /// Creates an empty list in `memory` for at most `boxes`.
  BoxList(float* memory, std::size_t boxes) : memory_(memory), stride_(padded(boxes)) {}
  /// Appends a box. REQUIRES: the list is not full, box.area() > 0.
  void append(const BoxCorners& box);
  /// Returns true if `box` overlaps one of the list by more than `threshold` of their union.
  /// Computes intersection and union in the order of the reference kernel, so that both select the
  /// same boxes. REQUIRES: box.area() > 0.
  bool overlaps(const BoxCorners& box, float threshold) const;

  /// Number of boxes.
  std::size_t size() const { return size_; }
  /// Returns the array of x0, y0, x1, y1 or area for `field` 0 to 4, padded to whole groups.
  const float* field(std::size_t field) const { return memory_ + field * stride_; }

 private:
  static constexpr std::size_t padded(std::size_t boxes) {
    return (boxes + kGroup - 1) / kGroup * kGroup;
  }

  float* memory_;
  std::size_t stride_;
  std::size_t size_ = 0;
};

}  // namespace parallax
