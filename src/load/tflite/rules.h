// Rules that turn TFLite's operators into canonical ones, a row for each. Thread-safety: pure
// functions and constants.
#pragma once

#include <span>

#include "load/tflite/operator.h"

namespace parallax {

/// Writes the nodes of an operator and sets its results; a failure is the operator's status().
struct TfliteRule {
  schema::BuiltinOperator code;
  void (*write)(TfliteOperator&);
};

/// Returns the rule of an operator; null if there is none.
const TfliteRule* tflite_rule(schema::BuiltinOperator code);

/// Whether the operator runs subgraphs (assemble_calls.cc).
bool is_tflite_call(schema::BuiltinOperator code);

// The rules by topic; tflite_rule() looks them up.
std::span<const TfliteRule> tflite_elementwise_rules();
std::span<const TfliteRule> tflite_image_rules();
std::span<const TfliteRule> tflite_index_rules();
std::span<const TfliteRule> tflite_movement_rules();
std::span<const TfliteRule> tflite_product_rules();
std::span<const TfliteRule> tflite_reduction_rules();

}  // namespace parallax
