// Defects that the fuzzer is given on purpose, in its own results, so that a test sees each of its
// comparisons find something. Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "check.h"

namespace parallax::fuzz {

enum class Plant : std::uint8_t {
  kNone,
  kBit,      ///< one bit of an output, under other schedules
  kElement,  ///< the largest float of an output of the reference runs, by a hundredth
  kShape,    ///< a dimension of an output of the reference runs
  kError,    ///< other schedules fail
  kCode,     ///< the errors of other schedules have another code
  kRefusal,  ///< the model is refused when it is loaded once more
  kGuard,    ///< run_into writes behind an output
};
/// By its name without the k, in lower case; nothing where there is none.
std::optional<Plant> plant_of(std::string_view name);

/// What a run under another schedule gave.
void disturb_schedule(Plant plant, RunResult& result);
/// What a reference run gave.
void disturb_reference(Plant plant, RunResult& result);

}  // namespace parallax::fuzz
