#include "delegates/opencl/tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "base/status.h"
#include "delegates/opencl/device/program_cache.h"
#include "delegates/opencl/region.h"
#include "ir/text/text.h"
#include "ops/infer.h"

namespace parallax::opencl {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A choice must be that much faster than the best so far: others may use the device.
constexpr double kWorthwhile = 0.95;
constexpr int kRuns = 5;

/// Returns a graph that runs long enough to be measured in spite of the launch overhead.
std::string product_text(bool is_cpu) {
  return fmt::format("input x f32 [{0}, {0}]\ninput w f32 [{0}, {0}]\ny = MatMul(x, w)\noutput y\n",
                     is_cpu ? 384 : 1536);
}
std::string convolution_text(bool is_cpu) {
  return fmt::format(
      "input x f32 [1, {0}, {1}, {1}]\ninput w f32 [{0}, {0}, 3, 3]\n"
      "y = Conv(x, w) {{pads = [1, 1, 1, 1]}}\noutput y\n",
      is_cpu ? 64 : 128, is_cpu ? 40 : 96);
}

Result<double> seconds_of_run(Binding& binding, std::span<const BufferPart> inputs,
                              std::span<const BufferPart> outputs) {
  std::promise<Status> ended;
  const auto begin = Clock::now();
  binding.run(inputs, outputs, [&](Status status) { ended.set_value(std::move(status)); });
  PX_RETURN_IF_ERROR(ended.get_future().get());
  return seconds_since(begin);
}

/// Returns the time of the fastest run of a graph.
Result<double> seconds_with(const std::shared_ptr<ClContext>& context, const Graph& graph,
                            const Tuning& tuning) {
  RegionOptions options;
  options.tuning = tuning;
  PX_ASSIGN(const auto region, Region::compile(context, graph, options));
  std::vector<TensorDesc> descs;
  for (const Value& value : graph.values) {
    TensorDesc desc{true, value.dtype, {}, nullptr};
    for (const Expr& dim : value.shape) desc.dims.push_back(dim.constant().value_or(0));
    descs.push_back(desc);
  }
  PX_ASSIGN(const auto binding, Region::bind(region, descs));
  std::vector<OwnedBuffer> buffers;
  std::vector<BufferPart> inputs, outputs;
  for (auto [values, parts] : {std::pair(&graph.inputs, &inputs), {&graph.outputs, &outputs}}) {
    for (const ValueId id : *values) {
      const TensorDesc& desc = descs[static_cast<std::size_t>(id.value)];
      const std::vector<float> ones(static_cast<std::size_t>(desc.elements()), 1.0F);
      PX_ASSIGN(OwnedBuffer buffer, context->buffer(desc.bytes(), ones.data()));
      parts->push_back({buffer.get(), 0, nullptr});
      buffers.push_back(std::move(buffer));
    }
  }
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRuns; ++i) {
    PX_ASSIGN(const double seconds, seconds_of_run(*binding, inputs, outputs));
    fastest = std::min(fastest, seconds);
  }
  return fastest;
}

Graph graph_to_measure(const std::string& text) {
  auto graph = parse_graph(text);
  return graph && infer_graph(*graph) ? std::move(*graph) : Graph();
}

/// One kind of kernel: its index in a Tuning, and what is measured.
struct Question {
  std::uint8_t Tuning::*choice;
  Graph graph;
  double fastest = std::numeric_limits<double>::infinity();
};

}  // namespace

Tuning measured_tuning(const std::shared_ptr<ClContext>& context, double limit_seconds) {
  const auto begin = Clock::now();
  const bool is_cpu = context->device().is_cpu;
  Question questions[] = {{&Tuning::matmul, graph_to_measure(product_text(is_cpu))},
                          {&Tuning::conv, graph_to_measure(convolution_text(is_cpu))}};
  Tuning best;
  for (std::size_t i = 0; i < std::size(kProductSizes); ++i) {
    for (Question& question : questions) {
      if (i > 0 && seconds_since(begin) > limit_seconds) return best;
      Tuning candidate;
      candidate.*question.choice = static_cast<std::uint8_t>(i);
      const auto seconds = seconds_with(context, question.graph, candidate);
      if (!seconds || *seconds > question.fastest * kWorthwhile) continue;
      question.fastest = *seconds;
      best.*question.choice = candidate.*question.choice;
    }
  }
  return best;
}

Tuning kept_tuning(const std::shared_ptr<ClContext>& context, const std::filesystem::path& folder,
                   const std::function<void(const std::string&)>& log) {
  // Other kernels or sizes are another question.
  std::string asked = "sizes of kernels\n";
  for (std::size_t i = 0; i < std::size(kProductSizes); ++i) {
    const auto choice = static_cast<std::uint8_t>(i);
    for (const KernelId id : {KernelId::matmul_rows, KernelId::conv_rows})
      asked += KernelSpecs({choice, choice})[id].source;
  }
  const auto file = program_file(folder, context->device().fingerprint(), asked);
  if (const auto kept = read_program(file)) {
    if (const auto tuning = tuning_of(*kept)) return *tuning;
  }
  const auto begin = Clock::now();
  const Tuning tuning = measured_tuning(context);
  write_program(file, bytes_of_tuning(tuning));
  const ProductSizes &matmul = matmul_sizes(tuning), &conv = conv_sizes(tuning);
  log(
      fmt::format("opencl: sizes of kernels measured in {:.1f} s: products {} rows, tiles of {}; "
                  "convolutions {} filters, tiles of {}",
                  seconds_since(begin), matmul.rows, matmul.tile, conv.rows, conv.tile));
  return tuning;
}

}  // namespace parallax::opencl
