// `parallax verify`: every executor, several thread counts and budgets, against the oracle.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "difference.h"
#include "expected.h"
#include "inputs.h"
#include "nan.h"
#include "nan_check.h"
#include "report.h"

namespace parallax::cli {
namespace {

// What the fast kernels, and those of a delegate that computes in 32 bits, may differ from the
// plain ones by, relative to the output's largest magnitude (docs/architecture.md, "The same
// outputs").
constexpr double kKernelTolerance = 1e-3;
// The same for a delegate that stores floats in 16 bits.
constexpr double kHalfTolerance = 2e-2;

double tolerance_of(const Session& session) {
  const auto delegates = session.delegates();
  return std::ranges::any_of(delegates, &DelegateReport::stores_half) ? kHalfTolerance
                                                                      : kKernelTolerance;
}

struct Outcome {
  std::vector<Tensor> outputs;
  std::int64_t peak_bytes = 0;
};

// What a delegate did not do, which its outputs would not show.
Status check_delegates(const Session& session) {
  for (const DelegateReport& d : session.delegates()) {
    if (d.problem.empty() && d.failures.empty()) continue;
    return tl::unexpected(
        Error{Stage::kExecute,
              ErrorCode::kInternal,
              {},
              d.problem.empty()
                  ? fmt::format("delegate '{}' failed at {} regions, the first at node '{}': {}",
                                d.name, d.failures.size(), d.failures[0].node, d.failures[0].reason)
                  : d.problem});
  }
  return {};
}

Result<Outcome> run_once(const Model& model, const SessionOptions& options, const Inputs& inputs) {
  auto session = Session::create(model, options);
  if (!session) return tl::unexpected(session.error());
  auto outputs = session->run(inputs.views());
  if (!outputs) return tl::unexpected(outputs.error());
  if (auto status = check_delegates(*session); !status) return tl::unexpected(status.error());
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

std::string budget_text(const MemoryBudget& budget) {
  return budget.kind == MemoryBudget::Kind::kNone ? "none" : format_bytes(budget.bytes);
}

double largest_error(const Outcome& outcome, const Outcome& plain) {
  double error = 0;
  for (std::size_t i = 0; i < plain.outputs.size(); ++i)
    error =
        std::max(error, difference(outcome.outputs[i].view(), plain.outputs[i].view()).relative);
  return error;
}

// Every scheduler, 1, 2, 3 and 8 threads, without a budget and with the tightest that the
// sequential run needs. `common`: what all runs have in common. `error`: becomes the largest
// against `plain`.
Result<int> verify_schedules(const Model& model, const Inputs& inputs, const SessionOptions& common,
                             const Outcome& oracle, const Outcome& plain, Progress& progress,
                             int& runs, double& error) {
  int different = 0;
  for (int threads : {1, 2, 3, 8}) {
    std::int64_t tight = 0;
    for (Scheduler scheduler : {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
      for (bool budgeted : {false, true}) {
        SessionOptions options = common;
        options.scheduler = scheduler;
        options.threads = threads;
        if (budgeted) options.budget = {MemoryBudget::Kind::kBytes, tight};
        auto outcome = run_once(model, options, inputs);
        if (!outcome) return tl::unexpected(outcome.error());
        if (tight == 0) tight = std::max(outcome->peak_bytes, largest_output(oracle));
        // What a delegate computes has a tolerance, no bits.
        const bool same = !common.delegates.empty() || same_bits(outcome->outputs, oracle.outputs);
        error = std::max(error, largest_error(*outcome, plain));
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

// Prints how far each output is from the f32 one; no limit is known that all models keep to.
void print_precision(const Model& model, const Outcome& reduced, const Outcome& f32) {
  for (std::size_t i = 0; i < f32.outputs.size(); ++i) {
    fmt::print("  {}: bf16 against f32: {}\n", model.outputs()[i].name,
               to_string(difference(reduced.outputs[i].view(), f32.outputs[i].view())));
  }
}

// Runs that agree on NaN say little: the numbers are gone.
void print_nan(const Model& model, const Outcome& outcome) {
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    const TensorView view = outcome.outputs[i].view();
    const std::int64_t nans = count_nan(view);
    if (nans == 0) continue;
    fmt::print("  {}: {} of {} elements are NaN\n", model.outputs()[i].name, nans,
               view.dims.elements());
  }
}

Status check_bits(int different, int runs) {
  if (different == 0) return {};
  return tl::unexpected(
      Error{Stage::kExecute,
            ErrorCode::kInternal,
            {},
            fmt::format("{} of {} runs differ from the sequential one", different, runs)});
}

}  // namespace

Status verify_command(const Options& options) {
  if (!options.expected.empty()) return verify_expected(options);
  auto model = load_model(options);
  if (!model) return tl::unexpected(model.error());
  const Precision precision = options.session.precision;
  SessionOptions sequential = options.session;
  sequential.scheduler = Scheduler::kSequential;
  sequential.threads = 1;
  auto session = Session::create(*model, sequential);
  if (!session) return tl::unexpected(session.error());
  SymbolValues values = symbol_values(options, *model);
  auto inputs = make_inputs(options, *model, *session, values);
  if (!inputs) return tl::unexpected(inputs.error());

  Progress progress("verify", 26);
  auto oracle = run_once(*model, sequential, *inputs);
  if (!oracle) return tl::unexpected(oracle.error());
  progress.step();
  Options as_written = options;
  as_written.runtime.cache.clear();
  as_written.load.disabled_passes = Model::passes();
  auto unfused = load_model(as_written);
  if (!unfused) return tl::unexpected(unfused.error());
  auto plain = run_once(*unfused, reference_of(sequential), *inputs);
  if (!plain) return tl::unexpected(plain.error());
  int runs = 0;
  double error = largest_error(*oracle, *plain);
  auto different =
      verify_schedules(*model, *inputs, options.session, *oracle, *plain, progress, runs, error);
  if (!different) return tl::unexpected(different.error());
  if (precision != Precision::kF32) {
    fmt::print("{}: {} of {} runs bit-identical over schedulers, threads and budgets\n",
               options.model, runs - *different, runs);
    print_precision(*model, *oracle, *plain);
    print_nan(*model, *oracle);
    if (auto status = check_bits(*different, runs); !status) return status;
    return check_nan(*model, *unfused, sequential, inputs->views());
  }
  const double allowed = tolerance_of(*session);
  if (options.session.delegates.empty()) {
    fmt::print(
        "{}: {} of {} runs bit-identical over schedulers, threads and budgets; largest error "
        "against the reference kernels {:.1e}\n",
        options.model, runs - *different, runs, error);
  } else {
    fmt::print(
        "{}: {} runs over schedulers, threads and budgets with delegate '{}'; largest error "
        "against the reference kernels {:.1e}, {:.0e} is allowed\n",
        options.model, runs, fmt::join(options.session.delegates, "', '"), error, allowed);
  }
  print_nan(*model, *oracle);
  if (auto status = check_bits(*different, runs); !status) return status;
  if (error > allowed)
    return tl::unexpected(
        Error{Stage::kExecute,
              ErrorCode::kInternal,
              {},
              fmt::format(
                  "the fast kernels differ from the reference kernels by {:.1e}, more than {:.0e}",
                  error, allowed)});
  return check_nan(*model, *unfused, sequential, inputs->views());
}

}  // namespace parallax::cli
