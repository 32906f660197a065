#include "load/tflite/rules.h"

#include <algorithm>
#include <vector>

namespace parallax {
namespace {

std::vector<TfliteRule> all_rules() {
  std::vector<TfliteRule> rules;
  for (const auto topic :
       {tflite_elementwise_rules(), tflite_image_rules(), tflite_index_rules(),
        tflite_movement_rules(), tflite_product_rules(), tflite_reduction_rules()})
    rules.insert(rules.end(), topic.begin(), topic.end());
  std::ranges::sort(rules, {}, &TfliteRule::code);
  return rules;
}

}  // namespace

const TfliteRule* tflite_rule(schema::BuiltinOperator code) {
  static const std::vector<TfliteRule> rules = all_rules();
  const auto found = std::ranges::lower_bound(rules, code, {}, &TfliteRule::code);
  return found == rules.end() || found->code != code ? nullptr : &*found;
}

}  // namespace parallax
