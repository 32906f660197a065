// Counts down a PackingLimit. Internal to memory/packing/.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/packing/packing.h"

namespace parallax::packing {

class Effort {
 public:
  explicit Effort(const PackingLimit& limit) : limit_(&limit), left_(limit.steps) {}

  /// False once the limit is reached; stays false.
  bool spend(std::size_t steps) {
    left_ -= static_cast<std::int64_t>(steps);
    until_asked_ -= static_cast<std::int64_t>(steps);
    if (left_ > 0 && until_asked_ <= 0) {
      until_asked_ = kStepsBetweenQuestions;
      if (limit_->stop && limit_->stop()) left_ = 0;
    }
    return left_ > 0;
  }
  bool exhausted() const { return left_ <= 0; }
  std::int64_t left() const { return std::max<std::int64_t>(left_, 0); }

 private:
  static constexpr std::int64_t kStepsBetweenQuestions = 1000;

  const PackingLimit* limit_;
  std::int64_t left_;
  std::int64_t until_asked_ = 0;
};

}  // namespace parallax::packing
