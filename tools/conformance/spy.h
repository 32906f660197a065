// Stands between the host and a delegate's table and sees what the host does not tell: whether each
// answer comes, and comes once, whether a run writes outside its outputs, leaves some of them out
// or changes its inputs. It can also ask for what the host does not: 16-bit storage, and a cancel
// of each run. Internal to tools/conformance.
//
// Thread-safe, but for start_spying(). One delegate of the process at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "parallax/delegate.h"

namespace parallax::conformance {

/// Requests that the spy adds to each run from now on.
struct SpyWishes {
  px_dtype storage = PX_FLOAT32;  ///< storage type of regions compiled from now on
  bool cancel = false;            ///< every run, right after it has begun
};

/// The table to open in place of `table`.
px_delegate start_spying(const px_delegate& table);
void wish(SpyWishes wishes);
/// Returns the problems since the last call, each once: "a run was answered twice". Late answers
/// are found by wait_for_answers().
std::vector<std::string> take_problems();
/// False where some answer has not come by then.
bool wait_for_answers(std::chrono::milliseconds most);

}  // namespace parallax::conformance
