// A TFLite model with a variable.
#pragma once

#include "session/tflite_rule_test_util.h"

namespace parallax::tflite_rule {

inline TfliteStep handle(std::int32_t to, const std::string& name = "sum") {
  return {TfliteOp::VAR_HANDLE, {}, {to}, with([=](auto& builder) {
            return schema::CreateVarHandleOptionsDirect(builder, "", name.c_str());
          })};
}
inline TfliteStep initialise(std::int32_t subgraph) {
  return {TfliteOp::CALL_ONCE, {}, {}, with([=](auto& builder) {
            return schema::CreateCallOnceOptions(builder, subgraph);
          })};
}
inline TfliteStep addition(std::int32_t a, std::int32_t b, std::int32_t to) {
  return {TfliteOp::ADD, {a, b}, {to}, with([](auto& builder) {
            return schema::CreateAddOptions(builder);
          })};
}

/// y = sum = sum + x; the sum begins with 10.
inline TfliteModel accumulator() {
  const auto resource = TfliteType::RESOURCE;
  TfliteGraph main = {.tensors = {{"x", {1}}, {"sum", {}, {}, resource}, {"old", {1}}, {"y", {1}}},
                      .operators = {initialise(1),
                                    handle(1),
                                    {TfliteOp::READ_VARIABLE, {1}, {2}},
                                    addition(0, 2, 3),
                                    {TfliteOp::ASSIGN_VARIABLE, {1, 3}, {}}},
                      .inputs = {0},
                      .outputs = {3}};
  TfliteGraph first = {
      .tensors = {{"sum", {}, {}, resource}, {"ten", {1}, tflite_data<float>({10})}},
      .operators = {handle(0), {TfliteOp::ASSIGN_VARIABLE, {0, 1}, {}}},
      .inputs = {},
      .outputs = {}};
  return {.graphs = {std::move(main), std::move(first)}};
}

}  // namespace parallax::tflite_rule
