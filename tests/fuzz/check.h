// Runs a case in every way there is and compares: bit for bit over schedulers, threads, budgets,
// caches and calls; with the oracle bit for bit without passes on the reference kernels, within the
// documented tolerance otherwise.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "expected.h"
#include "parallax/tensor.h"

namespace parallax::fuzz {

/// One run of the model as users have it.
struct RunResult {
  std::optional<Error> error;
  std::vector<Tensor> outputs;
};

struct Outcome {
  std::optional<Error> refusal;  ///< of the loader, with code kUnsupported
  std::vector<RunResult> runs;
  std::vector<Expected> expected;  ///< of each run
  std::vector<std::string> findings;
};

enum class Plant : std::uint8_t;
/// `folder` is empty and the caller's to remove. `plant` (plant.h): a defect to be found.
Outcome check(const Case& fuzzed, const std::filesystem::path& folder, Plant plant = {});

}  // namespace parallax::fuzz
