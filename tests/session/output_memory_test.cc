// The shapes of outputs before a run, and outputs in memory that a callback of the caller returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "base/status.h"
#include "parallax/session.h"
#include "parallax/state.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr std::string_view kMixed = R"(
    symbols n
    input x f32 [n, 4]
    y = Relu(x)
    places = NonZero(y)
    sides = Transpose(x)
    both = Concat(x, x) {axis = 0}
    output places, y, sides, both)";

Tensor ones(const Dims& dims) {
  Tensor tensor = *Tensor::allocate(DType::kF32, dims);
  std::fill_n(tensor.mutable_view().as<float>(), dims.elements(), 1.0F);
  return tensor;
}

/// Hands out a Tensor for each output, and keeps the order of the calls.
struct CallbackMemory {
  Result<std::span<std::byte>> operator()(int output, DType dtype, const Dims& dims) {
    order.push_back(output);
    PX_ASSIGN(tensors[static_cast<std::size_t>(output)], Tensor::allocate(dtype, dims));
    return tensors[static_cast<std::size_t>(output)].mutable_view().bytes;
  }
  std::vector<int> order = {};
  std::vector<Tensor> tensors = std::vector<Tensor>(4);
};

TEST(OutputDims, AreKnownUnlessValuesDecide) {
  auto session = Session::create(model_of(kMixed), {.threads = 1});
  ASSERT_TRUE(session);
  const auto dims = session->output_dims(std::vector<DimValue>{{"n", 3}});
  ASSERT_TRUE(dims) << dims.error().to_string();
  EXPECT_THAT(*dims, ElementsAre(std::nullopt, Optional(Dims{3, 4}), Optional(Dims{4, 3}),
                                 Optional(Dims{6, 4})));
}

TEST(OutputDims, RefuseWhatInputDimsRefuse) {
  auto session = Session::create(model_of(kMixed), {.threads = 1});
  ASSERT_TRUE(session);
  using Dim = DimValue;
  for (const std::vector<Dim>& bad :
       {std::vector<Dim>{}, std::vector<Dim>{{"n", -1}}, std::vector<Dim>{{"n", 1}, {"n", 1}},
        std::vector<Dim>{{"n", 1}, {"m", 1}},
        std::vector<Dim>{{"n", std::numeric_limits<std::int64_t>::max()}}}) {
    const auto dims = session->output_dims(bad);
    ASSERT_FALSE(dims);
    const auto inputs = session->input_dims(bad);
    if (!inputs) {
      EXPECT_EQ(dims.error().code, inputs.error().code);
    } else {  // 2n is too large
      EXPECT_THAT(dims.error().message, HasSubstr("output 'both'"));
    }
  }
}

TEST(OutputDims, SequencesHaveNone) {
  auto session = Session::create(model_of(R"(
    input x f32 [4]
    s = SequenceConstruct(x)
    y = Relu(x)
    output s, y)"),
                                 {.threads = 1});
  ASSERT_TRUE(session);
  const auto dims = session->output_dims({});
  ASSERT_TRUE(dims) << dims.error().to_string();
  EXPECT_THAT(*dims, ElementsAre(std::nullopt, Optional(Dims{4})));
}

TEST(OutputAllocator, IsAskedOnceForEachOutput) {
  for (const int threads : {1, 2}) {
    auto session = Session::create(model_of(kMixed), {.threads = threads});
    ASSERT_TRUE(session);
    const Tensor x = ones({3, 4});
    const std::vector<NamedInput> inputs = {{"x", x.view()}};
    const auto expected = session->run(inputs);
    ASSERT_TRUE(expected) << expected.error().to_string();
    CallbackMemory allocator;
    const auto status = session->run_into(inputs, std::ref(allocator));
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_THAT(allocator.order, ElementsAre(1, 2, 3, 0)) << "the size that a run determines: last";
    EXPECT_TRUE(same_bits(allocator.tensors, *expected));
  }
}

TEST(OutputAllocator, MustReturnMemoryThatTheOutputCanHave) {
  auto session = Session::create(
      model_of("input x f32 [4]\n a = Neg(x)\n b = Abs(x)\n output a, b"), {.threads = 1});
  ASSERT_TRUE(session);
  Tensor x = ones({4}), memory = ones({16});
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  const auto bytes = memory.mutable_view().bytes;
  struct Row {
    Result<std::span<std::byte>> second;  // of output b; a has the first 16 bytes
    ErrorCode code;
    const char* message;
  };
  const auto wrong = ErrorCode::kInvalidInput;
  for (const Row& row : std::vector<Row>{
           {bytes.subspan(16, 12), wrong, "in 12 bytes, dense it has 16"},
           {bytes.subspan(16, 20), wrong, "in 20 bytes, dense it has 16"},
           {bytes.subspan(18, 16), wrong, "not aligned"},
           {std::span(static_cast<std::byte*>(nullptr), 16), wrong, "without memory"},
           {bytes.subspan(12, 16), wrong, "output 'b' overlaps"},
           {x.mutable_view().bytes, wrong, "output 'b' overlaps an input"},
           {tl::unexpected(Error{Stage::kSession, ErrorCode::kOutOfMemory, {}, "the heap is full"}),
            ErrorCode::kOutOfMemory, "the heap is full"},
       }) {
    const auto status = session->run_into(
        inputs, [&](int output, DType, const Dims&) -> Result<std::span<std::byte>> {
          return output == 0 ? bytes.first(16) : row.second;
        });
    ASSERT_FALSE(status) << row.message;
    EXPECT_EQ(status.error().code, row.code) << row.message;
    EXPECT_THAT(status.error().message, HasSubstr(row.message));
  }
  EXPECT_TRUE(session->run_into(inputs, [&](int output, DType, const Dims&) {
    return bytes.subspan(static_cast<std::size_t>(output) * 16, 16);
  })) << "and the session still runs";
}

TEST(OutputAllocator, ErrorsOfTheCallbackAreThoseOfTheRun) {
  auto session = Session::create(model_of(kMixed), {.threads = 2});
  ASSERT_TRUE(session);
  const Tensor x = ones({3, 4});
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  EXPECT_EQ(session->run_into(inputs, Session::OutputAllocator()).error().code,
            ErrorCode::kInvalidInput);
  for (const int thrower : {0, 1}) {  // after the run, before it
    CallbackMemory allocator;
    const auto status = session->run_into(
        inputs, [&](int output, DType dtype, const Dims& dims) -> Result<std::span<std::byte>> {
          if (output == thrower) throw std::runtime_error("no pool");
          return allocator(output, dtype, dims);
        });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
    EXPECT_THAT(status.error().message,
                testing::AllOf(HasSubstr("no pool"), HasSubstr("output '")));
  }
}

TEST(OutputAllocator, GetsTiedOutputsOnRequest) {
  Session session = *Session::create(
      model_of("input x f32 [4]\n input h f32 [4]\n s = Add(x, h)\n y = Neg(s)\n output s, y"),
      {.threads = 1});
  State state = *State::create(session, std::array{Tie{"h", "s"}});
  const Tensor x = ones({4});
  const std::vector<NamedInput> inputs = {{"x", x.view()}};
  for (const bool tied : {false, true}) {
    CallbackMemory allocator;
    const auto status =
        session.run_into(inputs, std::ref(allocator), {.state = &state, .tied_outputs = tied});
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(allocator.order, tied ? (std::vector<int>{0, 1}) : std::vector<int>{1});
    EXPECT_EQ(allocator.tensors[1].view().as<float>()[0], tied ? -2.0F : -1.0F);
    if (!tied) continue;
    EXPECT_EQ(allocator.tensors[0].view().as<float>()[0], 2.0F);
  }
}

}  // namespace
}  // namespace parallax
