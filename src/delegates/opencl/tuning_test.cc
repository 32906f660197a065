// Tests kernel sizes: each gives the results of the reference, and a choice is stored.
#include "delegates/opencl/tuning.h"

#include <iterator>
#include <string>
#include <vector>

#include "cache/test_folder.h"
#include "delegates/opencl/opencl_test_util.h"
#include "delegates/opencl/tuner.h"

namespace parallax::opencl {
namespace {

RegionOptions with_sizes(std::uint8_t i, bool half) {
  RegionOptions options;
  options.tuning = {i, i};
  options.half = half;
  return options;
}

TEST(OpenClTuning, EachSizeGivesTheReferencesResults) {
  PX_NEEDS_DEVICE();
  using Numbers = std::vector<std::int64_t>;
  const auto pads = test_attributes({{"pads", Numbers{1, 1, 1, 1}}});
  const KernelRun runs[] = {
      {OpKind::kMatMul, test_inputs(random_tensor({1, 1}), random_tensor({1, 1}, 2))},
      {OpKind::kMatMul, test_inputs(random_tensor({7, 5}), random_tensor({5, 17}, 2))},
      {OpKind::kMatMul, test_inputs(random_tensor({2, 70, 33}), random_tensor({2, 33, 144}, 2))},
      {OpKind::kMatMul, test_inputs(random_tensor({130, 3}), random_tensor({3, 32}, 2))},
      {OpKind::kGemm, test_inputs(random_tensor({9, 20}), random_tensor({9, 33}, 2)),
       test_attributes({{"transA", std::int64_t{1}}})},
      {OpKind::kConv,
       test_inputs(random_tensor({2, 3, 9, 11}), random_tensor({5, 3, 3, 3}, 2),
                   random_tensor({5}, 3)),
       pads},
      {OpKind::kConv, test_inputs(random_tensor({1, 8, 13, 37}), random_tensor({26, 4, 3, 3}, 2)),
       test_attributes({{"group", std::int64_t{2}}, {"strides", Numbers{2, 2}}})},
      {OpKind::kConv, test_inputs(random_tensor({1, 2, 12, 12}), random_tensor({70, 2, 3, 3}, 2)),
       pads},
  };
  for (std::uint8_t i = 0; i < std::size(kProductSizes); ++i) {
    for (const KernelRun& run : runs) {
      for (const bool half : {false, true})
        expect_as_reference(run,
                            "size " + std::to_string(i) + " " + run.inputs[0]->dims().to_string() +
                                (half ? " 16 bits" : ""),
                            with_sizes(i, half));
    }
  }
}

TEST(OpenClTuning, BytesOfAFileAreChecked) {
  const Tuning tuning{1, 3};
  EXPECT_EQ(tuning_of(bytes_of_tuning(tuning)), tuning);
  const std::vector<std::byte> wrong[] = {{},
                                          {std::byte{1}},
                                          {std::byte{1}, std::byte{200}},
                                          {std::byte{200}, std::byte{1}},
                                          std::vector<std::byte>(3)};
  for (const auto& bytes : wrong) EXPECT_FALSE(tuning_of(bytes));
}

class OpenClTuner : public FolderTest {};

TEST_F(OpenClTuner, WithoutTimeTheFirstSizesStay) {
  PX_NEEDS_DEVICE();
  EXPECT_EQ(measured_tuning(test_context(), -1), Tuning{});
}

TEST_F(OpenClTuner, MeasuresOncePerFolder) {
  PX_NEEDS_DEVICE();
  if (under_checker()) GTEST_SKIP() << "a checker takes minutes for what is measured";
  std::vector<std::string> lines;
  const auto log = [&](const std::string& line) { lines.push_back(line); };
  const Tuning first = kept_tuning(test_context(), folder_, log);
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(kept_tuning(test_context(), folder_, log), first);
  EXPECT_EQ(lines.size(), 1U);
}

}  // namespace
}  // namespace parallax::opencl
