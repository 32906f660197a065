// Weights that are made of weights: nothing computes them before a binding needs them.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "bind/evaluate.h"
#include "cache/test_folder.h"
#include "load/onnx_test_util.h"
#include "ops/deferred.h"
#include "parallax/elements.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/model_impl.h"
#include "session/numbers_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr std::int64_t kSide = 160;  // 100 KiB

std::vector<float> floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> result(count);
  for (float& number : result) number = uniform(random);
  return result;
}

std::string weights(const char* name, std::int64_t rows, std::int64_t columns, unsigned seed) {
  return float_tensor(name, {rows, columns},
                      floats(static_cast<std::size_t>(rows * columns), seed));
}

struct FoldedWeight {
  const char* name;
  std::vector<std::string> nodes, tensors;
  int deferred;  ///< constants of the lowered graph
  int read;      ///< of which kernels read this many while they run
};

std::vector<FoldedWeight> cases() {
  const std::string w = weights("w", kSide, kSide, 1), half = weights("half", kSide, kSide / 2, 2),
                    other = weights("other", kSide, kSide / 2, 3);
  const auto product = node("MatMul", {"x", "m"}, {"y"});
  return {
      {"transposed", {node("Transpose", {"w"}, {"m"}), product}, {w}, 1, 0},
      {"concatenated",
       {node("Concat", {"half", "other"}, {"m"}, {attribute("axis", 1)}), product},
       {half, other},
       1,
       0},
      {"scaled",
       {node("Mul", {"w", "s"}, {"m"}), product},
       {w, float_tensor("s", {1}, {0.5F})},
       1,
       0},
      {"in two steps",
       {node("Transpose", {"w"}, {"t"}), node("Neg", {"t"}, {"m"}), product},
       {w},
       1,
       0},
      {"read while running",
       {node("Transpose", {"w"}, {"m"}), node("Add", {"x", "m"}, {"y"})},
       {w},
       1,
       1},
      {"an output", {node("Transpose", {"w"}, {"c"}), node("Relu", {"x"}, {"y"})}, {w}, 1, 1},
  };
}

std::string bytes_of_model(const FoldedWeight& c) {
  std::vector<std::string> outputs = {value_info("y")};
  if (std::string(c.name) == "an output") outputs.push_back(value_info("c"));
  return model({c.nodes,
                c.tensors,
                {value_info("x", kOnnxFloat, {std::int64_t{kSide}, std::int64_t{kSide}})},
                outputs});
}

Model load(const std::string& bytes, const Runtime& runtime) {
  const auto owner = std::make_shared<const std::string>(bytes);
  auto loaded = Model::load(ModelBytes{std::as_bytes(std::span(*owner)), owner, {}}, {}, runtime);
  if (!loaded) throw std::runtime_error(loaded.error().to_string());
  return *std::move(loaded);
}

struct Count {
  int deferred = 0, computed = 0;
  friend bool operator==(const Count&, const Count&) = default;
};
Count count(const Model& model) {
  Count count;
  for (const Value& value : impl_of(model).graph().values) {
    if (!value.constant || deferred_depth(*value.constant) == 0) continue;
    ++count.deferred;
    count.computed += is_computed(*value.constant) ? 1 : 0;
  }
  return count;
}

/// The outputs one after the other, bit by bit.
std::vector<std::byte> run(Session& session) {
  const Tensor x = numbers(Dims{kSide, kSide}, std::nullopt, false);
  const NamedInput inputs[] = {{"x", x.view()}};
  const auto outputs = session.run(inputs);
  if (!outputs) throw std::runtime_error(outputs.error().to_string());
  std::vector<std::byte> bytes;
  for (const Tensor& output : *outputs) {
    const auto more = output.view().bytes;
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

std::vector<std::byte> run(Session&& session) { return run(session); }

/// The same with all that is constant computed while loading, as smaller constants are.
std::vector<std::byte> run_computed_at_load(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  auto graph = load_onnx({std::as_bytes(std::span(*owner)), owner, {}});
  if (!graph) throw std::runtime_error(graph.error().to_string());
  const PassContext at_once{evaluate_node};
  if (!run_passes(simplify_passes(), *graph, at_once)) throw std::runtime_error("passes");
  auto model = Model::Impl::make(*std::move(graph), {});
  if (!model) throw std::runtime_error(model.error().to_string());
  EXPECT_EQ(count(*model).deferred, 0);
  return run(*Session::create(*model, {}));
}

TEST(DeferredWeights, AreComputedWhenTheyAreBound) {
  const Runtime runtime = *Runtime::create({});
  for (const FoldedWeight& c : cases()) {
    const std::string bytes = bytes_of_model(c);
    const Model model = load(bytes, runtime);
    EXPECT_EQ(count(model), (Count{c.deferred, 0})) << c.name;
    Session session = *Session::create(model, {});
    ASSERT_TRUE(Planner(session).plan({})) << c.name;
    EXPECT_EQ(count(model), (Count{c.deferred, 0})) << c.name;
    const auto outputs = run(session);
    EXPECT_EQ(outputs, run_computed_at_load(bytes)) << c.name;
    // What was packed is gone, but where what it was made of is gone too.
    const int stays = std::string(c.name) == "in two steps" ? 1 : c.read;
    EXPECT_EQ(count(model), (Count{c.deferred, stays})) << c.name;
    EXPECT_EQ(run(session), outputs) << c.name;
  }
}

TEST(DeferredWeights, ServeSessionsOneAfterTheOther) {
  const Runtime runtime = *Runtime::create({});
  for (const FoldedWeight& c : cases()) {
    const Model model = load(bytes_of_model(c), runtime);
    std::vector<std::byte> first;
    for (int i = 0; i < 2; ++i) {
      Session session = *Session::create(model, {});
      const auto outputs = run(session);
      if (i == 0) first = outputs;
      EXPECT_EQ(outputs, first) << c.name;
    }
    // The reference kernels read what the others pack.
    SessionOptions reference;
    reference.kernels = Kernels::kReference;
    Session oracle = *Session::create(model, reference);
    EXPECT_EQ(run(oracle).size(), first.size()) << c.name;
    EXPECT_EQ(run(*Session::create(model, {})), first) << c.name;
  }
}

/// A normalisation behind a convolution goes into its filters, which are turned for their kernel.
TEST(DeferredWeights, AreFiltersOfConvolutions) {
  constexpr std::int64_t kChannels = 64;
  const Ints row = {kChannels};
  const auto positive = [](unsigned seed) {
    std::vector<float> result = floats(kChannels, seed);
    for (float& number : result) number = 1.5F + number;
    return result;
  };
  const std::string bytes = model(
      {{node("Conv", {"x", "w"}, {"c"}),
        node("BatchNormalization", {"c", "s", "b", "mean", "var"}, {"y"})},
       {float_tensor("w", {kChannels, kChannels, 3, 3}, floats(kChannels * kChannels * 9, 1)),
        float_tensor("s", row, floats(kChannels, 2)), float_tensor("b", row, floats(kChannels, 3)),
        float_tensor("mean", row, floats(kChannels, 4)), float_tensor("var", row, positive(5))},
       {value_info("x", kOnnxFloat,
                   {std::int64_t{1}, kChannels, std::int64_t{20}, std::int64_t{20}})},
       {value_info("y")}});
  const Model model = load(bytes, *Runtime::create({}));
  const Count before = count(model);
  EXPECT_GT(before.deferred, 0);
  EXPECT_EQ(before.computed, 0);
  SessionOptions reference;
  reference.kernels = Kernels::kReference;
  const Tensor x = numbers(Dims{1, kChannels, 20, 20}, std::nullopt, false);
  const NamedInput inputs[] = {{"x", x.view()}};
  const auto fast = Session::create(model, {})->run(inputs);
  const auto slow = Session::create(model, reference)->run(inputs);
  ASSERT_TRUE(fast && slow);
  EXPECT_EQ(problem(fast->front(), slow->front(), false, true), "");
}

/// Numbers of f16, or bytes.
std::string narrow_weights(const char* name, int type, const Ints& dims, unsigned seed) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  const std::vector<float> numbers = floats(static_cast<std::size_t>(count), seed);
  std::string raw;
  for (const float number : numbers) {
    if (type == kOnnxHalf) {
      raw += raw_data(std::vector{to_float16(number)});
    } else {
      raw += static_cast<char>(static_cast<std::int8_t>(100 * number));
    }
  }
  return raw_tensor(name, type, dims, raw);
}

/// What is made in two steps would stay.
TEST(DeferredWeights, AreNotComputedWhereTheFileHasWhatIsPacked) {
  constexpr std::int64_t kHidden = 96;
  const std::string half = narrow_weights("w", kOnnxHalf, {2 * kSide, kSide}, 1);
  const std::string input = value_info("x", kOnnxFloat, {std::int64_t{kSide}, std::int64_t{kSide}});
  const auto to = [](std::int64_t type) { return std::vector{attribute("to", type)}; };
  const auto turned = [](const char* from, const char* name) {
    return node("Transpose", {from}, {name}, {attribute("perm", Ints{0, 2, 1})});
  };
  const TestGraph graphs[] = {
      {{node("Cast", {"w"}, {"c"}, to(kOnnxFloat)), node("Transpose", {"c"}, {"m"}),
        node("MatMul", {"x", "m"}, {"y"})},
       {half},
       {input},
       {value_info("y")}},
      {{node("Cast", {"x"}, {"h"}, to(kOnnxHalf)), node("Transpose", {"w"}, {"m"}),
        node("MatMul", {"h", "m"}, {"p"}), node("Cast", {"p"}, {"y"}, to(kOnnxFloat))},
       {half},
       {input},
       {value_info("y")}},
      {{node("Unsqueeze", {"x", "one"}, {"s"}), node("DequantizeLinear", {"w", "unit"}, {"dw"}),
        turned("dw", "tw"), node("DequantizeLinear", {"r", "unit"}, {"dr"}), turned("dr", "tr"),
        node("LSTM", {"s", "tw", "tr"}, {"y"}, {attribute("hidden_size", kHidden)})},
       {int_tensor("one", {1}), float_tensor("unit", {}, {0.001F}),
        narrow_weights("w", kOnnxInt8, {1, kSide, 4 * kHidden}, 2),
        narrow_weights("r", kOnnxInt8, {1, kHidden, 4 * kHidden}, 3)},
       {input},
       {value_info("y")}},
  };
  const Tensor x = numbers(Dims{kSide, kSide}, std::nullopt, false);
  const NamedInput inputs[] = {{"x", x.view()}};
  for (const TestGraph& graph : graphs) {
    const Model model = load(parallax::model(graph), *Runtime::create({}));
    SCOPED_TRACE(graph.nodes.back());
    const Count before = count(model);
    EXPECT_GT(before.deferred, 0);
    const auto fast = Session::create(model, {})->run(inputs);
    ASSERT_TRUE(fast) << fast.error().to_string();
    EXPECT_EQ(count(model), before);
    SessionOptions reference;
    reference.kernels = Kernels::kReference;
    const auto slow = Session::create(model, reference)->run(inputs);
    ASSERT_TRUE(slow) << slow.error().to_string();
    EXPECT_EQ(problem(fast->front(), slow->front(), false, true), "");
  }
}

/// What a branch would fail to compute fails no run that takes the other.
TEST(DeferredWeights, OfBranchesAreComputedAtOnce) {
  const auto branch = [](const char* op, const char* output) {
    return TestGraph{{node("Transpose", {"k"}, {"t"}), node(op, {"x", "t"}, {output})},
                     {weights("k", kSide, kSide, 1)},
                     {},
                     {value_info(output)}}
        .bytes();
  };
  const std::string bytes =
      model({{node("If", {"flag"}, {"y"},
                   {graph_attribute("then_branch", branch("Add", "a")),
                    graph_attribute("else_branch", branch("MatMul", "b"))})},
             {},
             {value_info("x", kOnnxFloat, {std::int64_t{kSide}, std::int64_t{kSide}}),
              value_info("flag", kOnnxBool, {})},
             {value_info("y")}});
  const Model model = load(bytes, *Runtime::create({}));
  Session session = *Session::create(model, {});
  const Tensor x = numbers(Dims{kSide, kSide}, std::nullopt, false);
  for (const bool flag : {true, false}) {
    const auto chosen = std::as_bytes(std::span(&flag, 1));
    const NamedInput inputs[] = {{"x", x.view()}, {"flag", {DType::kBool, Dims{}, chosen}}};
    const auto outputs = session.run(inputs);
    EXPECT_TRUE(outputs) << outputs.error().to_string();
  }
}

class DeferredWeightsCache : public FolderTest {};

TEST_F(DeferredWeightsCache, HasThemComputed) {
  RuntimeOptions options;
  options.cache = folder_ / "cache";
  for (const FoldedWeight& c : cases()) {
    const auto path = folder_ / "model.onnx";
    write(path, bytes_of_model(c));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // for its time of modification
    std::vector<std::byte> first;
    for (const bool again : {false, true}) {
      const Runtime runtime = *Runtime::create(options);
      const auto model = Model::load(path, {}, runtime);
      ASSERT_TRUE(model) << model.error().to_string();
      EXPECT_EQ(count(*model), again ? Count{} : (Count{c.deferred, c.deferred})) << c.name;
      const auto outputs = run(*Session::create(*model, {}));
      if (!again) first = outputs;
      EXPECT_EQ(outputs, first) << c.name;
    }
  }
}

}  // namespace
}  // namespace parallax
