#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor ints(const Ints& elements) {
  return test_tensor<std::int64_t>({static_cast<std::int64_t>(elements.size())}, elements);
}

TEST(CpuTranspose, AgreesWithReferenceForEveryPermutation) {
  for (const Dims& dims : {Dims{2, 3, 5, 7}, Dims{1, 33, 18, 4}, Dims{3, 1, 2, 1}, Dims{2, 0, 3, 1},
                           Dims{1, 3, 150, 170}}) {
    Ints perm = {0, 1, 2, 3};
    do {
      SCOPED_TRACE(dims.to_string() + " " + testing::PrintToString(perm));
      const Attributes attributes = test_attributes({{"perm", perm}});
      expect_same_as_reference(
          {OpKind::kTranspose, test_inputs(random_floats(dims, 1)), attributes});
      if (dims.elements() < 5000) {
        expect_same_as_reference({OpKind::kTranspose,
                                  test_inputs(random_integers<std::int64_t>(dims, 1, -99, 99)),
                                  attributes});
        expect_same_as_reference({OpKind::kTranspose,
                                  test_inputs(random_integers<std::uint8_t>(dims, 1, 0, 99)),
                                  attributes});
      }
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(CpuSpaceBlocks, AgreesWithReferenceInBothOrders) {
  for (const OpKind op : {OpKind::kDepthToSpace, OpKind::kSpaceToDepth}) {
    for (const char* mode : {"DCR", "CRD"}) {
      for (const std::int64_t block : {1, 2, 3}) {
        const Attributes attributes =
            test_attributes({{"mode", std::string(mode)}, {"blocksize", block}});
        for (const Dims& dims : {Dims{2, 36, 6, 12}, Dims{1, 72, 66, 30}, Dims{0, 36, 6, 6}}) {
          SCOPED_TRACE(std::string(to_string(op)) + mode + dims.to_string());
          expect_same_as_reference({op, test_inputs(random_floats(dims, 1)), attributes});
          expect_same_as_reference(
              {op, test_inputs(random_integers<std::uint8_t>(dims, 1, 0, 99)), attributes});
        }
      }
    }
  }
}

TEST(CpuTranspose, ReversesWithoutPermAndTakesScalars) {
  expect_same_as_reference({OpKind::kTranspose, test_inputs(random_floats({4, 5, 6}, 1))});
  expect_same_as_reference({OpKind::kTranspose, test_inputs(random_floats({}, 1))});
  expect_same_as_reference({OpKind::kTranspose, test_inputs(random_floats({700, 300}, 1))});
  expect_same_as_reference({OpKind::kTranspose, test_inputs(random_floats({3, 70001}, 1))});
  expect_same_as_reference({OpKind::kTranspose, test_inputs(random_floats({70001, 3}, 1))});
}

TEST(CpuExpand, AgreesWithReference) {
  for (const auto& [dims, shape] : {std::pair<Dims, Ints>{{3, 1}, {2, 3, 4}},
                                    {{1}, {5}},
                                    {{}, {2, 2}},
                                    {{1, 4, 1}, {3, 1, 70}},
                                    {{2, 1}, {2, 0}},
                                    {{1, 1, 1, 300}, {4, 1, 300, 300}}}) {
    expect_same_as_reference(
        {OpKind::kExpand, test_inputs(random_floats(dims, 1), ints(shape)), {}, 1, 0b10});
    expect_same_as_reference({OpKind::kExpand,
                              test_inputs(random_integers<bool>(dims, 1, 0, 1), ints(shape)),
                              {},
                              1,
                              0b10});
  }
}

TEST(CpuTile, AgreesWithReference) {
  for (const auto& [dims, repeats] : {std::pair<Dims, Ints>{{3, 2}, {2, 3}},
                                      {{1, 5}, {4, 1}},
                                      {{2, 3, 4}, {1, 2, 1}},
                                      {{2, 3}, {0, 1}}})
    expect_same_as_reference(
        {OpKind::kTile, test_inputs(random_floats(dims, 1), ints(repeats)), {}, 1, 0b10});
}

TEST(CpuSlice, AgreesWithReference) {
  struct Case {
    Dims dims;
    Ints starts, ends, axes, steps;
  };
  for (const Case& c :
       {Case{{10, 20}, {1}, {9}, {0}, {1}}, Case{{10, 20}, {-3, 2}, {1000, -2}, {1, 0}, {1, 3}},
        Case{{10, 20}, {100}, {-100}, {1}, {-1}},
        Case{{10, 20}, {-1, 15}, {-11, 2}, {0, 1}, {-2, -5}}, Case{{10, 20}, {5}, {5}, {0}, {1}},
        Case{{4, 6, 300}, {2}, {5}, {1}, {1}}, Case{{4}, {1}, {2}, {0}, {1LL << 62}},
        Case{{0, 3}, {0}, {2}, {1}, {1}}}) {
    SCOPED_TRACE(c.dims.to_string() + testing::PrintToString(c.starts));
    expect_same_as_reference({OpKind::kSlice,
                              test_inputs(random_floats(c.dims, 1), ints(c.starts), ints(c.ends),
                                          ints(c.axes), ints(c.steps)),
                              {},
                              1,
                              0b11110});
    expect_same_as_reference({OpKind::kSlice,
                              test_inputs(random_integers<bool>(c.dims, 1, 0, 1), ints(c.starts),
                                          ints(c.ends), ints(c.axes), ints(c.steps)),
                              {},
                              1,
                              0b11110});
  }
}

TEST(CpuConcatAndSplit, AgreeWithReferenceOnEveryAxis) {
  for (const std::int64_t axis : {0, 1, 2, -1}) {
    const auto dims = [&](std::int64_t size) {
      Dims d{2, 70, 300};
      d[static_cast<int>(axis < 0 ? axis + 3 : axis)] = size;
      return d;
    };
    const Attributes attributes = test_attributes({{"axis", axis}});
    expect_same_as_reference({OpKind::kConcat,
                              test_inputs(random_floats(dims(3), 1), random_floats(dims(0), 2),
                                          random_floats(dims(5), 3)),
                              attributes});
    expect_same_as_reference({OpKind::kConcat,
                              test_inputs(random_integers<bool>(dims(1), 1, 0, 1),
                                          random_integers<bool>(dims(2), 2, 0, 1)),
                              attributes});
    expect_same_as_reference({OpKind::kSplit,
                              test_inputs(random_floats(dims(9), 1), ints({4, 0, 5})), attributes,
                              3, 0b10});
  }
}

TEST(CpuConcatAndSplit, AgreeWithReferenceOnShortRows) {
  const Attributes last = test_attributes({{"axis", std::int64_t{-1}}});
  // Several tiles of rows of 18 elements, whose parts have every length that is copied without a
  // call, others, and none.
  constexpr std::int64_t kRows = 20011;
  expect_same_as_reference({OpKind::kConcat,
                            test_inputs(random_floats({kRows, 1}, 1), random_floats({kRows, 2}, 2),
                                        random_floats({kRows, 0}, 3), random_floats({kRows, 3}, 4),
                                        random_floats({kRows, 4}, 5), random_floats({kRows, 8}, 6)),
                            last});
  expect_same_as_reference({OpKind::kConcat,
                            test_inputs(random_floats({300, 16}, 1), random_floats({300, 21}, 2),
                                        random_floats({300, 5}, 3)),
                            last});
  expect_same_as_reference({OpKind::kSplit,
                            test_inputs(random_floats({kRows, 18}, 1), ints({1, 2, 0, 3, 4, 8})),
                            last, 6, 0b10});
}

TEST(CpuGather, RepeatsIndicesForEachRow) {
  expect_same_as_reference(
      {OpKind::kGather,
       test_inputs(random_floats({700, 90, 2}, 1), random_integers<std::int64_t>({41}, 2, -90, 89)),
       test_attributes({{"axis", std::int64_t{1}}})});
}

TEST(CpuGather, AgreesWithReferenceAndChecksIndices) {
  for (const std::int64_t axis : {0, 1, 2}) {
    const Attributes attributes = test_attributes({{"axis", axis}});
    expect_same_as_reference(
        {OpKind::kGather,
         test_inputs(random_floats({5, 6, 7}, 1), random_integers<std::int64_t>({2, 3}, 2, -5, 4)),
         attributes, 1, 0b1});
    expect_same_as_reference({OpKind::kGather,
                              test_inputs(random_integers<std::uint8_t>({5, 6, 7}, 1, 0, 9),
                                          random_integers<std::int32_t>({}, 2, -5, 4)),
                              attributes});
  }
  expect_same_as_reference(
      {OpKind::kGather,
       test_inputs(random_floats({500, 700}, 1), random_integers<std::int64_t>({400}, 2, 0, 499))});
  for (const std::int64_t index :
       {std::int64_t{5}, std::int64_t{-6}, std::numeric_limits<std::int64_t>::min()}) {
    const auto got =
        run_kernel({OpKind::kGather,
                    test_inputs(random_floats({5, 6}, 1), test_tensor<std::int64_t>({1}, {index}))},
                   KernelLibrary::kCpu);
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code, ErrorCode::kOutOfRange);
  }
}

TEST(CpuPad, AgreesWithReference) {
  for (const auto& [dims, pads] : {std::pair<Dims, Ints>{{3, 4}, {1, 2, 3, 4}},
                                   {{2, 3, 70}, {0, 1, 0, 0, 2, 5}},
                                   {{5}, {0, 0}},
                                   {{2, 3, 4, 5}, {0, 0, 0, 0, 0, 0, 0, 3}},
                                   {{2, 3, 4, 5}, {0, 1, 2, 0, 0, 0, 1, 0}},
                                   {{2, 3, 4, 5}, {1, 0, 2, 0, 0, 0, 0, 0}},
                                   {{2, 90, 80, 8}, {0, 1, 2, 0, 0, 2, 3, 8}},
                                   {{2, 90, 80, 3}, {1, 0, 1, 2, 0, 1, 0, 1}},
                                   {{70, 60, 90}, {0, 3, 5, 1, 0, 7}},
                                   {{4000, 4}, {5, 1, 6, 2}},
                                   {{0, 3}, {1, 0, 1, 1}}}) {
    expect_same_as_reference(
        {OpKind::kPad,
         test_inputs(random_floats(dims, 1), ints(pads), test_tensor<float>({}, {2.5F})),
         {},
         1,
         0b110});
    expect_same_as_reference({OpKind::kPad,
                              test_inputs(random_integers<std::int64_t>(dims, 1, 0, 9), ints(pads)),
                              {},
                              1,
                              0b10});
  }
}

TEST(CpuPad, ShowsElementsAsReference) {
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    for (const auto& [dims, pads] : {std::pair<Dims, Ints>{{3, 4}, {1, 2, 2, 3}},
                                     {{2, 3, 70}, {0, 1, 0, 0, 2, 5}},
                                     {{5}, {4, 3}},
                                     {{2, 3, 4, 5}, {0, 1, 2, 0, 0, 0, 1, 0}}}) {
      SCOPED_TRACE(mode);
      const Attributes attributes = test_attributes({{"mode", std::string(mode)}});
      expect_same_as_reference(
          {OpKind::kPad, test_inputs(random_floats(dims, 1), ints(pads)), attributes, 1, 0b10});
      expect_same_as_reference(
          {OpKind::kPad, test_inputs(random_integers<std::int8_t>(dims, 1, -9, 9), ints(pads)),
           attributes, 1, 0b10});
    }
  }
  // Elements that are cut off first.
  EXPECT_TRUE(cpu_declines({OpKind::kPad, test_inputs(random_floats({4}, 1), ints({-1, 1})),
                            test_attributes({{"mode", std::string("reflect")}}), 1, 0b10}));
}

}  // namespace
}  // namespace parallax
