// Runs single operators of TFLite files and compares them with numbers worked out by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "load/tflite_test_util.h"
#include "parallax/session.h"

namespace parallax::tflite_rule {

namespace schema = tflite_schema;
using Floats = std::vector<float>;
using Activation = schema::ActivationFunctionType;

/// A tensor with its elements: floats, and integers stored as i32, or as bytes for BOOL, INT8.
struct TestTensor {
  TfliteInts shape;
  Floats elements;
  TfliteType type = TfliteType::FLOAT32;
  bool constant = false;
  FlatTable<schema::QuantizationParameters> quantization = {};
  bool variable = false;
  bool missing = false;  ///< an input that is left out
};
inline TestTensor variable(TfliteInts shape) {
  return {.shape = std::move(shape), .elements = {}, .constant = true, .variable = true};
}
inline TestTensor missing() {
  return {.shape = {}, .elements = {}, .constant = true, .missing = true};
}
inline TestTensor ints(const TfliteInts& elements, bool scalar = false) {
  return {scalar ? TfliteInts{} : TfliteInts{static_cast<std::int32_t>(elements.size())},
          Floats(elements.begin(), elements.end()), TfliteType::INT32, true};
}
inline TestTensor constant(TfliteInts shape, Floats elements) {
  return {std::move(shape), std::move(elements), TfliteType::FLOAT32, true};
}

struct RuleCase {
  std::string name;
  TfliteOp code;
  std::vector<TestTensor> inputs;
  std::vector<TestTensor> outputs;
  TfliteOptions options = {};
  std::string custom_code = {}, custom_options = {};
};
inline void PrintTo(const RuleCase& c, std::ostream* to) { *to << c.name; }

inline std::size_t width_of(TfliteType type) {
  return type == TfliteType::INT8 || type == TfliteType::BOOL ? 1
         : type == TfliteType::INT64                          ? 8
                                                              : 4;
}

inline std::string bytes_of(const TestTensor& tensor) {
  std::string bytes;
  for (const float x : tensor.elements) {
    const auto whole = static_cast<std::int64_t>(x);
    const char* const from = tensor.type == TfliteType::FLOAT32
                                 ? reinterpret_cast<const char*>(&x)
                                 : reinterpret_cast<const char*>(&whole);
    bytes.append(from, width_of(tensor.type));
  }
  return bytes;
}

inline TfliteModel file_of(const RuleCase& c) {
  TfliteGraph graph;
  TfliteStep step{.code = c.code,
                  .options = c.options,
                  .custom_code = c.custom_code,
                  .custom_options = c.custom_options};
  const auto add = [&](const TestTensor& tensor, const std::string& name, bool given) {
    graph.tensors.push_back({.name = name,
                             .shape = tensor.shape,
                             .bytes = given && tensor.constant ? bytes_of(tensor) : "",
                             .type = tensor.type,
                             .quantization = tensor.quantization,
                             .variable = tensor.variable});
    return static_cast<std::int32_t>(graph.tensors.size()) - 1;
  };
  for (const TestTensor& input : c.inputs) {
    if (input.missing) {
      step.inputs.push_back(-1);
      continue;
    }
    const std::int32_t index = add(input, "in" + std::to_string(step.inputs.size()), true);
    step.inputs.push_back(index);
    if (!input.constant) graph.inputs.push_back(index);
  }
  for (const TestTensor& output : c.outputs) {
    const std::int32_t index = add(output, "out" + std::to_string(step.outputs.size()), false);
    step.outputs.push_back(index);
    graph.outputs.push_back(index);
  }
  graph.operators = {std::move(step)};
  return {.graphs = {std::move(graph)}};
}

inline Tensor tensor_of(const TestTensor& test, DType dtype) {
  Dims dims;
  for (const std::int32_t dim : test.shape) dims.push_back(dim);
  Tensor tensor = *Tensor::allocate(dtype, dims);
  const std::string bytes = bytes_of(test);
  if (!bytes.empty()) std::memcpy(tensor.mutable_view().bytes.data(), bytes.data(), bytes.size());
  return tensor;
}

inline Floats elements_as_floats(const TensorView& view) {
  Floats elements;
  const auto* bytes = reinterpret_cast<const char*>(view.bytes.data());
  for (std::int64_t i = 0; i < view.dims.elements(); ++i) {
    if (view.dtype == DType::kF32) {
      elements.push_back(view.as<float>()[static_cast<std::size_t>(i)]);
      continue;
    }
    const auto width = static_cast<std::size_t>(size_of(view.dtype));
    std::int64_t whole = 0;
    std::memcpy(&whole, bytes + static_cast<std::size_t>(i) * width, width);
    if (width == 1) whole = static_cast<std::int8_t>(whole);
    if (width == 4) whole = static_cast<std::int32_t>(whole);
    elements.push_back(static_cast<float>(whole));
  }
  return elements;
}

inline void expect_numbers(const RuleCase& c) {
  const std::string bytes = tflite_bytes(file_of(c));
  auto model = Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr});
  ASSERT_TRUE(model) << model.error().to_string();
  auto session = Session::create(*model, {});
  ASSERT_TRUE(session) << session.error().to_string();
  std::vector<Tensor> tensors;
  std::vector<NamedInput> given;
  std::size_t next = 0;
  for (const TestTensor& input : c.inputs)
    if (!input.constant) tensors.push_back(tensor_of(input, model->inputs()[next++].dtype));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    given.push_back({model->inputs()[i].name, tensors[i].view()});
  auto results = session->run(given);
  ASSERT_TRUE(results) << results.error().to_string();
  ASSERT_EQ(results->size(), c.outputs.size() + model->ties().size());
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    const TensorView view = (*results)[i].view();
    Dims wanted;
    for (const std::int32_t dim : c.outputs[i].shape) wanted.push_back(dim);
    EXPECT_EQ(view.dims, wanted);
    EXPECT_EQ(info_of(view.dtype).tflite, static_cast<int>(c.outputs[i].type));
    EXPECT_THAT(elements_as_floats(view),
                testing::Pointwise(testing::FloatNear(1e-5F), c.outputs[i].elements));
  }
}

inline std::string name_of_rule(const testing::TestParamInfo<RuleCase>& info) {
  return info.param.name;
}

/// Options of an operator: a table that `create(builder)` writes.
template <class Create>
TfliteOptions with(Create create) {
  return tflite_options([=](FlatBuilder& to) { return create(to); });
}

inline const TestTensor kRow = {{4}, {-2, -0.5F, 1, 8}};
inline const TestTensor kTwoByThree = {{2, 3}, {1, 2, 3, 4, 5, 6}};
/// [1, 4, 4, 1]: 1 to 16.
inline const TestTensor kImage = {{1, 4, 4, 1},
                                  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

}  // namespace parallax::tflite_rule
