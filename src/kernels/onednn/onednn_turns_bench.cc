// Our convolutions beside oneDNN's, in turns on one thread: for each shape the least time of both and
// their ratio.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/onednn/engine.h"
#include "kernels/simd/simd_bench_util.h"

namespace parallax {
namespace {

using dnnl::memory;
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

/// What the library's own kernel has no code for: three spatial axes, one primitive in oneDNN's best
/// layout, the image turned before and after.
Result<std::unique_ptr<Kernel>> onednn_volume(const Shape& shape, const KernelRequest& request) {
  constexpr auto kF32 = memory::data_type::f32;
  const DnnlSingleThread single;
  const auto dims = [](const Dims& d) { return memory::dims(d.span().begin(), d.span().end()); };
  const memory::dims xd = dims(request.inputs[0].dims), yd = dims(request.outputs[0].dims);
  memory::dims wd = dims(request.inputs[1].dims);
  if (shape.group > 1) {
    wd[0] /= shape.group;
    wd.insert(wd.begin(), shape.group);
  }
  const auto any = memory::format_tag::any, plain = memory::format_tag::ncdhw;
  memory::dims strides = {1, 1, 1}, gaps = {0, 0, 0};
  if (!shape.strides.empty()) strides = shape.strides;
  const memory::dims before(shape.pads.begin(), shape.pads.begin() + 3);
  const memory::dims after(shape.pads.begin() + 3, shape.pads.end());
  const auto attributes = dnnl_attributes();
  const memory::desc bias({shape.filters}, kF32, memory::format_tag::x);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      memory::desc(xd, kF32, any), memory::desc(wd, kF32, any), bias, memory::desc(yd, kF32, any),
      strides, gaps, before, after);
  const dnnl::convolution_forward::primitive_desc made(desc, attributes, dnnl_engine());
  const auto convert = [&](const memory::desc& from, const memory::desc& to) {
    const dnnl::reorder::primitive_desc d(dnnl_engine(), from, dnnl_engine(), to, attributes);
    return DnnlPrimitive{dnnl::reorder(d), from, {}, {}, to, d.scratchpad_desc()};
  };
  const memory::desc x(xd, kF32, plain), y(yd, kF32, plain);
  const DnnlPrimitive in = convert(x, made.src_desc()), out = convert(made.dst_desc(), y);
  const DnnlPrimitive conv{
      dnnl::convolution_forward(made), made.src_desc(), made.weights_desc(), bias, made.dst_desc(),
      made.scratchpad_desc()};
  const memory::desc given(
      wd, kF32, shape.group > 1 ? memory::format_tag::goidhw : memory::format_tag::oidhw);
  PX_ASSIGN(auto weights,
            dnnl_pack(request.packed, {request.inputs[1].data, request.inputs[1].bytes()}, given,
                      made.weights_desc()));
  const bool turn_in = made.src_desc() != x, turn_out = made.dst_desc() != y;
  const auto rounded = [](const memory::desc& d) {
    return (static_cast<std::int64_t>(d.get_size()) + 63) / 64 * 64;
  };
  const std::int64_t a = rounded(made.src_desc()), b = rounded(made.dst_desc());
  LambdaKernelOptions options;
  options.scratch_bytes = a + b + (1 << 20) + rounded(made.scratchpad_desc());
  return make_lambda_kernel(options, [=](std::int64_t, const KernelArgs& args) -> Status {
    const DnnlSingleThread one;
    std::byte* const xs = args.scratch.data();
    std::byte* const ys = xs + a;
    std::byte* const pad = ys + b;
    const void* from = args.inputs[0];
    if (turn_in) {
      PX_RETURN_IF_ERROR(dnnl_execute(in, {args.inputs[0], nullptr, nullptr, xs, pad}));
      from = xs;
    }
    void* const to = turn_out ? ys : args.outputs[0];
    PX_RETURN_IF_ERROR(dnnl_execute(conv, {from, weights->data(), args.inputs[2], to, pad}));
    if (!turn_out) return {};
    return dnnl_execute(out, {ys, nullptr, nullptr, args.outputs[0], pad});
  });
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

using Kernels = std::vector<std::unique_ptr<BenchKernel>>;

/// Microseconds of one run of all.
double time_of(const Kernels& kernels) {
  const double begin = now();
  for (const auto& kernel : kernels) kernel->run();
  return now() - begin;
}

KernelRun transpose_run(const Dims& x, std::vector<std::int64_t> perm) {
  return {OpKind::kTranspose, test_inputs(random_floats(x, 1)),
          test_attributes({{"perm", std::move(perm)}})};
}

/// Our kernels of a shape: where the layout pass turns a convolution alone to NHWC, with transposes.
Kernels our_kernels(const Shape& shape) {
  const auto make = [](const KernelRequest& request) {
    return test_detail::make_of(request, KernelLibrary::kSimd);
  };
  Kernels kernels;
  const bool turned = !shape.nhwc && shape.kernel == Ints{3, 3} && shape.strides.empty() &&
                      shape.dilations.empty() && shape.group == 1;
  if (turned)
    kernels.push_back(std::make_unique<BenchKernel>(transpose_run(shape.x, {0, 2, 3, 1}), make));
  Shape own = shape;
  own.nhwc = own.nhwc || turned;
  kernels.push_back(std::make_unique<BenchKernel>(run_of(own), make));
  const Dims y = {1, shape.x[2], shape.x[3], shape.filters};
  if (turned)
    kernels.push_back(std::make_unique<BenchKernel>(transpose_run(y, {0, 3, 1, 2}), make));
  return kernels;
}

void turns(benchmark::State& state, const Shape& shape) {
  const Kernels ours = our_kernels(shape);
  Kernels theirs;
  theirs.push_back(
      std::make_unique<BenchKernel>(run_of(shape), [&shape](const KernelRequest& request) {
        if (shape.x.rank() == 5) return onednn_volume(shape, request);
        return test_detail::make_of(request, KernelLibrary::kOneDnn);
      }));
  for (const auto& kernel : ours)
    if (!*kernel) return state.SkipWithError("declined");
  if (!*theirs[0]) return state.SkipWithError("oneDNN declines");
  double least_ours = 1e30, least_theirs = 1e30;
  for (auto _ : state) {
    double spent = 0;
    for (int turn = 0; turn < 20 || (spent < 300000 && turn < 2000); ++turn) {
      const double a = time_of(ours), b = time_of(theirs);
      if (turn < 2) continue;
      least_ours = std::min(least_ours, a);
      least_theirs = std::min(least_theirs, b);
      spent += a + b;
    }
  }
  state.counters["ours_us"] = least_ours;
  state.counters["onednn_us"] = least_theirs;
  state.counters["ratio"] = least_ours / least_theirs;
  state.counters["tiles"] = static_cast<double>(ours[ours.size() / 2]->tiles());
}

const int kRegistered = [] {
  for (const Shape& shape : kShapes)
    benchmark::RegisterBenchmark(("turns/" + std::string(shape.name)).c_str(),
                                 [&shape](benchmark::State& state) { turns(state, shape); })
        ->Iterations(1);
  return 0;
}();

}  // namespace
}  // namespace parallax
