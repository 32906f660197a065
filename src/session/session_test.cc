// Models and sessions as users call them.
#include "parallax/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "base/status.h"
#include "parallax/planner.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

constexpr std::string_view kBranchesAndMask = R"(
    symbols batch seq
    input x f32 [batch, seq, 4]
    input mask bool [batch, 2*seq]
    s = Relu(x)
    a1 = Exp(s)
    a2 = Neg(a1)
    a3 = Sigmoid(a2)
    b1 = Tanh(s)
    b2 = Abs(b1)
    b3 = Sqrt(b2)
    y = Add(a3, b3)
    m = Not(mask)
    output y, m)";

/// Makes an input tensor of ones, or of false.
Tensor tensor(DType dtype, const Dims& dims) {
  Tensor result = *Tensor::allocate(dtype, dims);
  const MutableTensorView view = result.mutable_view();
  if (dtype == DType::kF32)
    for (std::int64_t i = 0; i < dims.elements(); ++i) view.as<float>()[i] = 1;
  return result;
}

TEST(Model, DescribesItself) {
  const Model model = model_of(kBranchesAndMask);
  ASSERT_EQ(model.inputs().size(), 2U);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].shape[1].symbol, "seq");
  EXPECT_EQ(model.inputs()[0].shape[2].value, 4);
  EXPECT_EQ(model.inputs()[1].shape[1].symbol, "2*seq");
  EXPECT_THAT(model.symbols(), testing::ElementsAre("batch", "seq"));
  EXPECT_EQ(model.outputs().size(), 2U);
}

TEST(Model, FilesThatAreNoModels) {
  const std::string folder = testing::TempDir();
  const std::string empty = folder + "/parallax_empty.onnx";
  const std::string text = folder + "/parallax_text.onnx";
  std::ofstream{empty};
  std::ofstream{text} << "this is no model";
  for (const auto& [path, code] :
       {std::pair{folder, ErrorCode::kIo}, std::pair{folder + "/none.onnx", ErrorCode::kIo},
        std::pair{empty, ErrorCode::kInvalidModel}, std::pair{text, ErrorCode::kInvalidModel}}) {
    const auto model = Model::load(path);
    ASSERT_FALSE(model) << path;
    EXPECT_EQ(model.error().code, code) << path;
    EXPECT_THAT(model.error().message, HasSubstr(path));
  }
}

TEST(Session, RunsWithAnyShape) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 2});
  ASSERT_TRUE(session);
  for (const std::int64_t seq : {1, 3, 5, 3, 0}) {
    const Tensor x = tensor(DType::kF32, {2, seq, 4});
    const Tensor mask = tensor(DType::kBool, {2, 2 * seq});
    const auto outputs =
        session->run(std::vector<NamedInput>{{"mask", mask.view()}, {"x", x.view()}});
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    EXPECT_EQ((*outputs)[0].dims(), (Dims{2, seq, 4}));
    for (std::int64_t i = 0; i < 8 * seq; ++i)
      EXPECT_NEAR((*outputs)[0].view().as<float>()[i], 0.0619F + 0.8727F, 1e-3F);
    EXPECT_EQ((*outputs)[1].dims(), (Dims{2, 2 * seq}));
  }
}

TEST(Session, RefusesWrongInputs) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 1});
  ASSERT_TRUE(session);
  const Tensor x = tensor(DType::kF32, {2, 3, 4});
  const Tensor wide = tensor(DType::kF32, {2, 3, 5});
  const Tensor flat = tensor(DType::kF32, {2, 12});
  const Tensor mask = tensor(DType::kBool, {2, 6});
  const Tensor short_mask = tensor(DType::kBool, {2, 5});
  const Tensor other_batch = tensor(DType::kBool, {3, 6});
  const Tensor bytes = tensor(DType::kU8, {2, 6});
  TensorView cut = x.view();
  cut.bytes = cut.bytes.first(8);
  TensorView shifted = flat.view();
  shifted.dims = Dims{1, 1, 4};
  shifted.bytes = flat.view().bytes.subspan(1, 16);
  struct Row {
    std::vector<NamedInput> inputs;
    std::string message;
  };
  const std::vector<Row> rows = {
      {{{"x", x.view()}}, "input 'mask' (bool batchx2*seq) is missing"},
      {{}, "inputs 'x' (float32 batchxseqx4), 'mask' (bool batchx2*seq) are missing"},
      {{{"x", x.view()}, {"y", x.view()}}, "no input 'y'; it has 'x', 'mask'"},
      {{{"x", x.view()}, {"x", x.view()}}, "'x' is given twice"},
      {{{"x", wide.view()}, {"mask", mask.view()}}, "not 2x3x5"},
      {{{"x", flat.view()}, {"mask", mask.view()}}, "must be float32 batchxseqx4"},
      {{{"x", x.view()}, {"mask", bytes.view()}}, "not uint8 2x6"},
      {{{"x", x.view()}, {"mask", short_mask.view()}}, "(here 2x6), not 2x5"},
      {{{"x", x.view()}, {"mask", other_batch.view()}}, "(here 2x6), not 3x6"},
      {{{"x", cut}, {"mask", mask.view()}}, "in 8 bytes"},
      {{{"x", shifted}, {"mask", mask.view()}}, "not aligned"},
  };
  for (const Row& row : rows) {
    const auto outputs = session->run(row.inputs);
    ASSERT_FALSE(outputs) << row.message;
    EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(outputs.error().message, HasSubstr(row.message));
  }
  EXPECT_TRUE(session->run(std::vector<NamedInput>{{"x", x.view()}, {"mask", mask.view()}}));
}

TEST(Session, NamesAllDimensionsWithoutAValueAtOnce) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 1});
  ASSERT_TRUE(session);
  const std::vector<DimValue> none, batch = {{"batch", 2}};
  for (const Error& error :
       {Planner(*session).plan(none).error(), session->input_dims(none).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kUnboundSymbol);
    EXPECT_EQ(error.message,
              "dimensions without a value: 'batch' of input 'x' (batchxseqx4), 'seq' of input 'x' "
              "(batchxseqx4)");
  }
  EXPECT_EQ(Planner(*session).plan(batch).error().message,
            "dimension 'seq' of input 'x' (batchxseqx4) has no value");
}

TEST(Session, RunIntoWritesInPlace) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 1});
  ASSERT_TRUE(session);
  const Tensor x = tensor(DType::kF32, {1, 2, 4});
  const Tensor mask = tensor(DType::kBool, {1, 4});
  const std::vector<NamedInput> inputs = {{"x", x.view()}, {"mask", mask.view()}};
  Tensor y = tensor(DType::kF32, {1, 2, 4});
  Tensor m = tensor(DType::kBool, {1, 4});
  std::vector<MutableTensorView> outputs = {y.mutable_view(), m.mutable_view()};
  const auto status = session->run_into(inputs, outputs);
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_NEAR(y.view().as<float>()[7], 0.0619F + 0.8727F, 1e-3F);
  EXPECT_TRUE(m.view().as<bool>()[3]);

  EXPECT_THAT(session->run_into(inputs, std::span(outputs).first(1)).error().message,
              HasSubstr("2 outputs"));
  Tensor wrong = tensor(DType::kF32, {1, 3, 4});
  outputs[0] = wrong.mutable_view();
  EXPECT_THAT(session->run_into(inputs, outputs).error().message,
              HasSubstr("output 'y' is float32 1x2x4"));
  Tensor in = tensor(DType::kF32, {1, 2, 4});
  outputs[0] = in.mutable_view();
  EXPECT_THAT(
      session->run_into(std::vector<NamedInput>{{"x", in.view()}, {"mask", mask.view()}}, outputs)
          .error()
          .message,
      HasSubstr("output 'y' overlaps an input"));
}

TEST(Session, RunIntoRefusesMemoryThatIsNone) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 1});
  ASSERT_TRUE(session);
  const Tensor x = tensor(DType::kF32, {1, 2, 4});
  const Tensor mask = tensor(DType::kBool, {1, 4});
  const std::vector<NamedInput> inputs = {{"x", x.view()}, {"mask", mask.view()}};
  Tensor y = tensor(DType::kF32, {1, 3, 4});
  Tensor m = tensor(DType::kBool, {1, 4});
  std::vector<MutableTensorView> outputs = {y.mutable_view(), m.mutable_view()};
  const auto refused = [&](const MutableTensorView& view, const char* message) {
    outputs[0] = view;
    const auto status = session->run_into(inputs, outputs);
    ASSERT_FALSE(status) << message;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(status.error().message, HasSubstr(message));
  };
  const Dims dims{1, 2, 4};
  refused({DType::kF32, dims, {static_cast<std::byte*>(nullptr), 32}},
          "output 'y' is given 32 bytes without memory");
  refused({DType::kF32, dims, y.mutable_view().bytes.subspan(2, 32)}, "not aligned");
  Tensor moved = tensor(DType::kF32, dims);
  const Tensor taken = std::move(moved);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  refused(moved.mutable_view(), "without memory");
  // NOLINTNEXTLINE(bugprone-use-after-move)
  const std::vector<NamedInput> moved_from = {{"x", moved.view()}, {"mask", mask.view()}};
  EXPECT_THAT(session->run(moved_from).error().message, HasSubstr("without memory"));
  outputs[0] = {DType::kF32, dims, y.mutable_view().bytes.first(32)};
  EXPECT_TRUE(session->run_into(inputs, outputs));
}

TEST(Session, OutputsAtAnyElementTakeNothingOfTheBudget) {
  const Model model = model_of(kBranchesAndMask);
  const Tensor x = tensor(DType::kF32, {8, 64, 4});
  const Tensor mask = tensor(DType::kBool, {8, 128});
  auto free = Session::create(model, {.threads = 2});
  ASSERT_TRUE(free);
  const auto expected = free->run(std::vector<NamedInput>{{"x", x.view()}, {"mask", mask.view()}});
  ASSERT_TRUE(expected);
  const std::vector<DimValue> sizes = {{"batch", 8}, {"seq", 64}};
  const auto plan = Planner(*free).plan(sizes);
  ASSERT_TRUE(plan);
  const std::int64_t needed = plan->arena_bytes.parallax + plan->scratch_bytes;
  auto session = Session::create(model, {.threads = 2, .budget = MemoryBudget::of_bytes(needed)});
  ASSERT_TRUE(session);
  const auto bytes_of = [](const Tensor& t) { return t.view().bytes.size(); };
  std::vector<std::byte> memory(bytes_of((*expected)[0]) + 128);
  const std::size_t start = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  Tensor m = tensor(DType::kBool, {8, 128});
  for (const std::size_t offset : {0, 4, 16, 36}) {
    const auto bytes = std::span(memory).subspan(start + offset, bytes_of((*expected)[0]));
    const std::vector<MutableTensorView> outputs = {{DType::kF32, (*expected)[0].dims(), bytes},
                                                    m.mutable_view()};
    const auto status =
        session->run_into(std::vector<NamedInput>{{"x", x.view()}, {"mask", mask.view()}}, outputs);
    ASSERT_TRUE(status) << offset << ": " << status.error().to_string();
    EXPECT_EQ(std::memcmp(bytes.data(), (*expected)[0].view().bytes.data(), bytes.size()), 0);
    EXPECT_EQ(session->peak_arena_bytes(), needed);
  }
}

TEST(Session, BudgetIsAGuarantee) {
  const Model model = model_of(kBranchesAndMask);
  const Tensor x = tensor(DType::kF32, {8, 64, 4});
  const Tensor mask = tensor(DType::kBool, {8, 128});
  const std::vector<NamedInput> inputs = {{"x", x.view()}, {"mask", mask.view()}};
  int fitting = 0;
  for (std::int64_t bytes = 0; bytes < 80'000; bytes += 2'000) {
    auto session = Session::create(model, {.threads = 2, .budget = MemoryBudget::of_bytes(bytes)});
    ASSERT_TRUE(session);
    const auto outputs = session->run(inputs);
    if (outputs) {
      ++fitting;
    } else {
      EXPECT_EQ(outputs.error().code, ErrorCode::kBudgetExceeded);
    }
    EXPECT_LE(session->peak_arena_bytes(), bytes);
  }
  EXPECT_GT(fitting, 0);
  EXPECT_LT(fitting, 40);
  auto automatic = Session::create(model, {.budget = MemoryBudget::automatic()});
  ASSERT_TRUE(automatic);
  EXPECT_TRUE(automatic->run(inputs));
}

TEST(Session, ASmallerPlanLeavesRoomForDataDependentTensors) {
  const Model model = model_of(R"(
    input x f32 [4096]
    const zero i64 [1] = [0]
    s = Relu(x)
    a1 = Exp(s)
    a2 = Neg(a1)
    a3 = Sigmoid(a2)
    b1 = Tanh(s)
    b2 = Abs(b1)
    b3 = Sqrt(b2)
    y = Add(a3, b3)
    found = NonZero(y)
    flat = Squeeze(found, zero)
    picked = Gather(y, flat)
    total = ReduceSum(picked, zero)
    output total)");
  const Tensor x = tensor(DType::kF32, {4096});
  bool fitted = false;
  for (std::int64_t bytes = 0; bytes < 300'000; bytes += 4096) {
    auto session = Session::create(model, {.threads = 2, .budget = MemoryBudget::of_bytes(bytes)});
    ASSERT_TRUE(session);
    const auto outputs = session->run(std::vector<NamedInput>{{"x", x.view()}});
    if (outputs) {
      fitted = true;
    } else {
      EXPECT_EQ(outputs.error().code, ErrorCode::kBudgetExceeded);
      EXPECT_FALSE(fitted) << "a larger budget fails where a smaller one was enough: " << bytes;
    }
    EXPECT_LE(session->peak_arena_bytes(), bytes);
  }
  EXPECT_TRUE(fitted);
}

TEST(Session, ManyThreadsRunAtOnce) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 3});
  ASSERT_TRUE(session);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 30; ++i) {
        const Tensor x = tensor(DType::kF32, {t + 1, i % 5, 4});
        const Tensor mask = tensor(DType::kBool, {t + 1, 2 * (i % 5)});
        const auto outputs =
            session->run(std::vector<NamedInput>{{"x", x.view()}, {"mask", mask.view()}});
        if (!outputs || !((*outputs)[0].dims() == x.dims())) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, PlansWithoutRunning) {
  auto session = Session::create(model_of(kBranchesAndMask), {.threads = 2});
  ASSERT_TRUE(session);
  using Dim = DimValue;
  const auto report = Planner(*session).plan(std::vector<Dim>{{"batch", 2}, {"seq", 8}});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->branches, static_cast<int>(report->branch_reports.size()));
  EXPECT_EQ(report->layers, static_cast<int>(report->steps_per_layer.size()));
  int nodes = 0;
  for (const BranchReport& branch : report->branch_reports) nodes += branch.nodes;
  EXPECT_EQ(report->nodes, nodes);
  EXPECT_LE(report->arena_bytes.lower_bound, report->arena_bytes.parallax);
  EXPECT_LE(report->arena_bytes.parallax, report->arena_bytes.naive);

  const auto dims = session->input_dims(std::vector<Dim>{{"batch", 2}, {"seq", 8}});
  ASSERT_TRUE(dims);
  EXPECT_THAT(*dims, testing::ElementsAre(Dims{2, 8, 4}, Dims{2, 16}));

  EXPECT_EQ(Planner(*session).plan(std::vector<Dim>{{"batch", 2}}).error().code,
            ErrorCode::kUnboundSymbol);
  EXPECT_EQ(session->input_dims({}).error().code, ErrorCode::kUnboundSymbol);
  for (const std::vector<Dim>& bad : {std::vector<Dim>{{"batch", 2}, {"seq", 1}, {"width", 1}},
                                      std::vector<Dim>{{"batch", 2}, {"seq", -1}},
                                      std::vector<Dim>{{"batch", 2}, {"seq", 1}, {"seq", 1}}})
    EXPECT_EQ(Planner(*session).plan(bad).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace parallax
