// Recurrent operators: a step that reads states and gives the next ones, once or over the times of
// a sequence. Not thread-safe.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "load/tflite/rules/operator.h"

namespace parallax {

/// A step is written to the graph itself, or to the body of a Scan. Lives for one call of the step.
/// Constants of the graph are copied into a body; other values become captures of the Scan.
struct StepScope {
  OperatorWriter& writer;
  /// Returns a value of the graph as the step reads it; an invalid one for an invalid one.
  std::function<ValueId(ValueId)> take;
};

/// Returns the next states; the first is the output of the step. `parts` are those of one time,
/// without the axis of times; `states` has as many elements, of the same types and shapes, as the
/// result.
using RecurrentStep = std::function<std::vector<ValueId>(
    StepScope& scope, std::span<const ValueId> parts, std::span<const ValueId> states)>;

/// The sequences and states that a step reads.
struct Recurrence {
  std::vector<ValueId> parts;   ///< f32; with times along an axis if there are many steps
  std::vector<ValueId> states;  ///< before the first step
};

/// How a sequence is read.
struct TimeAxis {
  std::int64_t axis = 0;
  bool reversed = false;  ///< from the last time to the first
};

/// The results of a recurrence; empty after a failure. over_time() joins the steps' outputs along
/// TimeAxis::axis; each stands at the time of its input, in either direction.
struct RecurrentResult {
  ValueId output;               ///< each step gives a part, along the axis
  std::vector<ValueId> states;  ///< after the last step

  ValueId state(std::size_t i) const { return i < states.size() ? states[i] : ValueId{}; }
};

/// Runs one step. The step is written to the graph of `o` itself. REQUIRES: the step returns at
/// least one state.
RecurrentResult once(TfliteOperator& o, const Recurrence& recurrence, const RecurrentStep& step);
/// Runs a step for each time. Writes one Scan, so that the graph is independent of the number of
/// times. Failures of the step become those of `o`.
RecurrentResult over_time(TfliteOperator& o, const Recurrence& recurrence, TimeAxis time,
                          const RecurrentStep& step);

}  // namespace parallax
