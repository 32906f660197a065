// Emits pools and convolutions in NCHW layout, of one to three axes.
#include "kernels/reference/image.h"
#include "delegates/opencl/emit/emitters.h"
#include "ops/params/window.h"

namespace parallax::opencl {
namespace {

std::int32_t axis_size(std::int64_t x) { return static_cast<std::int32_t>(x); }

/// Limits for attributes that are multiplied with sizes: larger ones are not meaningful.
constexpr std::int64_t kMaxWindow = 1 << 20, kMaxReach = 1 << 29;

/// Returns the window with the axes of kernels: depth, height, width.
Result<WindowArgument> window_of(const Emission& e, std::vector<std::int64_t> kernel) {
  const int axes = e.in(0).rank() - 2;
  if (axes < 1 || axes > 3) return not_covered("images have one to three axes");
  if (channels_last(e.node)) return not_covered("images are NCHW");
  const Dims in(e.in(0).span().subspan(2)), out(e.out().span().subspan(2));
  kernel.resize(static_cast<std::size_t>(axes), 1);
  const WindowAxes windows = window_axes(e.node, in, out, kernel);
  WindowArgument result;
  for (int i = 0; i < axes; ++i) {
    const WindowAxis& from = windows[static_cast<std::size_t>(i)];
    for (const std::int64_t x : {from.kernel, from.stride, from.dilation})
      if (x < 1 || x > kMaxWindow) return not_covered("a window of this size");
    if (from.pad_begin < 0 || from.pad_begin > kMaxWindow ||
        (from.kernel - 1) * from.dilation > kMaxReach)
      return not_covered("a window that reaches this far");
    const auto to = static_cast<std::size_t>(i + 3 - axes);
    result.in[to] = axis_size(from.in);
    result.out[to] = axis_size(from.out);
    result.kernel[to] = axis_size(from.kernel);
    result.stride[to] = axis_size(from.stride);
    result.dilation[to] = axis_size(from.dilation);
    result.pad[to] = axis_size(from.pad_begin);
    result.pad_end[to] = axis_size(std::clamp<std::int64_t>(from.pad_end, 0, kMaxWindow));
  }
  return result;
}

std::int64_t product(const std::array<std::int32_t, 3>& sizes) {
  return std::int64_t{sizes[0]} * sizes[1] * sizes[2];
}

Result<ConvolutionArgument> convolution_of(const Emission& e) {
  const Dims& w = e.in(1);
  PX_ASSIGN(const WindowArgument window, window_of(e, {w.begin() + 2, w.end()}));
  ConvolutionArgument s;
  s.in = window.in;
  s.out = window.out;
  s.kernel = window.kernel;
  s.stride = window.stride;
  s.dilation = window.dilation;
  s.pad = window.pad;
  const std::int64_t groups = params_of<ConvParams>(e.node).group;
  if (groups < 1 || groups > w[0] || w[0] % groups != 0 || w[1] * groups != e.in(0)[1])
    return bad_step("channels, filters and groups contradict each other");
  s.groups = axis_size(groups);
  s.channels = axis_size(w[1]);
  s.filters = axis_size(w[0] / groups);
  s.batches = axis_size(e.in(0)[0]);
  return s;
}

/// Returns whether a convolution is a product of its weights and each image.
bool is_product(const ConvolutionArgument& s) {
  return s.groups == 1 && product(s.kernel) == 1 && product(s.stride) == 1 && s.pad[0] == 0 &&
         s.pad[1] == 0 && s.pad[2] == 0;
}

ResultArgument result_of(const Emission& e) {
  ResultArgument result{1, 1, 0, 0, 0, e.finish.then};
  result.has_c = e.has(2) ? 1 : 0;
  result.c_row = 1;
  return result;
}

void launch_product(Emission& e, const ConvolutionArgument& s) {
  const auto positions = static_cast<std::int32_t>(product(s.out));
  ProductArgument p;
  p.m = s.filters;
  p.n = positions;
  p.k = s.channels;
  p.a_row = s.channels;
  p.a_column = 1;
  p.b_row = positions;
  p.b_column = 1;
  p.batches = s.batches;
  p.batch[0] = s.batches;
  p.b_batch[0] = s.channels * positions;
  emit_product(e, p, result_of(e), e.input(1), e.input(0), e.input(2), e.output());
}

}  // namespace

Status emit_conv(Emission& e) {
  if (e.out().elements() == 0) return {};
  PX_ASSIGN(const ConvolutionArgument s, convolution_of(e));
  if (is_product(s)) {
    launch_product(e, s);
    return {};
  }
  const std::vector<Argument> arguments{s,          result_of(e), e.input(0),
                                        e.input(1), e.input(2),   e.output()};
  const auto images = static_cast<std::size_t>(s.batches) * static_cast<std::size_t>(s.groups);
  const ProductSizes& sizes = conv_sizes(e.kernels.tuning());
  if (s.filters < 4) {
    e.launch(KernelId::conv_each, {groups_of(e.out().elements()), 1, 1}, arguments);
  } else if (e.through_local_memory) {
    e.launch(KernelId::conv_tiles,
             {groups_of(product(s.out), sizes.tile), groups_of(s.filters, sizes.tile), images},
             arguments);
  } else {
    const std::int64_t spans = (s.out[2] + 7) / 8;
    e.launch(KernelId::conv_rows,
             {groups_of(spans * s.out[0] * s.out[1], 8), groups_of(s.filters, sizes.rows), images},
             arguments);
  }
  return {};
}

/// MaxPool and AveragePool.
Status emit_pool(Emission& e) {
  const std::int64_t total = e.out().elements();
  if (total == 0) return {};
  PX_ASSIGN(const WindowArgument window,
            window_of(e, params_of<WindowParams>(e.node).kernel_shape));
  const auto count = static_cast<std::int32_t>(total);
  if (e.node.op == OpKind::kMaxPool) {
    const std::int32_t by_column = params_of<MaxPoolParams>(e.node).storage_order ? 1 : 0;
    e.launch(KernelId::max_pool, {groups_of(total), 1, 1},
             {count, window, e.wants(1) ? 1 : 0, by_column, e.input(0), e.output(), e.output(1)});
  } else {
    const std::int32_t pads = params_of<AveragePoolParams>(e.node).count_include_pad ? 1 : 0;
    e.launch(KernelId::average_pool, {groups_of(total), 1, 1},
             {count, window, pads, e.input(0), e.output()});
  }
  return {};
}

Status emit_global_pool(Emission& e) {
  const std::int64_t rows = e.out().elements();
  if (rows == 0) return {};
  const std::int64_t width = count_of(e.in(0), 2, e.in(0).rank());
  constexpr std::int32_t kMean = 1;  // as in rows.cl
  e.launch(KernelId::reduce_group, {static_cast<std::size_t>(rows), 1, 1},
           {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(width), kMean, e.input(0),
            e.output()});
  return {};
}

}  // namespace parallax::opencl
