// Counts down a PackingLimit. Internal to memory/packing/. Not thread-safe. One object serves all
// components of a call of pack(), one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/packing/packing.h"

namespace parallax::packing {

/// The remaining effort of one packing.
class Effort {
 public:
  /// `limit` must outlive this. A limit of 0 steps or less is exhausted from the beginning; `stop`
  /// is never called then.
  explicit Effort(const PackingLimit& limit) : limit_(&limit), left_(limit.steps) {}

  /// Subtracts steps, and calls PackingLimit::stop about once per 1000 of them. Returns false once
  /// the limit is reached, and ever after. `stop` is asked on the first call, too, if steps are
  /// left. A call may overspend by its own steps: they are subtracted before the test. Exceptions
  /// of `stop` pass through.
  bool spend(std::size_t steps) {
    left_ -= static_cast<std::int64_t>(steps);
    until_asked_ -= static_cast<std::int64_t>(steps);
    if (left_ > 0 && until_asked_ <= 0) {
      until_asked_ = kStepsBetweenQuestions;
      if (limit_->stop && limit_->stop()) left_ = 0;
    }
    return left_ > 0;
  }
  /// Returns whether the limit is reached.
  bool exhausted() const { return left_ <= 0; }
  /// Returns the remaining steps; at least 0.
  std::int64_t left() const { return std::max<std::int64_t>(left_, 0); }

 private:
  static constexpr std::int64_t kStepsBetweenQuestions = 1000;

  const PackingLimit* limit_;
  std::int64_t left_;
  std::int64_t until_asked_ = 0;
};

}  // namespace parallax::packing
