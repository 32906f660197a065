// Rules that turn TFLite's operators into canonical ones, a row for each. Thread-safety: pure
// functions and constants.
//
// A rule is found by its operator code, for CUSTOM by its name too; versions of operators are not
// looked at. To add an operator, add a row to the list of its topic.
#pragma once

#include <span>
#include <string_view>

#include "load/tflite/rules/operator.h"

namespace parallax {

/// Writes the nodes of an operator and sets its results; a failure is the operator's status(). The
/// rule sets each result by TfliteOperator::result(); one that stays invalid is refused if the file
/// names that output.
struct TfliteRule {
  schema::BuiltinOperator code;
  void (*write)(TfliteOperator&);
  std::string_view custom = {};  ///< the name of a CUSTOM operator
};

/// Returns the rule of an operator on real numbers; null if it has no rule. Rows live as long as
/// the program.
const TfliteRule* tflite_rule(const schema::OperatorCode& code);
/// Returns the rule where input 0 is complex; null if it has no such rule.
const TfliteRule* tflite_complex_rule(const schema::OperatorCode& code);

/// Whether the operator runs subgraphs (assemble_calls.cc).
bool is_tflite_call(schema::BuiltinOperator code);

/// Whether the operator has a rule, runs subgraphs, or works on variables. What a rule refuses in
/// particular (element types, options) is not known here.
bool is_tflite_supported(const schema::OperatorCode& code);

// The rules by topic; the functions above look them up.
std::span<const TfliteRule> tflite_bit_rules();
std::span<const TfliteRule> tflite_complex_rules();
std::span<const TfliteRule> tflite_detection_rules();
std::span<const TfliteRule> tflite_elementwise_rules();
std::span<const TfliteRule> tflite_image_rules();
std::span<const TfliteRule> tflite_index_rules();
std::span<const TfliteRule> tflite_lstm_rules();
std::span<const TfliteRule> tflite_movement_rules();
std::span<const TfliteRule> tflite_product_rules();
std::span<const TfliteRule> tflite_recurrent_rules();
std::span<const TfliteRule> tflite_reduction_rules();
std::span<const TfliteRule> tflite_segment_rules();
std::span<const TfliteRule> tflite_spectrum_rules();
std::span<const TfliteRule> tflite_stablehlo_rules();
std::span<const TfliteRule> tflite_strided_slice_rules();
std::span<const TfliteRule> tflite_unpooling_rules();

}  // namespace parallax
