// Sequences, optionals and strings through a session: every executor, bodies, the budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "parallax/session.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

Object row(std::initializer_list<float> list) {
  Tensor tensor = *Tensor::allocate(DType::kF32, Dims{static_cast<std::int64_t>(list.size())});
  std::ranges::copy(list, tensor.mutable_view().as<float>());
  return Object::tensor(std::move(tensor));
}
Object position(std::int64_t at) {
  Tensor tensor = *Tensor::allocate(DType::kI64, {});
  *tensor.mutable_view().as<std::int64_t>() = at;
  return Object::tensor(std::move(tensor));
}

NamedInput input(std::string_view name, const Object& object) {
  return {name, object.tensor_view(), object};
}

/// A loop that doubles the elements of a sequence, and keeps what it makes in another.
constexpr std::string_view kLoop = R"(
    input s sequence f32 [_]
    n = SequenceLength(s)
    e = SequenceEmpty()
    r = Loop(n, _, e; s)
    body
      input i i64 []
      input c bool []
      input acc sequence f32 none
      input t sequence f32 [_]
      x = SequenceAt(t, i)
      y = Add(x, x)
      next = SequenceInsert(acc, y)
      output c, next
    end
    m = SequenceLength(r)
    output r, m
)";

TEST(Objects, GoThroughLoopsUnderEveryExecutor) {
  const Model model = model_of(kLoop);
  const Object s = Object::sequence({row({1}), row({2, 3}), row({})});
  for (const Scheduler scheduler :
       {Scheduler::kDataflow, Scheduler::kLayers, Scheduler::kSequential}) {
    for (const int threads : {1, 2, 4}) {
      SessionOptions options;
      options.scheduler = scheduler;
      options.threads = threads;
      auto session = Session::create(model, options);
      ASSERT_TRUE(session);
      for (int run = 0; run < 2; ++run) {
        const auto outputs = session->run_objects(std::vector{input("s", s)});
        ASSERT_TRUE(outputs) << outputs.error().to_string();
        const auto elements = (*outputs)[0].elements();
        ASSERT_EQ(elements.size(), 3U);
        EXPECT_EQ(elements[1].tensor_view().as<float>()[1], 6);
        EXPECT_EQ(elements[2].dims(), (Dims{0}));
        EXPECT_EQ(*(*outputs)[1].tensor_view().as<std::int64_t>(), 3);
      }
    }
  }
}

TEST(Objects, BranchesPassThem) {
  const Model model = model_of(R"(
    input c bool []
    input o optional f32 [_]
    y = If(c; o)
    body
      input p optional f32 [_]
      output p
    end
    body
      input q optional f32 [_]
      const z f32 [1] = [5]
      w = Optional(z)
      output w
    end
    h = OptionalHasElement(y)
    output y, h
  )");
  auto session = Session::create(model);
  ASSERT_TRUE(session);
  for (const bool which : {true, false}) {
    Tensor condition = *Tensor::allocate(DType::kBool, {});
    *condition.mutable_view().as<bool>() = which;
    const auto outputs =
        session->run_objects(std::vector<NamedInput>{{"c", condition.view()}, {"o", {}, Object()}});
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    EXPECT_EQ((*outputs)[0].elements().empty(), which);
    EXPECT_EQ(*(*outputs)[1].tensor_view().as<bool>(), !which);
  }
}

TEST(Objects, StringsMoveAndBecomeNumbers) {
  const Model model = model_of(R"(
    symbols n
    input x string [n]
    const i i64 [1] = [0]
    const z string [2] = ["7", "8"]
    a = Concat(x, z) {axis = 0}
    b = Gather(a, i)
    y = Cast(a) {to = 1}
    output b, y, z
  )");
  auto session = Session::create(model);
  ASSERT_TRUE(session);
  const Object x = *Object::strings({1}, {"5"});
  const auto outputs = session->run_objects(std::vector{input("x", x)});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_EQ((*outputs)[0].strings()[0], "5");
  EXPECT_EQ((*outputs)[1].dims(), (Dims{3}));
  EXPECT_EQ((*outputs)[1].tensor_view().as<float>()[2], 8);
  EXPECT_EQ((*outputs)[2].strings()[1], "8");
}

constexpr std::string_view kAt = R"(
    input s sequence f32 [_]
    input p i64 []
    y = SequenceAt(s, p)
    z = Relu(y)
    output z
)";

TEST(Objects, ErrorsNameTheNode) {
  auto session = Session::create(model_of(kAt));
  ASSERT_TRUE(session);
  const Object s = Object::sequence({row({1})}), one = position(1), zero = position(0);
  const auto beyond = session->run(std::vector{input("s", s), input("p", one)});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kOutOfRange);
  EXPECT_THAT(beyond.error().to_string(), HasSubstr("position 1 in a sequence of 1"));
  EXPECT_TRUE(session->run(std::vector{input("s", s), input("p", zero)}));

  const Object wrong = Object::sequence({position(1)});
  for (const Object& other : {wrong, Object(), row({1})}) {
    const auto refused = session->run(std::vector{input("s", other), input("p", zero)});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("input 's' must be sequence f32 [_]"));
  }
  const auto missing = session->run(std::vector{input("p", zero)});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("input 's' (sequence f32 [_]) is missing"));
}

TEST(Objects, OutputsMayNotOverlapTheirTensors) {
  auto session = Session::create(model_of(kAt));
  ASSERT_TRUE(session);
  auto memory = Tensor::allocate(DType::kF32, {1}), other = Tensor::allocate(DType::kF32, {1});
  ASSERT_TRUE(memory && other);
  const Object zero = position(0);
  const std::vector inputs = {input("s", Object::sequence({Object::view(memory->view())})),
                              input("p", zero)};
  std::vector<MutableTensorView> outputs = {memory->mutable_view()};
  const auto refused = session->run_into(inputs, outputs);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("output 'z' overlaps an input"));
  outputs = {other->mutable_view()};
  const auto run = session->run_into(inputs, outputs);
  EXPECT_TRUE(run) << run.error().to_string();
}

TEST(Objects, OtherRunsRefuseThem) {
  auto session = Session::create(model_of(kLoop));
  ASSERT_TRUE(session);
  const Object s = Object::sequence({});
  const auto refused = session->run(std::vector{input("s", s)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  const auto into =
      session->run_into(std::vector{input("s", s)}, std::span<const MutableTensorView>());
  ASSERT_FALSE(into);
  EXPECT_EQ(into.error().code, ErrorCode::kUnsupported);
}

TEST(Objects, TheBudgetCountsThem) {
  const Model model = model_of(R"(
    input x f32 [1000]
    input n i64 []
    e = SequenceEmpty()
    r = Loop(n, _, e; x)
    body
      input i i64 []
      input c bool []
      input acc sequence f32 none
      input t f32 [1000]
      next = SequenceInsert(acc, t)
      output c, next
    end
    y = SequenceLength(r)
    output y
  )");
  SessionOptions options;
  options.budget = MemoryBudget::of_bytes(100000);
  auto session = Session::create(model, options);
  ASSERT_TRUE(session);
  Tensor x = *Tensor::allocate(DType::kF32, {1000});
  const Object few = position(10), many = position(1000);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(session->run(std::vector<NamedInput>{{"x", x.view()}, input("n", few)}));
    const auto refused = session->run(std::vector<NamedInput>{{"x", x.view()}, input("n", many)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExceeded) << refused.error().to_string();
  }
  EXPECT_GT(session->peak_arena_bytes(), 40000);
}

}  // namespace
}  // namespace parallax
