// Sessions with the delegate "cores": the bits of the CPU, beside it.
#include <gtest/gtest.h>

#include "parallax/session.h"
#include "session/numbers_test_util.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

namespace parallax {
namespace {

SessionOptions on_cores(const std::string& text, Offload offload) {
  SessionOptions options;
  options.threads = 2;
  options.delegates = {"cores" + text};
  options.offload = offload;
  options.delegate_time_limit_seconds = 0;  // the machine may be busy
  return options;
}

/// Runs the model with and without the delegate on inputs of halves; the regions that it had.
std::size_t compare(const Model& model, const SessionOptions& options, std::int64_t size,
                    bool same_bits_wanted) {
  Session alone = *Session::create(model, {.threads = 2});
  Session beside = *Session::create(model, options);
  std::vector<Session::DimValue> dims;
  for (const std::string& symbol : model.symbols()) dims.push_back({symbol, size});
  const auto shapes = *alone.input_dims(dims);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<NamedInput> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const DType dtype = model.inputs()[i].dtype;
    const std::int64_t elements = shapes[i].elements();
    auto& own = bytes.emplace_back(static_cast<std::size_t>(*bytes_of(dtype, shapes[i])));
    for (std::int64_t j = 0; j < elements; ++j) {
      const float number = static_cast<float>(j % 5) / 2;
      const std::int64_t integer = 1 + j % 5;
      if (dtype == DType::kF32) {
        std::memcpy(own.data() + j * 4, &number, 4);
      } else if (dtype == DType::kI64) {
        std::memcpy(own.data() + j * 8, &integer, 8);
      }
    }
    inputs.push_back({model.inputs()[i].name, {dtype, shapes[i], own}});
  }
  const auto expected = alone.run(inputs);
  EXPECT_TRUE(expected) << expected.error().to_string();
  RunTrace trace;
  const auto got = beside.run(inputs, {.trace = &trace});
  EXPECT_TRUE(got) << got.error().to_string();
  if (!got || !expected) return 0;
  EXPECT_TRUE(beside.delegates()[0].failures.empty()) << beside.delegates()[0].failures[0].reason;
  if (same_bits_wanted) {
    EXPECT_TRUE(same_bits(*got, *expected));
    return trace.regions.size();
  }
  for (std::size_t i = 0; i < got->size(); ++i) {
    if ((*got)[i].view().dtype != DType::kF32) continue;
    const std::int64_t elements = (*got)[i].dims().elements();
    const float *a = (*got)[i].view().as<float>(), *b = (*expected)[i].view().as<float>();
    float largest = 0, apart = 0;
    for (std::int64_t j = 0; j < elements; ++j) {
      largest = std::max(largest, std::fabs(b[j]));
      apart = std::max(apart, std::fabs(a[j] - b[j]));
    }
    EXPECT_LE(apart, 1e-3F * largest) << model.outputs()[i].name;
  }
  return trace.regions.size();
}

TEST(CoresSession, GivesTheBitsOfTheCpu) {
  const Model model = model_of(R"(
      symbols n
      input x f32 [n, 32]
      const w f32 [32, 32] = fill 0.25
      a = MatMul(x, w)
      b = Relu(a)
      c = Softmax(b) {axis = -1}
      d = Exp(x)
      e = Add(c, d)
      output e)");
  for (const char* const text : {"", ":2"})
    for (const std::int64_t rows : {1, 5, 64})
      EXPECT_EQ(compare(model, on_cores(text, Offload::kAll), rows, true), 1U);
}

TEST(CoresSession, RunsAreSplitAsPlansAre) {
  const Model model = model_of(R"(
      input x f32 [2048, 256]
      const w f32 [256, 256] = fill 0.25
      a = MatMul(x, w)
      b = Relu(a)
      c = MatMul(b, w)
      output c)");
  SessionOptions options = on_cores("", Offload::kProfitable);
  options.threads = 1;
  options.rates = Rates::kDescribed;  // the machine may be busy
  options.co_execution = true;
  Session session = *Session::create(model, options);
  const auto plan = session.plan({});
  ASSERT_TRUE(plan) << plan.error().to_string();
  ASSERT_GT(plan->regions, 0);
  const std::vector<float> x(std::size_t{2048} * 256, 0.5F);
  const NamedInput input{"x", {DType::kF32, {2048, 256}, std::as_bytes(std::span(x))}};
  RunTrace trace;
  const auto got = session.run({&input, 1}, {.trace = &trace});
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(trace.regions.size(), static_cast<std::size_t>(plan->regions));
  EXPECT_TRUE(std::ranges::any_of(trace.nodes, [](const NodeEvent& e) { return e.macs > 0; }))
      << "the CPU has no part of the products";
}

TEST(CoresSession, RunsRegionsOfAProfileBesideTheCpu) {
  const auto path = unpacked("swinv2_tiny");
  if (path.empty()) GTEST_SKIP() << "xz is needed to unpack the model";
  const Model model = *Model::load(path);
  const std::string profile = std::string(PX_SOURCE_DIR) + "/profiles/opencl-mobile.toml";
  EXPECT_EQ(compare(model, on_cores(":" + profile, Offload::kAll), 1, false), 6U);
}

}  // namespace
}  // namespace parallax
