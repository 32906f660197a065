#include "kernels/cpu/convolution/filters.h"

#include <cstring>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

/// Returns the filters as a file of TFLite has them: [filters, kernel..., channels], or [1,
/// kernel..., filters] if each has one channel.
StoredForm filters_in_file(const Tensor& w) {
  const Dims& dims = w.dims();
  const int rank = dims.rank();
  std::vector<int> order = {dims[1] == 1 ? 1 : 0};  // axes of `w`, outermost first
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1 - order[0]);
  Dims stored;
  std::vector<std::int64_t> perm(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    stored.push_back(dims[order[i]]);
    perm[to_size(order[i])] = static_cast<std::int64_t>(i);
  }
  const StoredForm form = transposed_form(
      *own_form(make_constant(DType::kF32, stored, std::vector<std::byte>(w.view().bytes.size()))),
      stored, perm);
  // Writes through the form: element i of each axis is i strides behind the first.
  std::vector<float> elements(to_size(dims.elements()));
  const std::vector<float> given = test_values<float>(w);
  for (std::int64_t i = 0; i < dims.elements(); ++i) {
    std::int64_t rest = i, at = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += rest % dims[axis] * form.stride(axis);
      rest /= dims[axis];
    }
    elements[to_size(at)] = given[to_size(i)];
  }
  const Constant constant = make_constant(DType::kF32, stored, std::as_bytes(std::span(elements)));
  return transposed_form(*own_form(constant), stored, perm);
}

const std::vector<ConvolutionCase> kFileCases = {
    {"Pointwise", {1, 9, 7, 40}, 70, {1, 1}, {0, 0, 0, 0}},
    {"Line", {2, 51, 19}, 37, {3}, {1, 1}},
    {"Stride", {1, 20, 20, 48}, 70, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"Dilated", {1, 9, 9, 8}, 8, {2, 2}, {1, 1, 1, 1}, {}, {2, 2}},
    {"Winograd", {1, 20, 20, 64}, 70, {3, 3}, {1, 1, 1, 1}},
    {"WinogradLine", {1, 1, 200, 64}, 70, {1, 3}, {0, 1, 0, 1}},
    {"Depthwise", {1, 12, 12, 40}, 40, {3, 5}, {1, 1, 1, 1}, {}, {}, 40},
};

class FiltersInFile : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(FiltersInFile, ArePackedFromThere) {
  const KernelRun run = convolution_run(GetParam(), true, "Relu");
  const auto stored = run_kernel_tiles(run, make_with_stored(filters_in_file(*run.inputs[1])));
  const auto computed = run_kernel_tiles(run, KernelLibrary::kCpu);
  ASSERT_TRUE(stored && computed);
  EXPECT_EQ(test_values<float>(stored->outputs[0]), test_values<float>(computed->outputs[0]));
}

INSTANTIATE_TEST_SUITE_P(Cases, FiltersInFile, testing::ValuesIn(kFileCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(FiltersInFile, TapsAtUnequalDistancesAreReadFromMemory) {
  // Kernel axes the other way round: H follows W.
  const Tensor w = random_floats({2, 3, 4, 5}, 1, -1, 1);
  const Constant constant = make_constant(DType::kF32, {2, 3, 5, 4}, w.view().bytes);
  const std::int64_t perm[] = {0, 1, 3, 2};
  TensorDesc desc;
  desc.dims = w.dims();
  desc.data = w.view().bytes.data();
  desc.stored =
      std::make_shared<const StoredForm>(transposed_form(*own_form(constant), constant.dims, perm));
  const Filters filters = filters_of(desc);
  EXPECT_EQ(filters.data, desc.data);
  EXPECT_TRUE(filters.instead().empty());
}

}  // namespace
}  // namespace parallax
