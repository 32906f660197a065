// The shapes of docs/decisions/convolutions.md, all tiles on one thread; "work" counts the
// operations of the direct sum.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/cpu_bench_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

struct Shape {
  const char* name;
  Dims x;  ///< channels before the spatial axes
  std::int64_t filters;
  Ints kernel, pads, strides = {}, dilations = {};
  std::int64_t group = 1;
  bool nhwc = false;
};

const Shape kShapes[] = {
    {"3x3_64x56x56", {1, 64, 56, 56}, 64, {3, 3}, {1, 1, 1, 1}},
    {"3x3_128x28x28", {1, 128, 28, 28}, 128, {3, 3}, {1, 1, 1, 1}},
    {"3x3_256x14x14", {1, 256, 14, 14}, 256, {3, 3}, {1, 1, 1, 1}},
    {"3x3_512x7x7", {1, 512, 7, 7}, 512, {3, 3}, {1, 1, 1, 1}},
    {"3x3_stride2_3x224x224", {1, 3, 224, 224}, 32, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"3x3_stride2_64x56x56", {1, 64, 56, 56}, 128, {3, 3}, {1, 1, 1, 1}, {2, 2}},
    {"3x3_stride3_64x60x60", {1, 64, 60, 60}, 64, {3, 3}, {0, 0, 0, 0}, {3, 3}},
    {"1x1_256x56x56", {1, 256, 56, 56}, 64, {1, 1}, {0, 0, 0, 0}},
    {"1x1_stride2_256x56x56", {1, 256, 56, 56}, 512, {1, 1}, {0, 0, 0, 0}, {2, 2}},
    {"5x5_48x27x27", {1, 48, 27, 27}, 128, {5, 5}, {2, 2, 2, 2}},
    {"7x7_stride2_3x224x224", {1, 3, 224, 224}, 64, {7, 7}, {3, 3, 3, 3}, {2, 2}},
    {"7x7_stride3_32x64x64", {1, 32, 64, 64}, 64, {7, 7}, {3, 3, 3, 3}, {3, 3}},
    {"11x11_stride4_3x224x224", {1, 3, 224, 224}, 64, {11, 11}, {2, 2, 2, 2}, {4, 4}},
    {"patches_16_3x224x224", {1, 3, 224, 224}, 384, {16, 16}, {0, 0, 0, 0}, {16, 16}},
    {"patches_4_3x224x224", {1, 3, 224, 224}, 96, {4, 4}, {0, 0, 0, 0}, {4, 4}},
    {"7x7_one_pixel_512x7x7", {1, 512, 7, 7}, 512, {7, 7}, {0, 0, 0, 0}},
    {"dilated2_256x28x28", {1, 256, 28, 28}, 256, {3, 3}, {2, 2, 2, 2}, {}, {2, 2}},
    {"dilated12_256x33x33", {1, 256, 33, 33}, 256, {3, 3}, {12, 12, 12, 12}, {}, {12, 12}},
    {"depthwise_96x56x56", {1, 96, 56, 56}, 96, {3, 3}, {1, 1, 1, 1}, {}, {}, 96},
    {"depthwise_31x31_64x32x32", {1, 64, 32, 32}, 64, {31, 31}, {15, 15, 15, 15}, {}, {}, 64},
    {"two_per_channel_32x40x40", {1, 32, 40, 40}, 64, {3, 3}, {1, 1, 1, 1}, {}, {}, 32},
    {"groups32_128x56x56", {1, 128, 56, 56}, 128, {3, 3}, {1, 1, 1, 1}, {}, {}, 32},
    {"groups32_512x14x14", {1, 512, 14, 14}, 512, {3, 3}, {1, 1, 1, 1}, {}, {}, 32},
    {"groups3_1x1_240x28x28", {1, 240, 28, 28}, 240, {1, 1}, {0, 0, 0, 0}, {}, {}, 3},
    {"line3_80x3000", {1, 80, 3000}, 384, {3}, {1, 1}},
    {"line10_stride5_1x16000", {1, 1, 16000}, 512, {10}, {0, 0}, {5}},
    {"line3_stride2_512x1600", {1, 512, 1600}, 512, {3}, {0, 0}, {2}},
    {"line2_dilated64_64x4000", {1, 64, 4000}, 128, {2}, {64, 0}, {}, {64}},
    {"line128_groups16_768x50", {1, 768, 50}, 768, {128}, {64, 64}, {}, {}, 16},
    {"volume_3x16x112x112", {1, 3, 16, 112, 112}, 64, {3, 3, 3}, {1, 1, 1, 1, 1, 1}},
    {"volume_64x8x28x28", {1, 64, 8, 28, 28}, 64, {3, 3, 3}, {1, 1, 1, 1, 1, 1}},
    {"volume_3x7x7_3x8x112x112", {1, 3, 8, 112, 112}, 64, {3, 7, 7}, {1, 3, 3, 1, 3, 3}, {1, 2, 2}},
    {"volume_depthwise_54x8x28x28",
     {1, 54, 8, 28, 28},
     54,
     {3, 3, 3},
     {1, 1, 1, 1, 1, 1},
     {},
     {},
     54},
    {"nhwc_groups32_128x56x56", {1, 128, 56, 56}, 128, {3, 3}, {1, 1, 1, 1}, {}, {}, 32, true},
    {"nhwc_groups32_512x14x14", {1, 512, 14, 14}, 512, {3, 3}, {1, 1, 1, 1}, {}, {}, 32, true},
    {"nhwc_groups4_256x28x28", {1, 256, 28, 28}, 256, {3, 3}, {1, 1, 1, 1}, {}, {}, 4, true},
    {"nhwc_groups3_1x1_240x28x28", {1, 240, 28, 28}, 240, {1, 1}, {0, 0, 0, 0}, {}, {}, 3, true},
    {"nhwc_3x3_stride2_512x14x14",
     {1, 512, 14, 14},
     512,
     {3, 3},
     {1, 1, 1, 1},
     {2, 2},
     {},
     1,
     true},
    {"nhwc_7x7_one_pixel_512x7x7", {1, 512, 7, 7}, 512, {7, 7}, {0, 0, 0, 0}, {}, {}, 1, true},
    {"nhwc_depthwise_31x31_64x32x32",
     {1, 64, 32, 32},
     64,
     {31, 31},
     {15, 15, 15, 15},
     {},
     {},
     64,
     true},
    {"nhwc_two_per_channel_32x40x40", {1, 32, 40, 40}, 64, {3, 3}, {1, 1, 1, 1}, {}, {}, 32, true},
};

KernelRun run_of(const Shape& shape) {
  KernelRun run;
  run.op = OpKind::kConv;
  Dims x = shape.x, w = {shape.filters, shape.x[1] / shape.group};
  if (shape.nhwc) x = {shape.x[0], shape.x[2], shape.x[3], shape.x[1]};
  for (const std::int64_t taps : shape.kernel) w.push_back(taps);
  run.inputs = test_inputs(random_floats(x, 1, -1, 1), random_floats(w, 2, -1, 1),
                           random_floats({shape.filters}, 3, -1, 1));
  run.constants = 0b110;
  run.attributes = test_attributes({{"layout", std::string(shape.nhwc ? "NHWC" : "NCHW")},
                                    {"pads", shape.pads},
                                    {"group", shape.group}});
  if (!shape.strides.empty()) run.attributes.set("strides", shape.strides);
  if (!shape.dilations.empty()) run.attributes.set("dilations", shape.dilations);
  return run;
}

double operations(const Shape& shape) {
  double product = 2.0 * static_cast<double>(shape.filters * shape.x[1] / shape.group);
  for (std::size_t a = 0; a < shape.kernel.size(); ++a) {
    const std::int64_t stride = shape.strides.empty() ? 1 : shape.strides[a];
    const std::int64_t dilation = shape.dilations.empty() ? 1 : shape.dilations[a];
    const std::int64_t padded =
        shape.x[static_cast<int>(a) + 2] + shape.pads[a] + shape.pads[a + shape.kernel.size()];
    const std::int64_t out = (padded - (shape.kernel[a] - 1) * dilation - 1) / stride + 1;
    product *= static_cast<double>(out * shape.kernel[a]);
  }
  return product;
}

const int kRegistered = [] {
  for (const Shape& shape : kShapes)
    benchmark::RegisterBenchmark(
        ("convolution/" + std::string(shape.name)).c_str(), [&shape](benchmark::State& state) {
          run_bench(state, run_of(shape), KernelLibrary::kCpu, operations(shape));
        });
  return 0;
}();

}  // namespace
}  // namespace parallax
