// `parallax verify`: every executor, several thread counts and budgets, against the oracle.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "difference.h"
#include "expected.h"
#include "files/pb_objects.h"
#include "inputs/inputs.h"
#include "inputs/state.h"
#include "nan.h"
#include "nan_check.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

// Allowed difference of the fast kernels, and of a delegate that computes in 32 bits, from the
// plain ones, relative to the output's largest magnitude (docs/architecture.md, "The same
// outputs").
constexpr double kKernelTolerance = 1e-3;
// The same for a delegate that stores floats in 16 bits, and for a model that does: the plain
// kernels round every result to them.
constexpr double kHalfTolerance = 2e-2;
// The same for models that are quantised to 8 bits: where a number is rounded to its neighbour,
// what follows is rounded otherwise as well. ONNX Runtime with and without its optimisations
// differs from itself by 5e-2 on YOLOv8n; 1.5 times that is allowed.
constexpr double kQuantisedTolerance = 7.5e-2;

/// A TFLite file says it of tensors, not by operators.
bool has_quantised_weights(const FileReport& file) {
  return file.format == "TFLite" && std::ranges::any_of(file.weights, [](const FileWeights& w) {
           return w.type == "int8" || w.type == "uint8" || w.type == "int4";
         });
}

bool is_quantised(const FileReport& file) {
  return has_quantised_weights(file) ||
         std::ranges::any_of(file.operators, [](const FileOperator& op) {
           return op.name.find("Quantize") != std::string::npos || op.name.starts_with("QLinear") ||
                  op.name.ends_with("Integer");
         });
}

bool has_objects(const Model& model) {
  return std::ranges::any_of(model.inputs(), is_object) ||
         std::ranges::any_of(model.outputs(), is_object);
}

bool is_narrow(DType dtype) {
  return info_of(dtype).kind == DTypeClass::kFloat && info_of(dtype).bits < 32;
}

bool stores_half(const FileReport& file, const Model& model) {
  const auto narrow = [](const TensorInfo& info) { return is_narrow(info.dtype); };
  if (std::ranges::any_of(model.inputs(), narrow) || std::ranges::any_of(model.outputs(), narrow))
    return true;
  return std::ranges::any_of(file.weights, [](const FileWeights& weights) {
    return std::ranges::any_of(kDTypes, [&](const DTypeInfo& type) {
      return type.numpy == weights.type && type.kind == DTypeClass::kFloat && type.bits < 32;
    });
  });
}

double tolerance_of(const Options& options, const Model& model, const Session& session) {
  const auto delegates = session.delegates();
  const auto file = inspect_file(options.model, options.load.section);
  if (file && is_quantised(*file)) return kQuantisedTolerance;
  const bool half = std::ranges::any_of(delegates, &DelegateReport::stores_half) ||
                    (file && stores_half(*file, model));
  return half ? kHalfTolerance : kKernelTolerance;
}

struct Outcome {
  std::vector<Object> outputs;
  std::int64_t peak_bytes = 0;
};

// Reports work that a delegate did not do, which outputs do not show. It may lack memory under a
// budget.
Status check_delegates(const Session& session, bool budgeted) {
  for (DelegateReport& d : session.delegates()) {
    if (budgeted) std::erase_if(d.failures, &DelegateReport::Failure::for_a_while);
    if (d.problem.empty() && d.failures.empty()) continue;
    return tl::unexpected(
        Error{Stage::kRun,
              ErrorCode::kInternal,
              {},
              d.problem.empty()
                  ? fmt::format("delegate '{}' failed at {} regions, the first at node '{}': {}",
                                d.name, d.failures.size(), d.failures[0].node, d.failures[0].reason)
                  : d.problem});
  }
  return {};
}

// On a State of its own: every run begins with the same values.
Result<Outcome> run_once(const Options& given, const Model& model, const SessionOptions& options,
                         const Inputs& inputs) {
  auto session = Session::create(model, options);
  if (!session) return tl::unexpected(session.error());
  auto state = make_state(given, model, *session, inputs);
  if (!state) return tl::unexpected(state.error());
  auto outputs = session->run_objects(inputs.views(), run_options(*state, true));
  if (!outputs) return tl::unexpected(outputs.error());
  if (auto status = check_delegates(*session, options.budget.kind != MemoryBudget::Kind::kNone);
      !status)
    return tl::unexpected(status.error());
  return Outcome{std::move(*outputs), session->peak_arena_bytes()};
}

bool same_bits(std::span<const Object> a_outputs, std::span<const Object> b_outputs) {
  const auto a = tensors_in(a_outputs), b = tensors_in(b_outputs);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::ranges::equal(a[i].strings(), b[i].strings())) return false;
    const TensorView x = a[i].tensor_view(), y = b[i].tensor_view();
    if (!(x.dims == y.dims) || x.bytes.size() != y.bytes.size()) return false;
    if (!x.bytes.empty() && std::memcmp(x.bytes.data(), y.bytes.data(), x.bytes.size()) != 0)
      return false;
  }
  return true;
}

// No budget lets a run make an output that alone exceeds it.
std::int64_t largest_output(const Outcome& outcome) {
  std::int64_t bytes = 0;
  for (const Object& output : outcome.outputs)
    bytes = std::max(bytes, static_cast<std::int64_t>(output.tensor_view().bytes.size()));
  return bytes;
}

std::string budget_text(const MemoryBudget& budget) {
  return budget.kind == MemoryBudget::Kind::kNone ? "none" : format_bytes(budget.bytes);
}

double largest_error(const Outcome& outcome, const Outcome& plain) {
  double error = 0;
  const auto ours = tensors_in(outcome.outputs), theirs = tensors_in(plain.outputs);
  if (ours.size() != theirs.size()) return std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < theirs.size(); ++i)
    if (theirs[i].dtype() != DType::kString)
      error = std::max(error, difference(ours[i].tensor_view(), theirs[i].tensor_view()).relative);
  return error;
}

// Every scheduler, 1, 2, 3 and 8 threads, without a budget and with the tightest that the
// sequential run needs. `error`: becomes the largest against `plain`.
Result<int> verify_schedules(const Options& given, const Model& model, const Inputs& inputs,
                             const Outcome& oracle, const Outcome& plain, Progress& progress,
                             int& runs, double& error) {
  const SessionOptions& common = given.session;  // common to all runs
  int different = 0;
  for (int threads : {1, 2, 3, 8}) {
    std::int64_t tight = 0;
    for (Scheduler scheduler : {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
      for (bool budgeted : {false, true}) {
        SessionOptions options = common;
        options.scheduler = scheduler;
        options.threads = threads;
        if (budgeted) options.budget = MemoryBudget::of_bytes(tight);
        auto outcome = run_once(given, model, options, inputs);
        if (!outcome) return tl::unexpected(outcome.error());
        if (tight == 0) tight = std::max(outcome->peak_bytes, largest_output(oracle));
        // Results of a delegate are compared with a tolerance, others bit for bit.
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
    if (is_object(model.outputs()[i])) continue;
    fmt::print(
        "  {}: bf16 against f32: {}\n", model.outputs()[i].name,
        to_string(difference(reduced.outputs[i].tensor_view(), f32.outputs[i].tensor_view())));
  }
}

// Runs that agree on NaN say little: the numbers are gone.
void print_nan(const Model& model, const Outcome& outcome) {
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    if (is_object(model.outputs()[i])) continue;
    const TensorView view = outcome.outputs[i].tensor_view();
    const std::int64_t nans = count_nan(view);
    if (nans == 0) continue;
    fmt::print("  {}: {} of {} elements are NaN\n", model.outputs()[i].name, nans,
               view.dims.elements());
  }
}

Status check_bits(int different, int runs) {
  if (different == 0) return {};
  return tl::unexpected(
      Error{Stage::kRun,
            ErrorCode::kInternal,
            {},
            fmt::format("{} of {} runs differ from the sequential one", different, runs)});
}

void print_agreement(const Options& options, int different, int runs, double error,
                     double allowed) {
  if (options.session.delegates.empty()) {
    fmt::print(
        "{}: {} of {} runs bit-identical over schedulers, threads and budgets; largest error "
        "against the reference kernels {:.1e}\n",
        options.model, runs - different, runs, error);
  } else {
    fmt::print(
        "{}: {} runs over schedulers, threads and budgets with delegate '{}'; largest error "
        "against the reference kernels {:.1e}, {:.0e} is allowed\n",
        options.model, runs, fmt::join(options.session.delegates, "', '"), error, allowed);
  }
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
  auto oracle = run_once(options, *model, sequential, *inputs);
  if (!oracle) return tl::unexpected(oracle.error());
  progress.step();
  Options as_written = options;
  as_written.runtime.cache.clear();
  as_written.load.disabled_passes = Model::passes();
  auto unfused = load_model(as_written);
  if (!unfused) return tl::unexpected(unfused.error());
  auto plain = run_once(options, *unfused, reference_of(sequential), *inputs);
  if (!plain) return tl::unexpected(plain.error());
  int runs = 0;
  double error = largest_error(*oracle, *plain);
  auto different =
      verify_schedules(options, *model, *inputs, *oracle, *plain, progress, runs, error);
  if (!different) return tl::unexpected(different.error());
  if (precision != Precision::kF32) {
    fmt::print("{}: {} of {} runs bit-identical over schedulers, threads and budgets\n",
               options.model, runs - *different, runs);
    print_precision(*model, *oracle, *plain);
    print_nan(*model, *oracle);
    if (auto status = check_bits(*different, runs); !status) return status;
    if (has_objects(*model)) return {};
    return check_nan(*model, *unfused, sequential, inputs->all_views());
  }
  const double allowed = tolerance_of(options, *model, *session);
  print_agreement(options, *different, runs, error, allowed);
  print_nan(*model, *oracle);
  if (auto status = check_bits(*different, runs); !status) return status;
  if (error > allowed)
    return tl::unexpected(
        Error{Stage::kRun,
              ErrorCode::kInternal,
              {},
              fmt::format(
                  "the fast kernels differ from the reference kernels by {:.1e}, more than {:.0e}",
                  error, allowed)});
  if (has_objects(*model)) return {};
  return check_nan(*model, *unfused, sequential, inputs->all_views());
}

}  // namespace parallax::cli
