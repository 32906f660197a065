// parallax-gains MODEL: one model with more and more of what makes it fast, a line of JSON. From
// plain kernels on one thread, each step adds one thing; the outputs stay the same within the
// tolerance of the kernels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/files.h"
#include "options/parse_command_line.h"
#include "parallax/elements.h"
#include "parallax/planner.h"
#include "parallax/session.h"

namespace parallax {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> dims;
  int threads = 2;
  double seconds = 2;  // that the timed runs of a step take, about
};

// Passes that rewrite nodes into faster ones; the others only remove nodes that compute nothing.
const std::vector<std::string> kFusions = {
    "fuse_conv_bn",        "fuse_silu",         "fuse_gelu",        "fuse_matmul_bias",
    "fuse_activation",     "fuse_pad",          "layout_nhwc",      "fuse_cosine_attention",
    "fuse_attention",      "absorb_transposes", "compose_movement", "fuse_norm_residual",
    "turn_conv_transpose", "fuse_conv_residual"};

struct Step {
  const char* name;
  Kernels kernels;
  bool fused, all_threads;
  Scheduler scheduler;
};
constexpr Step kSteps[] = {
    {"plain", Kernels::kReference, false, false, Scheduler::kSequential},
    {"kernels", Kernels::kBest, false, false, Scheduler::kSequential},
    {"fusions", Kernels::kBest, true, false, Scheduler::kSequential},
    {"tiles", Kernels::kBest, true, true, Scheduler::kSequential},
    {"branches", Kernels::kBest, true, true, Scheduler::kDataflow},
};
constexpr std::size_t kTrialRuns = 10;  // a dataflow session tries both orders first
constexpr std::size_t kFewestRuns = 5, kMaxRuns = 1000;

Result<std::vector<DimValue>> read_dims(const std::vector<std::string>& texts) {
  std::vector<DimValue> dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    try {
      dims.push_back({text.substr(0, equals), std::stoll(text.substr(equals + 1))});
    } catch (const std::exception&) {
      return tl::unexpected(Error{Stage::kFiles, ErrorCode::kInvalidInput, {}, "--dim " + text});
    }
  }
  return dims;
}

void fill(MutableTensorView tensor) {
  const bool floats = info_of(tensor.dtype).kind == DTypeClass::kFloat;
  for (std::int64_t i = 0; i < tensor.dims.elements(); ++i) {
    const auto number = static_cast<float>(floats ? i % 251 : 1 + i % 9);
    write_element(tensor.dtype, floats ? number / 251 : number, tensor.bytes.data(), i);
  }
}

double milliseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

struct Measured {
  double ms = 0;
  std::vector<Tensor> outputs;
};

// The median of the runs that fit into the time, without those of the trial; of a step that is
// slower than that, its one run.
Result<Measured> measure(Session& session, const std::vector<NamedInput>& inputs, double seconds) {
  Measured measured;
  std::vector<double> ms;
  double spent = 0;
  const auto enough = [&] {
    if (ms.empty()) return false;
    if (ms.size() == kMaxRuns || ms.front() > seconds * 1e3) return true;
    return ms.size() > kTrialRuns + kFewestRuns && spent > seconds * 1e3;
  };
  while (!enough()) {
    const auto start = std::chrono::steady_clock::now();
    auto outputs = session.run(inputs);
    ms.push_back(milliseconds(std::chrono::steady_clock::now() - start));
    if (!outputs) return tl::unexpected(outputs.error());
    measured.outputs = std::move(*outputs);
    spent += ms.back();
  }
  if (ms.size() > kTrialRuns) ms.erase(ms.begin(), ms.begin() + kTrialRuns);
  std::ranges::sort(ms);
  measured.ms = ms[ms.size() / 2];
  return measured;
}

// The largest difference of f32 outputs, relative to the output's largest magnitude.
double difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != DType::kF32) continue;
    double most = 0, apart = 0;
    for (std::int64_t k = 0; k < a[i].dims().elements(); ++k) {
      const double x = a[i].view().as<float>()[k], y = b[i].view().as<float>()[k];
      most = std::max(most, std::abs(x));
      apart = std::max(apart, std::abs(x - y));
    }
    worst = std::max(worst, most > 0 ? apart / most : apart);
  }
  return worst;
}

struct Row {
  nlohmann::json json;
  std::vector<Tensor> outputs;
};

Result<Row> measure_step(const Step& step, const Options& options,
                         const std::vector<DimValue>& dims) {
  LoadOptions load;
  if (!step.fused) load.disabled_passes = kFusions;
  auto model = Model::load(options.model, load);
  if (!model) return tl::unexpected(model.error());
  SessionOptions chosen;
  chosen.kernels = step.kernels;
  chosen.scheduler = step.scheduler;
  chosen.threads = step.all_threads ? options.threads : 1;
  auto session = Session::create(*model, chosen);
  if (!session) return tl::unexpected(session.error());
  auto shapes = session->input_dims(dims);
  if (!shapes) return tl::unexpected(shapes.error());
  auto plan = Planner(*session).plan(dims);
  if (!plan) return tl::unexpected(plan.error());
  std::vector<Tensor> tensors;
  std::vector<NamedInput> inputs;
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    auto tensor = Tensor::allocate(model->inputs()[i].dtype, (*shapes)[i]);
    if (!tensor) return tl::unexpected(tensor.error());
    fill(tensor->mutable_view());
    tensors.push_back(std::move(*tensor));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model->inputs()[i].name, tensors[i].view()});
  auto measured = measure(*session, inputs, options.seconds);
  if (!measured) return tl::unexpected(measured.error());
  return Row{{{"step", step.name},
              {"nodes", plan->nodes},
              {"ms", measured->ms},
              {"naive_bytes", plan->arena_bytes.naive},
              {"arena_bytes", plan->arena_bytes.parallax}},
             std::move(measured->outputs)};
}

Status print_steps(const Options& options) {
  auto dims = read_dims(options.dims);
  if (!dims) return tl::unexpected(dims.error());
  nlohmann::json rows = nlohmann::json::array();
  std::vector<Tensor> first;
  for (const Step& step : kSteps) {
    auto row = measure_step(step, options, *dims);
    if (!row) return tl::unexpected(row.error());
    if (first.empty())
      first = std::move(row->outputs);
    else
      row->json["difference"] = difference(first, row->outputs);
    rows.push_back(row->json);
  }
  fmt::print("{}\n", rows.dump());
  return cli::finish_standard_output();
}

int fail(int status, const std::string& message) {
  fmt::print(stderr, "parallax-gains: {}\n", message);
  return status;
}

int run(int argc, char** argv) {
  CLI::App app("Times a model with more and more of what makes it fast.", "parallax-gains");
  Options options;
  app.add_option("model", options.model, "The .onnx or .tflite file")->required();
  app.add_option("--dim", options.dims, "Value of a free dimension, as SYMBOL=N")
      ->allow_extra_args(false);
  app.add_option("--threads", options.threads, "Of the steps that have several (2)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.seconds, "About how long a step is timed (2)");
  if (const auto ended = cli::parse_command_line(app, argc, argv, fail)) return *ended;
  const Status status = print_steps(options);
  return status ? 0 : fail(1, status.error().to_string());
}

}  // namespace
}  // namespace parallax

int main(int argc, char** argv) {
  // A closed pipe, and a file beyond the limit for files, are errors of writing to it.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parallax::run(argc, argv);
  } catch (const std::exception& error) {  // standard output that took only a part, say
    return parallax::fail(1, error.what());
  }
}
