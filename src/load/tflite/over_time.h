// Recurrent operators: a step that reads states and gives the next ones, once or over the times of
// a sequence. Not thread-safe.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "load/tflite/operator.h"

namespace parallax {

/// A step is written to the graph itself, or to the body of a Scan.
struct StepScope {
  OperatorWriter& writer;
  /// Returns a value of the graph as the step reads it; an invalid one for an invalid one.
  std::function<ValueId(ValueId)> take;
};

/// Returns the next states; the first is the output of the step.
using RecurrentStep = std::function<std::vector<ValueId>(
    StepScope& scope, std::span<const ValueId> parts, std::span<const ValueId> states)>;

/// The sequences and states that a step reads.
struct Recurrence {
  std::vector<ValueId> parts;   ///< f32; with times along an axis where there are many steps
  std::vector<ValueId> states;  ///< before the first step
};

/// How a sequence is read.
struct TimeAxis {
  std::int64_t axis = 0;
  bool reversed = false;  ///< from the last time to the first
};

/// Returns the output of one step.
ValueId once(TfliteOperator& o, const Recurrence& recurrence, const RecurrentStep& step);
/// Returns the outputs of all steps, along the axis.
ValueId over_time(TfliteOperator& o, const Recurrence& recurrence, TimeAxis time,
                  const RecurrentStep& step);

}  // namespace parallax
