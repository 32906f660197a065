// Tests products, convolutions, pools and operators over rows against the reference kernels.
#include "delegates/opencl/opencl_test_util.h"

namespace parallax::opencl {
namespace {

TEST(OpenClProducts, MatMul) {
  PX_NEEDS_DEVICE();
  const auto check = [](const Dims& a, const Dims& b, const char* what) {
    expect_as_reference({OpKind::kMatMul, test_inputs(random_tensor(a), random_tensor(b, 2))},
                        what);
  };
  check({3, 5}, {5, 7}, "small");
  check({70, 33}, {33, 65}, "more than a tile");
  check({5}, {5}, "vectors");
  check({5}, {2, 5, 3}, "vector first");
  check({2, 4, 5}, {5}, "vector last");
  check({2, 3, 4, 5}, {5, 6}, "one matrix");
  check({2, 1, 4, 5}, {3, 5, 17}, "broadcast batches");
  check({2, 3, 4, 5}, {2, 3, 5, 16}, "batches");
  check({3, 0}, {0, 2}, "no products");
  check({0, 3}, {3, 2}, "empty");
}

TEST(OpenClProducts, GridsThatADeviceDoesNotTakeWhole) {
  PX_NEEDS_DEVICE();
  RegionOptions few;
  few.most_groups = 2;
  expect_as_reference(
      {OpKind::kMatMul, test_inputs(random_tensor({5, 200, 9}), random_tensor({5, 9, 20}, 2))},
      "five matrices of many rows", few);
  expect_as_reference(
      {OpKind::kConv, test_inputs(random_tensor({3, 8, 5, 5}), random_tensor({144, 4, 3, 3}, 2)),
       test_attributes({{"group", std::int64_t{2}}})},
      "three images of two groups", few);
}

TEST(OpenClProducts, Gemm) {
  PX_NEEDS_DEVICE();
  for (const std::int64_t ta : {0, 1}) {
    for (const std::int64_t tb : {0, 1}) {
      const auto attributes =
          test_attributes({{"transA", ta}, {"transB", tb}, {"alpha", 0.5F}, {"beta", 2.0F}});
      const Dims a = ta != 0 ? Dims{7, 5} : Dims{5, 7}, b = tb != 0 ? Dims{18, 7} : Dims{7, 18};
      for (const Dims& c : {Dims{18}, Dims{5, 1}, Dims{1, 1}})
        expect_as_reference(
            {OpKind::kGemm, test_inputs(random_tensor(a), random_tensor(b, 2), random_tensor(c, 3)),
             attributes},
            c.to_string());
      expect_as_reference(
          {OpKind::kGemm, test_inputs(random_tensor(a), random_tensor(b, 2)), attributes},
          "without c");
    }
  }
}

TEST(OpenClProducts, Conv) {
  PX_NEEDS_DEVICE();
  using Ints = std::vector<std::int64_t>;
  const auto check = [](const Dims& x, const Dims& w, Attributes attributes, const char* what) {
    expect_as_reference(
        {OpKind::kConv, test_inputs(random_tensor(x), random_tensor(w, 2)), attributes}, what);
    expect_as_reference(
        {OpKind::kConv,
         test_inputs(random_tensor(x), random_tensor(w, 2), random_tensor({w[0]}, 3)), attributes},
        what);
  };
  check({2, 3, 9, 11}, {5, 3, 3, 3}, test_attributes({{"pads", Ints{1, 1, 1, 1}}}), "3x3");
  check({1, 3, 20, 37}, {6, 3, 3, 3},
        test_attributes({{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}), "strides");
  check({1, 4, 9, 9}, {4, 4, 3, 2},
        test_attributes({{"dilations", Ints{2, 3}}, {"pads", Ints{2, 0, 1, 4}}}), "dilations");
  check({2, 8, 5, 7}, {9, 8, 1, 1}, {}, "1x1");
  check({1, 6, 7, 7}, {6, 1, 3, 3}, test_attributes({{"group", std::int64_t{6}}}), "depthwise");
  check({2, 6, 7, 7}, {12, 2, 3, 3}, test_attributes({{"group", std::int64_t{3}}}), "groups");
  check({1, 5, 33}, {7, 5, 3}, test_attributes({{"strides", Ints{2}}, {"pads", Ints{1, 1}}}),
        "1-D");
  check({1, 2, 4, 5, 6}, {4, 2, 2, 3, 3}, test_attributes({{"pads", Ints{0, 1, 1, 1, 1, 1}}}),
        "3-D");
  check({1, 3, 8, 8}, {4, 3, 3, 3},
        test_attributes({{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}}),
        "same");
  check({0, 3, 8, 8}, {4, 3, 3, 3}, {}, "no images");
}

TEST(OpenClProducts, Pools) {
  PX_NEEDS_DEVICE();
  using Ints = std::vector<std::int64_t>;
  const auto window = [](Ints kernel, Ints strides, Ints pads) {
    return test_attributes({{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}});
  };
  for (const OpKind op : {OpKind::kMaxPool, OpKind::kAveragePool}) {
    expect_as_reference(
        {op, test_inputs(random_tensor({2, 3, 8, 9})), window({3, 2}, {2, 1}, {1, 1, 1, 0})}, "");
    expect_as_reference({op, test_inputs(random_tensor({1, 2, 7})), window({3}, {3}, {1, 1})},
                        "1-D");
    expect_as_reference({op, test_inputs(random_tensor({1, 2, 4, 5, 6})),
                         window({2, 2, 3}, {2, 2, 2}, {0, 0, 0, 1, 1, 1})},
                        "3-D");
    Attributes ceil = window({3, 3}, {2, 2}, {0, 0, 0, 0});
    ceil.set("ceil_mode", std::int64_t{1});
    expect_as_reference({op, test_inputs(random_tensor({1, 1, 6, 6})), ceil}, "ceil");
  }
  Attributes counted = window({3, 3}, {2, 2}, {1, 1, 1, 1});
  counted.set("count_include_pad", std::int64_t{1});
  expect_as_reference({OpKind::kAveragePool, test_inputs(random_tensor({1, 2, 6, 5})), counted},
                      "counts pads");
  for (const std::int64_t order : {0, 1}) {
    Attributes indexed = window({2, 2}, {2, 2}, {0, 0, 0, 0});
    indexed.set("storage_order", order);
    expect_as_reference({OpKind::kMaxPool, test_inputs(random_tensor({2, 3, 6, 5})), indexed, 2},
                        "indices");
  }
  expect_as_reference({OpKind::kGlobalAveragePool, test_inputs(random_tensor({2, 3, 6, 5}))}, "");
}

TEST(OpenClProducts, SoftmaxAndNorms) {
  PX_NEEDS_DEVICE();
  const auto axis = [](std::int64_t a) { return test_attributes({{"axis", a}}); };
  for (const OpKind op : {OpKind::kSoftmax, OpKind::kLpNormalization}) {
    expect_as_reference({op, test_inputs(random_tensor({3, 70}, 1, -9, 9)), axis(-1)}, "last");
    expect_as_reference({op, test_inputs(random_tensor({2, 16, 50}, 1, -9, 9)), axis(1)}, "middle");
    expect_as_reference({op, test_inputs(random_tensor({2, 0})), axis(1)}, "empty");
    expect_as_reference({op, test_inputs(random_tensor({2000, 7}, 1, -9, 9)), axis(1)},
                        "many short rows");
  }
  for (const OpKind op : {OpKind::kLayerNormalization, OpKind::kRMSNormalization}) {
    const bool biased = op == OpKind::kLayerNormalization;
    KernelRun run{op, test_inputs(random_tensor({2, 3, 50}, 1, 99, 101), random_tensor({50}, 2)),
                  axis(-1)};
    expect_as_reference(run, "");
    expect_as_reference(
        {op, test_inputs(random_tensor({2000, 7}), random_tensor({7}, 2)), axis(-1)},
        "many short rows");
    if (!biased) continue;
    run.inputs.emplace_back(random_tensor({50}, 3));
    run.outputs = 3;
    expect_as_reference(run, "with bias");
    expect_as_reference(
        {op, test_inputs(random_tensor({2, 3, 5}), random_tensor({3, 5}, 2), random_tensor({5}, 3)),
         axis(1)},
        "axis 1");
    expect_as_reference({op, test_inputs(random_tensor({2, 3}), random_tensor({1}, 2)), axis(1)},
                        "one scale");
  }
  expect_as_reference(
      {OpKind::kLayerNormalization,
       test_inputs(random_tensor({2, 40}, 1, -1e30F, 1e30F), random_tensor({40}, 2))},
      "huge");
  expect_as_reference(
      {OpKind::kBatchNormalization,
       test_inputs(random_tensor({2, 3, 4, 5}), random_tensor({3}, 2), random_tensor({3}, 3),
                   random_tensor({3}, 4), random_tensor({3}, 5, 0.1F, 2))},
      "");
}

TEST(OpenClProducts, Reductions) {
  PX_NEEDS_DEVICE();
  for (const OpKind op : {OpKind::kReduceSum, OpKind::kReduceMean, OpKind::kReduceMax,
                          OpKind::kReduceL2, OpKind::kReduceSumSquare}) {
    for (const std::vector<std::int64_t>& axes :
         std::vector<std::vector<std::int64_t>>{{-1}, {0}, {1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
      for (const std::int64_t keep : {0, 1})
        expect_as_reference({op, test_inputs(random_tensor({3, 5, 70}), int_tensor(axes)),
                             test_attributes({{"keepdims", keep}})},
                            "");
    }
    expect_as_reference({op, test_inputs(random_tensor({3, 4}))}, "all");
    expect_as_reference({op, test_inputs(random_tensor({2000, 33}), int_tensor({1}))},
                        "many short rows");
    if (op != OpKind::kReduceMean)
      expect_as_reference({op, test_inputs(random_tensor({3, 0}), int_tensor({1}))}, "of nothing");
    Attributes noop = test_attributes({{"noop_with_empty_axes", std::int64_t{1}}});
    expect_as_reference({op, test_inputs(random_tensor({3, 4})), noop}, "none");
  }
  for (const std::int64_t last : {0, 1}) {
    const auto attributes =
        test_attributes({{"axis", std::int64_t{1}}, {"select_last_index", last}});
    expect_as_reference(
        {OpKind::kArgMax, test_inputs(test_tensor<float>({2, 4}, {1, 3, 3, 2, 0, 0, 0, 0})),
         attributes},
        "");
    expect_as_reference(
        {OpKind::kArgMax, test_inputs(test_tensor<std::int64_t>({2, 2}, {1, 3, 3, 2})), attributes},
        "i64");
  }
}

}  // namespace
}  // namespace parallax::opencl
