#include "kernels/onednn/convolution_tiles.h"
#include "kernels/onednn/onednn_test_util.h"

namespace parallax {
namespace {

struct Case {
  const char* name;
  Dims x;  ///< NCHW
  Dims w;
  std::vector<std::int64_t> strides, dilations, pads;
  std::int64_t group = 1;
  std::string activation = "";
  std::string auto_pad = "NOTSET";
};

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

const std::vector<Case> kCases = {
    {"Pointwise", {1, 8, 9, 7}, {16, 8, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"OddChannels", {1, 3, 11, 13}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"Asymmetric", {1, 4, 10, 11}, {8, 4, 3, 5}, {2, 3}, {1, 1}, {0, 1, 2, 3}},
    {"Dilated", {1, 4, 17, 15}, {8, 4, 3, 3}, {1, 1}, {2, 3}, {2, 3, 2, 3}},
    {"StridedDilated", {1, 4, 20, 21}, {8, 4, 3, 3}, {2, 2}, {2, 1}, {1, 0, 1, 1}},
    {"Floor", {1, 4, 10, 10}, {8, 4, 3, 3}, {4, 4}, {1, 1}, {0, 0, 0, 0}},
    {"Patches", {1, 3, 32, 32}, {24, 3, 4, 4}, {4, 4}, {1, 1}, {0, 0, 0, 0}},
    {"Groups", {1, 8, 9, 9}, {12, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2},
    {"Depthwise", {1, 32, 14, 14}, {32, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 32},
    {"DepthwiseOdd", {1, 10, 9, 9}, {10, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 10},
    {"DepthMultiplier", {1, 6, 9, 9}, {12, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 6},
    {"Batch", {3, 4, 7, 7}, {8, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"OnePixel", {1, 16, 1, 1}, {8, 16, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"SameUpper", {1, 4, 10, 9}, {8, 4, 4, 4}, {3, 2}, {1, 1}, {}, 1, "", "SAME_UPPER"},
    {"SameLower", {1, 4, 10, 9}, {8, 4, 4, 4}, {3, 2}, {1, 1}, {}, 1, "", "SAME_LOWER"},
    {"Valid", {1, 4, 10, 9}, {8, 4, 4, 4}, {3, 2}, {1, 1}, {}, 1, "", "VALID"},
    {"Relu", {1, 8, 9, 9}, {16, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, "Relu"},
    {"Silu", {1, 8, 9, 9}, {16, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, "Silu"},
    {"Sigmoid", {1, 8, 9, 9}, {16, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, "Sigmoid"},
    {"Tanh", {1, 8, 9, 9}, {16, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, "Tanh"},
    {"Gelu", {1, 8, 9, 9}, {16, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, "Gelu"},
    {"ManyTiles", {1, 32, 40, 40}, {64, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, "Silu"},
    {"ManyTilesStrided", {2, 32, 61, 40}, {64, 32, 5, 3}, {2, 1}, {1, 1}, {2, 1, 2, 1}},
    {"OneDimension", {1, 8, 50}, {16, 8, 3}, {1}, {1}, {1, 1}},
    {"OneDimensionStrided", {2, 8, 51}, {16, 8, 3}, {2}, {1}, {1, 0}, 1, "Gelu"},
    {"OneDimensionTiles", {1, 80, 600}, {128, 80, 3}, {1}, {1}, {1, 1}},
};

Dims turned(const Dims& nchw) {
  Dims dims = {nchw[0]};
  for (int i = 2; i < nchw.rank(); ++i) dims.push_back(nchw[i]);
  dims.push_back(nchw[1]);
  return dims;
}

KernelRun run_of(const Case& row, bool nhwc, bool bias) {
  KernelRun run;
  run.op = OpKind::kConv;
  run.inputs = test_inputs(random_tensor(nhwc ? turned(row.x) : row.x, 1), random_tensor(row.w, 2));
  if (bias) run.inputs.emplace_back(random_tensor(Dims{row.w[0]}, 3));
  run.constants = 0b110;
  run.attributes = test_attributes({{"strides", row.strides},
                                    {"dilations", row.dilations},
                                    {"group", row.group},
                                    {"auto_pad", row.auto_pad},
                                    {"layout", std::string(nhwc ? "NHWC" : "NCHW")}});
  if (!row.pads.empty()) run.attributes.set("pads", row.pads);
  run.epilogue = then(row.activation);
  return run;
}

class OneDnnConv : public testing::TestWithParam<Case> {};

TEST_P(OneDnnConv, LikeReference) {
  for (const bool nhwc : {false, true}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(std::string(nhwc ? "NHWC" : "NCHW") + (bias ? " with bias" : ""));
      expect_like_reference(run_of(GetParam(), nhwc, bias));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OneDnnConv, testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(OneDnnConvTiles, BigConvolutionsAreCut) {
  for (const Case& row : kCases) {
    if (std::string(row.name).find("ManyTiles") == std::string::npos) continue;
    EXPECT_GT(expect_like_reference(run_of(row, true, true)), 3) << row.name;
  }
}

TEST(OneDnnConvRefuses, WhatItCannotPack) {
  KernelRun weights_computed = run_of(kCases[0], true, true);
  weights_computed.constants = 0b100;
  KernelRun bias_computed = run_of(kCases[0], true, true);
  bias_computed.constants = 0b010;
  KernelRun empty = run_of({"", {0, 8, 9, 7}, {16, 8, 1, 1}, {1, 1}, {1, 1}, {}}, true, true);
  KernelRun padding_alone =
      run_of({"", {1, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, {5, 5, 5, 5}}, true, false);
  for (const KernelRun* run : {&weights_computed, &bias_computed, &empty, &padding_alone}) {
    EXPECT_TRUE(run_kernel(*run, KernelLibrary::kReference));
    const auto outputs = run_kernel(*run, KernelLibrary::kOneDnn);
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, ErrorCode::kUnsupported);
  }
}

TEST(ConvolutionTiles, RowsCoverTheOutputAndStayInside) {
  ConvolutionShape shape;
  shape.batch = 1;
  shape.in_channels = shape.out_channels = 64;
  shape.in = {37, 20};
  shape.kernel = {5, 1};
  shape.stride = {3, 1};
  shape.dilation = {2, 1};
  shape.pad_begin = {4, 0};
  shape.out = {14, 20};
  for (std::int64_t rows = 1; rows <= 14; ++rows) {
    std::int64_t next = 0;
    for (std::int64_t i = 0; next < 14; ++i) {
      const ConvolutionRows tile = tile_rows(shape, rows, i);
      EXPECT_EQ(tile.out_begin, next);
      EXPECT_GE(tile.out_rows, 1);
      EXPECT_LE(tile.in_begin + tile.in_rows, 37);
      // What the window arithmetic says a slice of this size gives.
      const std::int64_t padded = tile.pad_begin + tile.in_rows + tile.pad_end;
      EXPECT_EQ((padded - shape.extent(0)) / 3 + 1, tile.out_rows);
      next += tile.out_rows;
    }
    EXPECT_EQ(next, 14);
  }
}

}  // namespace
}  // namespace parallax
