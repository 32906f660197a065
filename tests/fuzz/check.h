// Runs a case in every way there is and compares: bit for bit over schedulers, threads, budgets,
// caches and calls; with the oracle bit for bit without passes on the reference kernels, within the
// documented tolerance otherwise.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "parallax/tensor.h"

namespace parallax::fuzz {

/// One run of the model as users have it.
struct RunResult {
  std::optional<Error> error;
  std::vector<Tensor> outputs;
  /// Whether another order of sums cannot change an output by more than a tenth of the tolerance:
  /// only then is it compared with other kernels.
  std::vector<bool> stable;
};

struct Outcome {
  std::optional<Error> refusal;  ///< of the loader, with code kUnsupported
  std::vector<RunResult> runs;
  std::vector<std::string> findings;
};

/// `folder` is empty and the caller's to remove.
Outcome check(const Case& fuzzed, const std::filesystem::path& folder);

/// How `ours` differs from `expected`, in words; nothing where it does not by more than `tolerance`
/// of its largest magnitude.
std::optional<std::string> difference(const TensorView& ours, const TensorView& expected,
                                      double tolerance);

}  // namespace parallax::fuzz
