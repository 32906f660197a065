// `parallax verify`: every executor, several thread counts and budgets, against the oracle.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "inputs.h"
#include "report.h"

namespace parallax::cli {
namespace {

// What the fast kernels may differ from the plain ones by, relative to the output's largest
// magnitude (docs/architecture.md, "The same outputs").
constexpr double kKernelTolerance = 1e-3;

struct Outcome {
  std::vector<Tensor> outputs;
  std::int64_t peak_bytes = 0;
};

Result<Outcome> run_once(const Model& model, const SessionOptions& options, const Inputs& inputs) {
  auto session = Session::create(model, options);
  if (!session) return tl::unexpected(session.error());
  auto outputs = session->run(inputs.views());
  if (!outputs) return tl::unexpected(outputs.error());
  return Outcome{std::move(*outputs), session->peak_arena_bytes()};
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TensorView x = a[i].view(), y = b[i].view();
    if (!(x.dims == y.dims) || x.bytes.size() != y.bytes.size()) return false;
    if (!x.bytes.empty() && std::memcmp(x.bytes.data(), y.bytes.data(), x.bytes.size()) != 0)
      return false;
  }
  return true;
}

// No budget lets a run make an output that alone exceeds it.
std::int64_t largest_output(const Outcome& outcome) {
  std::int64_t bytes = 0;
  for (const Tensor& output : outcome.outputs)
    bytes = std::max(bytes, static_cast<std::int64_t>(output.view().bytes.size()));
  return bytes;
}

// Largest difference relative to the output's largest magnitude; infinite where shapes, integers or
// non-finite places differ.
double worst_error(const TensorView& ours, const TensorView& oracle) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (!(ours.dims == oracle.dims)) return kInfinite;
  if (ours.dtype != DType::kF32) {
    return ours.bytes.empty() ||
                   std::memcmp(ours.bytes.data(), oracle.bytes.data(), ours.bytes.size()) == 0
               ? 0
               : kInfinite;
  }
  double error = 0, scale = 1e-6;
  for (std::int64_t i = 0; i < ours.dims.elements(); ++i) {
    const double a = ours.as<float>()[i], b = oracle.as<float>()[i];
    if (std::isfinite(a) != std::isfinite(b)) return kInfinite;
    if (!std::isfinite(a)) continue;
    error = std::max(error, std::abs(a - b));
    scale = std::max(scale, std::abs(b));
  }
  return error / scale;
}

std::string budget_text(const MemoryBudget& budget) {
  return budget.kind == MemoryBudget::Kind::kNone ? "none" : format_bytes(budget.bytes);
}

// Every scheduler, 1, 2, 3 and 8 threads, without a budget and with the tightest that the
// sequential run needs.
Result<int> verify_schedules(const Model& model, const Inputs& inputs, const Outcome& oracle,
                             Progress& progress, int& runs) {
  int different = 0;
  for (int threads : {1, 2, 3, 8}) {
    std::int64_t tight = 0;
    for (Scheduler scheduler : {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
      for (bool budgeted : {false, true}) {
        SessionOptions options{scheduler, threads, {}, Kernels::kBest};
        if (budgeted) options.budget = {MemoryBudget::Kind::kBytes, tight};
        auto outcome = run_once(model, options, inputs);
        if (!outcome) return tl::unexpected(outcome.error());
        if (tight == 0) tight = std::max(outcome->peak_bytes, largest_output(oracle));
        const bool same = same_bits(outcome->outputs, oracle.outputs);
        const bool kept = !budgeted || outcome->peak_bytes <= tight;
        if (!same || !kept) {
          ++different;
          fmt::print("{:<11} {} threads  budget {:<10}  {}\n", scheduler_name(scheduler), threads,
                     budget_text(options.budget),
                     same ? "took more than the budget" : "DIFFERENT BITS");
        }
        ++runs;
        progress.step();
      }
    }
  }
  return different;
}

}  // namespace

Status verify_command(const Options& options) {
  auto model = Model::load(options.model, options.load);
  if (!model) return tl::unexpected(model.error());
  const CacheWarning warning(*model);
  const SessionOptions sequential{Scheduler::kSequential, 1, {}, Kernels::kBest};
  auto session = Session::create(*model, sequential);
  if (!session) return tl::unexpected(session.error());
  auto values = symbol_values(options, *model);
  if (!values) return tl::unexpected(values.error());
  auto inputs = make_inputs(options, *model, *session, *values);
  if (!inputs) return tl::unexpected(inputs.error());

  Progress progress("verify", 26);
  auto oracle = run_once(*model, sequential, *inputs);
  if (!oracle) return tl::unexpected(oracle.error());
  progress.step();
  int runs = 0;
  auto different = verify_schedules(*model, *inputs, *oracle, progress, runs);
  if (!different) return tl::unexpected(different.error());
  auto plain = run_once(*model, {Scheduler::kSequential, 1, {}, Kernels::kReference}, *inputs);
  if (!plain) return tl::unexpected(plain.error());
  double error = 0;
  for (std::size_t i = 0; i < plain->outputs.size(); ++i)
    error = std::max(error, worst_error(oracle->outputs[i].view(), plain->outputs[i].view()));

  fmt::print(
      "{}: {} of {} runs bit-identical over schedulers, threads and budgets; largest error against "
      "the reference kernels {:.1e}\n",
      options.model, runs - *different, runs, error);
  if (*different > 0)
    return tl::unexpected(
        Error{Stage::kExecute,
              ErrorCode::kInternal,
              {},
              fmt::format("{} of {} runs differ from the sequential one", *different, runs)});
  if (error > kKernelTolerance)
    return tl::unexpected(
        Error{Stage::kExecute,
              ErrorCode::kInternal,
              {},
              fmt::format(
                  "the fast kernels differ from the reference kernels by {:.1e}, more than {:.0e}",
                  error, kKernelTolerance)});
  return {};
}

}  // namespace parallax::cli
