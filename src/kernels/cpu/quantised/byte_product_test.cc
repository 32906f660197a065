#include "kernels/cpu/quantised/byte_product.h"

#include <string>

#include "kernels/cpu/gemm/byte_loops.h"
#include "kernels/cpu/quantised/byte_product_test_util.h"
#include "ops/params/quantised.h"

namespace parallax {
namespace {

void expect_like_reference(const KernelRun& run, const KernelMaker& make) {
  const auto want = run_kernel_tiles(run, KernelLibrary::kReference);
  const auto got = run_kernel_tiles(run, make);
  ASSERT_TRUE(want) << want.error().to_string();
  ASSERT_TRUE(got) << got.error().to_string();
  const Tensor &a = got->outputs[0], &b = want->outputs[0];
  ASSERT_EQ(a.dims(), b.dims());
  ASSERT_EQ(a.dtype(), b.dtype());
  if (a.dtype() == DType::kF32) return expect_close(a, b, {1e-5, 1e-4});
  if (a.dtype() == DType::kI32) return expect_close(a, b, {});
  for (std::int64_t i = 0; i < a.dims().elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int x = std::to_integer<int>(a.view().bytes[at]);
    const int y = std::to_integer<int>(b.view().bytes[at]);
    const bool is_signed = a.dtype() == DType::kI8;
    const int apart = is_signed ? static_cast<std::int8_t>(x) - static_cast<std::int8_t>(y) : x - y;
    ASSERT_LE(std::abs(apart), 1) << i;
  }
}

class ByteProduct : public testing::TestWithParam<ByteForm> {};

TEST_P(ByteProduct, MatMulIsLikeReference) {
  for (const Dims& shape :
       {Dims{1, 4, 16}, Dims{7, 5, 3}, Dims{50, 64, 100}, Dims{13, 257, 33}, Dims{150, 12, 200}}) {
    SCOPED_TRACE(shape.to_string());
    expect_like_reference(product_run(OpKind::kMatMulInteger, {shape[0], shape[1]},
                                      {shape[1], shape[2]}, shape[2], GetParam()),
                          byte_panels_matmul);
  }
}

TEST_P(ByteProduct, ConvolutionIsLikeReference) {
  const ByteImage images[] = {
      {{1, 9, 11, 3}, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}},
      {{2, 12, 10, 8}, 70, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
      {{1, 8, 8, 20}, 40, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
      {{1, 7, 9, 5}, 10, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
      {{1, 13, 15, 4}, 33, {3, 2}, {2, 1, 0, 1}, {1, 2}, {2, 3}},
      {{1, 5, 4, 6}, 3, {5, 3}, {4, 2, 4, 2}, {1, 1}, {1, 1}},
  };
  for (const ByteImage& image : images) {
    SCOPED_TRACE(image.x.to_string());
    expect_like_reference(image_run(image, 1, GetParam()), byte_convolution);
  }
}

TEST_P(ByteProduct, DepthwiseIsLikeReference) {
  const ByteImage images[] = {
      {{1, 9, 11, 3}, 3, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}},
      {{2, 12, 10, 37}, 37, {5, 3}, {2, 0, 2, 4}, {1, 1}, {1, 2}},
      {{1, 8, 8, 64}, 64, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
      {{1, 4, 3, 20}, 20, {3, 3}, {2, 2, 2, 2}, {1, 2}, {1, 1}},
      {{2, 12, 10, 70}, 70, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
      {{1, 9, 14, 130}, 130, {2, 3}, {0, 1, 1, 1}, {1, 2}, {2, 1}},
      {{1, 6, 70, 5}, 5, {5, 5}, {2, 2, 2, 2}, {1, 1}, {1, 1}},
  };
  for (const ByteImage& image : images) {
    SCOPED_TRACE(image.x.to_string());
    expect_like_reference(image_run(image, image.filters, GetParam()), byte_depthwise);
  }
}

TEST_P(ByteProduct, GroupedIsLikeReference) {
  const struct {
    ByteImage image;
    std::int64_t groups;
  } cases[] = {
      {{{2, 9, 11, 16}, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}}, 2},
      {{{1, 12, 10, 45}, 70, {3, 2}, {1, 0, 1, 1}, {1, 1}, {1, 2}}, 5},
      {{{1, 7, 9, 24}, 6, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}}, 3},
  };
  for (const auto& [image, groups] : cases) {
    SCOPED_TRACE(image.x.to_string());
    expect_like_reference(image_run(image, groups, GetParam()), byte_convolution);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ByteProduct, testing::ValuesIn(kByteForms),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ByteProducts, LookResultsUp) {
  std::vector<std::uint8_t> entries(kByteTableSize);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::uint8_t>(i / 2);
  const Constant table =
      make_constant(DType::kU8, Dims{kByteTableSize}, std::as_bytes(std::span(entries)));
  KernelRun run = product_run(OpKind::kMatMulInteger, {20, 40}, {40, 90}, 90, kByteForms[4]);
  set_param(run.attributes, &ByteTableParams::table, table);
  expect_like_reference(run, byte_panels_matmul);
}

/// Numbers in the middle go to the even one before the zero point, an odd one, is added.
TEST(ByteProducts, RoundBeforeTheZeroPoint) {
  KernelRun run{OpKind::kMatMulInteger,
                test_inputs(test_tensor<std::uint8_t>({5, 1}, {16, 48, 80, 112, 144}),
                            test_tensor<std::int8_t>({1, 3}, {1, -1, 1}), byte_scalar(false, 0),
                            byte_scalar(true, 0), test_tensor<float>({}, {1.0F / 32}),
                            test_tensor<float>({3}, {1, 1, 2}), test_tensor<float>({3}, {0, 0, 3}),
                            test_tensor<float>({}, {1}), byte_scalar(false, 101)),
                {},
                1,
                0b1010};
  const auto got = run_kernel_tiles(run, byte_panels_matmul);
  ASSERT_TRUE(got) << got.error().to_string();
  expect_close(got->outputs[0], run_kernel(run, KernelLibrary::kReference)->front(), {});
  EXPECT_EQ(test_values<std::uint8_t>(got->outputs[0]),
            (std::vector<std::uint8_t>{101, 101, 105, 103, 99, 107, 103, 99, 109, 105, 97, 111, 105,
                                       97, 113}));
}

TEST(ByteProducts, DeclineSeveralZeroPointsOfWeights) {
  KernelRun run = product_run(OpKind::kMatMulInteger, {2, 4}, {4, 4}, 4, kByteForms[0]);
  run.inputs[kProductWZero] = test_tensor<std::int8_t>({4}, {1, 1, 2, 1});
  const auto got = run_kernel_tiles(run, byte_panels_matmul);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnsupported);
}

/// Compares the portable loops and those of this CPU for the extreme values of bytes.
TEST(ByteLoops, SumsAreExact) {
  constexpr std::size_t kRows = 7, kSteps = 9, kColumns = 60, kPadded = 64, kBytes = kSteps * 4;
  std::vector<std::uint8_t> a(kRows * kBytes);
  std::vector<std::int8_t> b(kBytes * kPadded, 0);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % 3 == 0 ? 255 : static_cast<std::uint8_t>(i);
  for (std::size_t k = 0; k < kBytes; ++k)
    for (std::size_t j = 0; j < kColumns; ++j)
      b[(k / 4 * kPadded + j) * 4 + k % 4] =
          j % 2 == 0 ? static_cast<std::int8_t>(-128) : static_cast<std::int8_t>(127 - k * j % 200);
  const Requantise none;
  for (const auto panel_of : {portable_byte_panel, byte_panel}) {
    std::vector<std::int32_t> c(kRows * kColumns, 1), start(kPadded, 5);
    MatMulPanel panel;
    panel.a = a.data();
    panel.lda = panel.depth = kSteps;
    panel.b = b.data();
    panel.ldb = kPadded;
    panel.c = c.data();
    panel.ldc = panel.columns = kColumns;
    panel.rows = kRows;
    panel.bias = start.data();
    panel.requantise = &none;
    panel_of(panel);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) {
        std::int32_t sum = 5;
        for (std::size_t k = 0; k < kBytes; ++k)
          sum += a[i * kBytes + k] * b[(k / 4 * kPadded + j) * 4 + k % 4];
        ASSERT_EQ(c[i * kColumns + j], sum) << i << " " << j;
      }
  }
}

TEST(ByteLoops, LookAllBytesUp) {
  std::vector<std::uint8_t> table(kByteTableSize), x(300), y(300);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i * 7 + 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i);
  look_up_bytes(table.data(), x.data(), y.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], table[x[i]]) << i;
}

TEST(ByteKernels, QuantiseLikeReference) {
  std::vector<float> elements = special_floats();
  for (int i = 0; i < 200; ++i) elements.push_back(static_cast<float>(i) * 0.25F - 20);
  const auto n = static_cast<std::int64_t>(elements.size());
  for (const bool is_signed : {false, true}) {
    const KernelRun run{OpKind::kQuantizeLinear,
                        test_inputs(test_tensor<float>({n}, elements),
                                    test_tensor<float>({}, {0.5F}), byte_scalar(is_signed, 3))};
    expect_close(run_kernel(run, KernelLibrary::kCpu)->front(),
                 run_kernel(run, KernelLibrary::kReference)->front(), {});
    const KernelRun back{OpKind::kDequantizeLinear,
                         test_inputs(random_bytes({77}, is_signed, 1),
                                     test_tensor<float>({}, {0.3F}), byte_scalar(is_signed, 3))};
    expect_close(run_kernel(back, KernelLibrary::kCpu)->front(),
                 run_kernel(back, KernelLibrary::kReference)->front(), {});
  }
}

TEST(ByteKernels, QuantiseDynamicallyLikeReference) {
  for (const std::int64_t n : {1, 77, 300000}) {
    const KernelRun run{OpKind::kDynamicQuantizeLinear, test_inputs(random_floats({n}, 9)), {}, 3};
    const auto got = run_kernel(run, KernelLibrary::kCpu);
    const auto want = run_kernel(run, KernelLibrary::kReference);
    ASSERT_TRUE(got && want);
    for (std::size_t i = 0; i < 3; ++i) expect_close((*got)[i], (*want)[i], {});
  }
}

TEST(ByteKernels, PoolLikeReference) {
  for (const bool is_signed : {false, true}) {
    const KernelRun run{OpKind::kMaxPool, test_inputs(random_bytes({2, 7, 9, 70}, is_signed, 1)),
                        test_attributes({{"layout", std::string("NHWC")},
                                         {"kernel_shape", std::vector<std::int64_t>{5, 3}},
                                         {"pads", std::vector<std::int64_t>{2, 1, 2, 1}},
                                         {"strides", std::vector<std::int64_t>{1, 2}}})};
    expect_close(run_kernel(run, KernelLibrary::kCpu)->front(),
                 run_kernel(run, KernelLibrary::kReference)->front(), {});
  }
}

}  // namespace
}  // namespace parallax
