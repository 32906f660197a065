// Sessions with the delegate "cores": the bits of the CPU, beside it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/numbers_test_util.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

namespace parallax {
namespace {

SessionOptions on_cores(const std::string& text, Offload offload) {
  SessionOptions options;
  options.threads = 2;
  options.delegates = {"cores" + text};
  options.offload = offload;
  options.delegate_time_limit_ms = 0;  // the machine may be busy
  return options;
}

/// Runs the model with and without the delegate on inputs of halves; the regions that it had.
std::size_t compare(const Model& model, const SessionOptions& options, std::int64_t size,
                    bool same_bits_wanted) {
  Session alone = *Session::create(model, {.threads = 2});
  Session beside = *Session::create(model, options);
  std::vector<DimValue> dims;
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
  options.rates = Rates::kDeclared;  // the machine may be busy
  options.co_execution = true;
  Session session = *Session::create(model, options);
  const auto plan = Planner(session).plan({});
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

TEST(CoresSession, RunsOfASplitTryOtherShares) {
  const Model model = model_of(R"(
      input x f32 [2048, 256]
      const w f32 [256, 256] = fill 0.25
      a = MatMul(x, w)
      b = Relu(a)
      c = MatMul(b, w)
      output c)");
  std::mutex mutex;
  std::vector<std::string> lines;
  RuntimeOptions runtime_options;
  runtime_options.log = [&](LogLevel, auto line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  const Runtime runtime = *Runtime::create(runtime_options);
  // A device as fast as the CPU, so that a split is what is planned first, and both so slow that no
  // run of a split loses, however busy the machine is.
  const auto opened = *impl_of(runtime).delegates.open("cores");
  Calibration calibration;
  calibration.launch_seconds = 1e-6;
  for (const WorkKind kind : {WorkKind::kProduct, WorkKind::kElementwise, WorkKind::kFunction})
    calibration.samples.push_back({kind, 1e-3, 10, 10});
  impl_of(runtime).rates.of(*opened, 1)->assume(calibration);
  SessionOptions options = on_cores("", Offload::kProfitable);
  options.threads = 1;
  options.co_execution = true;
  Session session = *Session::create(model, options, runtime);
  const std::vector<float> x(std::size_t{2048} * 256, 0.5F);
  const NamedInput input{"x", {DType::kF32, {2048, 256}, std::as_bytes(std::span(x))}};
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(session.run({&input, 1}));
  EXPECT_THAT(lines, testing::Contains(testing::HasSubstr("next, the delegate gets 17 of 32 rows")))
      << testing::PrintToString(lines);
}

/// Columns of the weights are constants of a session's own, which come to lie at addresses that
/// constants of earlier sessions had.
TEST(CoresSession, SplitModelsRunTheSameInEachSession) {
  std::string text = "input x0 f32 [16, 1024]\n";
  for (int i = 0; i < 6; ++i)
    text += fmt::format(R"(
      const w{0} f32 [1024, 1024] = fill {2}
      const b{0} f32 [1024] = fill {3}
      m{0} = MatMul(x{0}, w{0})
      a{0} = Add(m{0}, b{0})
      x{1} = Relu(a{0})
    )",
                        i, i + 1, 0.0005 * (i + 1), 0.25 * i);
  const Model model = model_of(text + "output x6");
  SessionOptions options = on_cores("", Offload::kProfitable);
  options.rates = Rates::kDeclared;
  options.co_execution = true;
  for (int round = 0; round < 8; ++round) {
    options.threads = 1 + round % 2;
    EXPECT_GT(compare(model, options, 1, false), 0U) << round;
  }
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
