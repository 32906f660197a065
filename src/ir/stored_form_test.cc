#include "ir/stored_form.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ir/charge.h"

namespace parallax {
namespace {

Constant zeros(DType dtype, const Dims& dims) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(*bytes_of(dtype, dims)));
  return make_constant(dtype, dims, bytes);
}

std::vector<std::int64_t> strides_of(const StoredForm& form, int rank) {
  return {form.strides.begin(), form.strides.begin() + rank};
}

TEST(StoredForm, NumbersThatTakeNoMemory) {
  for (const auto& [dtype, has] : std::vector<std::pair<DType, bool>>{{DType::kF32, true},
                                                                      {DType::kF16, true},
                                                                      {DType::kI8, true},
                                                                      {DType::kU8, true},
                                                                      {DType::kF64, false},
                                                                      {DType::kBF16, false},
                                                                      {DType::kI16, false},
                                                                      {DType::kU4, false}}) {
    Constant constant = zeros(dtype, {2, 3, 4});
    const auto form = own_form(constant);
    ASSERT_EQ(form.has_value(), has) << to_string(dtype);
    if (!has) continue;
    EXPECT_EQ(form->source.bytes.data(), constant.bytes.data());
    EXPECT_EQ(strides_of(*form, 3), (std::vector<std::int64_t>{12, 4, 1}));
    const auto quota = std::make_shared<LoadQuota>();
    ASSERT_TRUE(charge(quota, constant));
    EXPECT_FALSE(own_form(constant)) << "a copy that a pass made";
  }
}

TEST(StoredForm, FollowsTransposes) {
  const Dims dims{2, 3, 4};
  const StoredForm form = *own_form(zeros(DType::kI8, dims));
  struct Row {
    std::vector<std::int64_t> perm, strides;
  };
  const Row rows[] = {
      {{}, {1, 4, 12}}, {{0, 2, 1}, {12, 1, 4}}, {{-1, 0, 1}, {1, 12, 4}}, {{0, 1, 2}, {12, 4, 1}}};
  for (const Row& row : rows)
    EXPECT_EQ(strides_of(transposed_form(form, dims, row.perm), 3), row.strides);
  const std::int64_t perm[] = {2, 0, 1};
  const StoredForm once = transposed_form(form, dims, perm);
  EXPECT_EQ(strides_of(transposed_form(once, {4, 2, 3}, perm), 3),
            (std::vector<std::int64_t>{4, 1, 12}));
}

TEST(StoredForm, FollowsReshapesOfElementsInOrder) {
  const Dims dims{2, 3, 4};
  const StoredForm form = *own_form(zeros(DType::kF16, dims));
  const auto flat = reshaped_form(form, dims, {6, 4});
  ASSERT_TRUE(flat);
  EXPECT_EQ(strides_of(*flat, 3), (std::vector<std::int64_t>{4, 1, 0}));
  const StoredForm turned = transposed_form(form, dims, {});
  EXPECT_TRUE(reshaped_form(turned, {4, 3, 2}, {4, 3, 2}));
  EXPECT_FALSE(reshaped_form(turned, {4, 3, 2}, {4, 6}));
}

}  // namespace
}  // namespace parallax
