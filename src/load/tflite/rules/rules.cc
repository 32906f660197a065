#include "load/tflite/rules/rules.h"

#include "load/tflite/variables.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <vector>

namespace parallax {
namespace {

std::tuple<schema::BuiltinOperator, std::string_view> key_of(const TfliteRule& rule) {
  return {rule.code, rule.custom};
}

/// Rules that are found by their operator.
class RuleTable {
 public:
  RuleTable(std::initializer_list<std::span<const TfliteRule>> topics) {
    for (const auto topic : topics) rules_.insert(rules_.end(), topic.begin(), topic.end());
    std::ranges::sort(rules_, {}, key_of);
  }

  const TfliteRule* find(const schema::OperatorCode& code) const {
    const schema::BuiltinOperator builtin = builtin_of(code);
    const bool custom = builtin == schema::BuiltinOperator::CUSTOM;
    const std::tuple key(builtin, custom ? text_of(code.custom_code()) : std::string_view());
    const auto found = std::ranges::lower_bound(rules_, key, {}, key_of);
    return found == rules_.end() || key_of(*found) != key ? nullptr : &*found;
  }

 private:
  std::vector<TfliteRule> rules_;
};

}  // namespace

const TfliteRule* tflite_rule(const schema::OperatorCode& code) {
  static const RuleTable rules = {
      tflite_bit_rules(),       tflite_detection_rules(),     tflite_elementwise_rules(),
      tflite_image_rules(),     tflite_index_rules(),         tflite_lstm_rules(),
      tflite_movement_rules(),  tflite_product_rules(),       tflite_recurrent_rules(),
      tflite_reduction_rules(), tflite_segment_rules(),       tflite_spectrum_rules(),
      tflite_stablehlo_rules(), tflite_strided_slice_rules(), tflite_unpooling_rules()};
  return rules.find(code);
}

const TfliteRule* tflite_complex_rule(const schema::OperatorCode& code) {
  static const RuleTable rules = {tflite_complex_rules()};
  return rules.find(code);
}

bool is_tflite_supported(const schema::OperatorCode& code) {
  return is_tflite_call(builtin_of(code)) || is_tflite_variable(builtin_of(code)) ||
         tflite_rule(code) != nullptr || tflite_complex_rule(code) != nullptr;
}

}  // namespace parallax
