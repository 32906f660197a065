// Runs each kernel once, on shapes so small that a checker runs them in seconds.
#include <set>
#include <string>
#include <vector>

#include "delegates/opencl/opencl_test_util.h"

namespace parallax::opencl {
namespace {

using Sides = std::vector<std::int64_t>;

Tensor some_bools(const Dims& dims) {
  return test_tensor<bool>(dims,
                           std::vector<bool>(static_cast<std::size_t>(dims.elements()), true));
}
template <class T>
Tensor numbered(const Dims& dims) {
  std::vector<T> elements(static_cast<std::size_t>(dims.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(i * 7 % 11);
  return test_tensor<T>(dims, elements);
}

/// Adds runs for each size of elements.
void add_moves(std::vector<KernelRun>& runs) {
  const auto floats = [](const Dims& dims) { return random_tensor(dims); };
  const auto longs = [](const Dims& dims) { return numbered<std::int64_t>(dims); };
  for (const auto& of :
       std::vector<std::function<Tensor(const Dims&)>>{some_bools, floats, longs}) {
    runs.push_back({OpKind::kTranspose, test_inputs(of({3, 5}))});
    runs.push_back({OpKind::kTile, test_inputs(of({2, 3}), int_tensor({2, 2}))});
    runs.push_back({OpKind::kGather, test_inputs(of({3, 2}), int_tensor({2, -1}))});
    runs.push_back(
        {OpKind::kGather, test_inputs(of({3, 2}), test_tensor<std::int32_t>({2}, {0, -3}))});
  }
  runs.push_back({OpKind::kTranspose, test_inputs(random_tensor({2, 3, 4})),
                  test_attributes({{"perm", Sides{1, 0, 2}}})});  // fours
  runs.push_back({OpKind::kResize,
                  test_inputs(random_tensor({1, 2, 3, 2}), test_tensor<float>({0}, {}),
                              test_tensor<float>({4}, {1, 1, 2, 2})),
                  test_attributes({{"mode", std::string("linear")}})});
  runs.push_back({OpKind::kMul, test_inputs(random_tensor({3, 1}), random_tensor({1, 300}, 2))});
}

void add_rows(std::vector<KernelRun>& runs) {
  const auto axis = test_attributes({{"axis", std::int64_t{1}}});
  runs.push_back({OpKind::kSoftmax, test_inputs(random_tensor({2, 70})), axis});
  runs.push_back({OpKind::kSoftmax, test_inputs(random_tensor({2, 5, 3})), axis});
  runs.push_back({OpKind::kReduceMax, test_inputs(random_tensor({2, 70}), int_tensor({1}))});
  runs.push_back({OpKind::kReduceMean, test_inputs(random_tensor({2, 5, 3}), int_tensor({1}))});
  runs.push_back({OpKind::kLpNormalization, test_inputs(random_tensor({2, 5, 3})), axis});
  runs.push_back({OpKind::kLayerNormalization,
                  test_inputs(random_tensor({3, 70}), random_tensor({70}, 2)), axis});
  runs.push_back(
      {OpKind::kBatchNormalization,
       test_inputs(random_tensor({2, 3, 4}), random_tensor({3}, 2), random_tensor({3}, 3),
                   random_tensor({3}, 4), random_tensor({3}, 5, 0.1F, 2))});
  runs.push_back({OpKind::kArgMax, test_inputs(numbered<float>({3, 5})), axis});
  runs.push_back({OpKind::kArgMax, test_inputs(numbered<std::int32_t>({3, 5})), axis});
  runs.push_back({OpKind::kArgMax, test_inputs(numbered<std::int64_t>({3, 5})), axis});
}

void add_products(std::vector<KernelRun>& runs) {
  const auto pads = test_attributes({{"pads", Sides{1, 1, 1, 1}}});
  const auto window = test_attributes({{"kernel_shape", Sides{2, 2}}, {"strides", Sides{2, 1}}});
  runs.push_back({OpKind::kMatMul, test_inputs(random_tensor({66, 3}), random_tensor({3, 67}, 2))});
  runs.push_back({OpKind::kConv,
                  test_inputs(random_tensor({2, 3, 5, 9}), random_tensor({5, 3, 3, 3}, 2),
                              random_tensor({5}, 3)),
                  pads});
  runs.push_back({OpKind::kConv,
                  test_inputs(random_tensor({1, 3, 5, 6}), random_tensor({3, 1, 3, 3})),
                  test_attributes({{"group", std::int64_t{3}}})});
  runs.push_back({OpKind::kMaxPool, test_inputs(random_tensor({1, 2, 5, 4})), window});
  runs.push_back({OpKind::kAveragePool, test_inputs(random_tensor({1, 2, 5, 4})), window});
  runs.push_back(
      {OpKind::kFusedAttention, test_inputs(random_tensor({2, 5, 4}), random_tensor({2, 4, 67}, 2),
                                            random_tensor({2, 67, 5}, 3), random_tensor({67}, 4))});
}

TEST(OpenClKernels, EachRunsOnSmallShapes) {
  PX_NEEDS_DEVICE();
  launched_kernels().clear();
  std::vector<KernelRun> runs;
  add_moves(runs);
  add_rows(runs);
  add_products(runs);
  for (const KernelRun& run : runs) {
    for (const bool half : {false, true}) {
      RegionOptions options;
      options.half = half;
      expect_as_reference(run, run.inputs[0]->dims().to_string() + (half ? " (16 bits)" : ""),
                          options);
    }
  }
#define PX_CL_KERNEL(text, name, x, y, signature) \
  EXPECT_TRUE(launched_kernels().contains(#name)) << #name;
#include "delegates/opencl/operators.def"
}

}  // namespace
}  // namespace parallax::opencl
