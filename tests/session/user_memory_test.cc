// Inputs and outputs may lie at any address that their elements can have: runs neither copy them
// nor take memory for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "parallax/session.h"
#include "session/allocations_test_util.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

namespace parallax {
namespace {

/// Tensors of the caller's, `shift` elements behind multiples of 64 bytes.
class UserMemory {
 public:
  explicit UserMemory(std::int64_t shift) : shift_(shift) {}

  MutableTensorView add(DType dtype, const Dims& dims) {
    const std::int64_t bytes = dims.elements() * size_of(dtype), front = shift_ * size_of(dtype);
    blocks_.push_back(*Tensor::allocate(DType::kU8, Dims{front + bytes}));
    return {dtype, dims,
            blocks_.back().mutable_view().bytes.subspan(static_cast<std::size_t>(front))};
  }

 private:
  const std::int64_t shift_;
  std::vector<Tensor> blocks_;
};

void fill(const MutableTensorView& view) {
  for (std::int64_t i = 0; i < view.dims.elements(); ++i) {
    const auto small = static_cast<int>(i * 7 % 11);
    switch (view.dtype) {
      case DType::kF32:
        view.as<float>()[i] = static_cast<float>(small) / 11;
        break;
      case DType::kI64:
        view.as<std::int64_t>()[i] = 1 + small;
        break;
      case DType::kI32:
        view.as<std::int32_t>()[i] = 1 + small;
        break;
      default:
        view.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(small % 2);
    }
  }
}

struct Outcome {
  std::vector<std::vector<std::byte>> outputs;
  std::int64_t arena_bytes = 0;
};

/// Runs of a new session with inputs and outputs `shift` elements behind aligned addresses; the
/// last of them finds no memory at all.
void run_shifted(const Model& model, const std::vector<DimValue>& dims, std::int64_t shift,
                 const SessionOptions& options, Outcome& outcome) {
  auto session = Session::create(model, options);
  ASSERT_TRUE(session) << session.error().to_string();
  const auto shapes = session->input_dims(dims);
  ASSERT_TRUE(shapes) << shapes.error().to_string();
  UserMemory memory(shift);
  std::vector<NamedInput> inputs;
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    const MutableTensorView view = memory.add(model.inputs()[i].dtype, (*shapes)[i]);
    fill(view);
    inputs.push_back({model.inputs()[i].name, view});
  }
  const auto made = session->run(inputs);
  ASSERT_TRUE(made) << made.error().to_string();
  std::vector<MutableTensorView> outputs;
  for (const Tensor& tensor : *made) outputs.push_back(memory.add(tensor.dtype(), tensor.dims()));
#ifdef NDEBUG
  // A thread that takes part for the first time allocates what it keeps, whenever that is.
  constexpr int kRuns = 10;
#else
  constexpr int kRuns = 1;
#endif
  for (int run = 0; run < kRuns; ++run) {
    const Status status = session->run_into(inputs, outputs);
    ASSERT_TRUE(status) << status.error().to_string();
  }
#ifdef NDEBUG  // else, so under the sanitizers too, what watches the arena allocates
  if (options.threads == 1) {
    const FailingAllocations failing(1, Failures::kAllFromThere);
    const Status status = session->run_into(inputs, outputs);
    ASSERT_TRUE(status) << status.error().to_string();
  }
#endif
  for (const MutableTensorView& output : outputs)
    outcome.outputs.emplace_back(output.bytes.begin(), output.bytes.end());
  outcome.arena_bytes = session->peak_arena_bytes();
}

void expect_that_no_address_costs(const Model& model, const std::vector<DimValue>& dims) {
  for (const int threads : {1, 2}) {
    const SessionOptions options{.threads = threads,
                                 .budget = MemoryBudget::of_bytes(std::int64_t{1} << 30)};
    Outcome aligned, shifted;
    run_shifted(model, dims, 0, options, aligned);
    run_shifted(model, dims, 1, options, shifted);
    EXPECT_EQ(shifted.outputs, aligned.outputs);
    EXPECT_EQ(shifted.arena_bytes, aligned.arena_bytes);
  }
}

TEST(UserMemory, CostsNothingAtAnyAddress) {
  expect_that_no_address_costs(model_of(R"(
    symbols batch seq
    input x f32 [batch, seq, 64]
    input ids i64 [seq]
    input keep bool [batch, seq, 64]
    input w f32 [64, 64]
    const rows i64 [2] = [-1, 64]
    p = MatMul(x, w)
    e = Gather(w, ids)
    s = Add(p, e)
    n = Softmax(s)
    t = Transpose(n) {perm = [0, 2, 1]}
    m = MatMul(t, x)
    k = Where(keep, x, n)
    f = Reshape(k, rows)
    r = Relu(x)
    o = Not(keep)
    output m, f, r, o)"),
                               {{"batch", 2}, {"seq", 9}});
}

class UserMemoryOfModels : public testing::TestWithParam<const char*> {};

TEST_P(UserMemoryOfModels, CostsNothingAtAnyAddress) {
  const auto path = unpacked(GetParam());
  if (path.empty()) GTEST_SKIP() << "xz is needed to unpack the model";
  const auto model = Model::load(path);
  ASSERT_TRUE(model) << model.error().to_string();
  std::vector<DimValue> dims;
  for (const std::string& symbol : model->symbols())
    dims.push_back({symbol, symbol == "batch" ? 1 : 9});
  expect_that_no_address_costs(*model, dims);
}

INSTANTIATE_TEST_SUITE_P(Zoo, UserMemoryOfModels, testing::Values("distilbert", "yolov8n"),
                         [](const auto& model) { return std::string(model.param); });

/// A view tells no strides: memory of other than the dense size is refused.
TEST(UserMemory, StridedMemoryIsRefused) {
  auto session = Session::create(model_of(R"(
    input x f32 [2, 3]
    y = Relu(x)
    output y)"),
                                 {.threads = 1});
  ASSERT_TRUE(session);
  UserMemory memory(0);
  MutableTensorView rows = memory.add(DType::kF32, {2, 4});  // the last column is not the tensor's
  rows.dims = {2, 3};
  const std::vector<NamedInput> strided = {{"x", rows}};
  const auto outputs = session->run(strided);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(outputs.error().message, testing::HasSubstr("in 32 bytes, dense it has 24"));

  rows.dims = {2, 4};
  const std::vector<NamedInput> dense = {{"x", memory.add(DType::kF32, {2, 3})}};
  rows.dims = {2, 3};
  const Status status = session->run_into(dense, {&rows, 1});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(status.error().message, testing::HasSubstr("32 bytes, dense it has 24"));
}

}  // namespace
}  // namespace parallax
