// What a run of a case must give, from the oracle, and how far other kernels may be compared with
// it. Thread-safety: pure functions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "case.h"
#include "parallax/tensor.h"

namespace parallax::fuzz {

/// docs/architecture.md, "The same outputs".
inline constexpr double kTolerance = 1e-3;

/// What of an output rounding alone cannot change by more than a tenth of the tolerance.
enum class Stable : std::uint8_t { kType, kShape, kElements };

struct Expected {
  /// Errors: kInternal where the oracle cannot tell.
  Result<std::vector<Constant>> outputs;
  std::vector<Stable> stable;  ///< per output; kType throughout where there is an error
  /// Of all nodes that fail: which of them a schedule meets first is open.
  std::set<ErrorCode> codes;
  /// Behind each output: operators that were given what the standard leaves open or ONNX Runtime
  /// does otherwise (open.cc).
  std::vector<std::set<OpKind>> open;
};
std::vector<Expected> expected_of(const Case& fuzzed);

/// How `ours` differs from `expected`, in words; nothing where it does not, elements by no more
/// than `tolerance` of the largest magnitude. No tolerance: every bit.
std::optional<std::string> difference(const TensorView& ours, const TensorView& expected,
                                      double tolerance, Stable compared = Stable::kElements);

inline TensorView view_of(const Constant& constant) {
  return {constant.dtype, constant.dims, constant.bytes};
}

}  // namespace parallax::fuzz
