// TFLite files that were cut short or had a byte changed: a session either runs them within its
// budget or refuses them with an error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "session/tflite_variables_test_util.h"

namespace parallax::tflite_rule {
namespace {

/// Image, convolution, pool, matrix, probabilities.
TfliteModel classifier() {
  TfliteGraph graph = {
      .tensors = {{"image", {1, 6, 6, 2}},
                  {"filters", {4, 3, 3, 2}, tflite_data(Floats(72, 0.5F))},
                  {"bias", {4}, tflite_data(Floats(4, 1))},
                  {"features", {1, 6, 6, 4}},
                  {"pooled", {1, 2, 2, 4}},
                  {"weights", {3, 16}, tflite_data(Floats(48, 0.25F))},
                  {"logits", {1, 3}},
                  {"probabilities", {1, 3}}},
      .operators = {{TfliteOp::CONV_2D, {0, 1, 2}, {3}, with([](auto& to) {
                       return schema::CreateConv2DOptions(to, schema::Padding::SAME, 1, 1,
                                                          Activation::RELU6);
                     })},
                    {TfliteOp::MAX_POOL_2D, {3}, {4}, with([](auto& to) {
                       return schema::CreatePool2DOptions(to, schema::Padding::VALID, 3, 3, 3, 3);
                     })},
                    {TfliteOp::FULLY_CONNECTED, {4, 5, -1}, {6}, with([](auto& to) {
                       return schema::CreateFullyConnectedOptions(to);
                     })},
                    {TfliteOp::SOFTMAX, {6}, {7}, with([](auto& to) {
                       return schema::CreateSoftmaxOptions(to, 1);
                     })}},
      .inputs = {0},
      .outputs = {7}};
  return {.graphs = {std::move(graph)}};
}

/// Elements of 8 bits, sliced, joined and added.
TfliteModel quantized() {
  const auto scale = tflite_quantized({0.5F}, {3});
  const auto row = [&](const std::string& name, TfliteInts shape) {
    return TfliteTensor{
        .name = name, .shape = std::move(shape), .type = TfliteType::INT8, .quantization = scale};
  };
  const auto list = [](const std::string& name, const TfliteInts& elements) {
    return TfliteTensor{.name = name,
                        .shape = {static_cast<std::int32_t>(elements.size())},
                        .bytes = tflite_data(elements),
                        .type = TfliteType::INT32};
  };
  TfliteGraph graph = {
      .tensors = {row("x", {2, 8}), list("begin", {0, 1}), list("end", {2, 7}),
                  list("step", {1, 2}), row("cut", {2, 3}), row("joined", {2, 6}),
                  row("sum", {2, 6})},
      .operators = {{TfliteOp::STRIDED_SLICE, {0, 1, 2, 3}, {4}, with([](auto& to) {
                       return schema::CreateStridedSliceOptions(to, 1);
                     })},
                    {TfliteOp::CONCATENATION, {4, 4}, {5}, with([](auto& to) {
                       return schema::CreateConcatenationOptions(to, 1);
                     })},
                    {TfliteOp::ADD, {5, 5}, {6}, with([](auto& to) {
                       return schema::CreateAddOptions(to, Activation::RELU);
                     })}},
      .inputs = {0},
      .outputs = {6}};
  return {.graphs = {std::move(graph)}};
}

/// Returns whether the file ran. A file that does not must say why.
bool runs(const std::string& bytes) {
  constexpr std::int64_t kBudget = 1 << 20;
  const auto refused = [](const Error& error) {
    EXPECT_FALSE(error.message.empty());
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
    return false;
  };
  auto model = Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr});
  if (!model) return refused(model.error());
  SessionOptions options;
  options.threads = 1;
  options.budget = MemoryBudget::of_bytes(kBudget);
  auto session = Session::create(*model, options);
  if (!session) return refused(session.error());
  std::vector<Tensor> tensors;
  std::vector<NamedInput> inputs;
  const std::size_t given = model->inputs().size() - model->ties().size();
  for (const TensorInfo& info : std::span(model->inputs()).first(given)) {
    Dims dims;
    for (const Dimension& dim : info.shape) dims.push_back(dim.value < 0 ? 1 : dim.value);
    if (dims.checked_elements().value_or(kBudget) >= kBudget) return false;
    auto tensor = Tensor::allocate(info.dtype, dims);
    if (!tensor) return refused(tensor.error());
    tensors.push_back(*std::move(tensor));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model->inputs()[i].name, tensors[i].view()});
  if (const auto first = session->run(inputs); !first) return refused(first.error());
  const auto results = session->run(inputs);
  return results ? true : refused(results.error());
}

std::string digits() {
  std::ifstream file(PX_SOURCE_DIR "/models/digits/digits.tflite", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct HostileCase {
  const char* name;
  std::string (*whole)();
  unsigned every = 1;  ///< one of how many seeds is used
};
void PrintTo(const HostileCase& c, std::ostream* to) { *to << c.name; }

/// PARALLAX_HOSTILE_SEEDS: how many times the changes are made, each time others.
unsigned seeds() {
  const char* const stated = std::getenv("PARALLAX_HOSTILE_SEEDS");
  return stated == nullptr ? 1 : static_cast<unsigned>(std::atoi(stated));
}

class HostileTflite : public testing::TestWithParam<HostileCase> {};

TEST_P(HostileTflite, RunsOrIsRefused) {
  const std::string whole = GetParam().whole();
  ASSERT_TRUE(runs(whole));
  for (std::size_t cut = 0; cut < 200; ++cut) runs(whole.substr(0, whole.size() * cut / 200));
  for (unsigned seed = 0; seed < seeds(); seed += GetParam().every) {
    std::minstd_rand random(17 + seed);
    int ran = 0;
    for (int change = 0; change < 1000; ++change) {
      std::string bytes = whole;
      bytes[random() % bytes.size()] = static_cast<char>(random());
      ran += runs(bytes) ? 1 : 0;
    }
    EXPECT_GT(ran, 100) << seed;
    EXPECT_LT(ran, 1000) << seed;
  }
}

const HostileCase kHostileCases[] = {
    {"Classifier", [] { return tflite_bytes(classifier()); }},
    {"Quantized", [] { return tflite_bytes(quantized()); }},
    {"Accumulator", [] { return tflite_bytes(accumulator()); }},
    {"Digits", digits, 8},  // takes ten times as long
};
INSTANTIATE_TEST_SUITE_P(Files, HostileTflite, testing::ValuesIn(kHostileCases),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace parallax::tflite_rule
