#include "session/session_options.h"

#include <fmt/core.h>

#include <string_view>

#include "base/status.h"
#include "base/user_call.h"
#include "kernels/bf16.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"

namespace parallax {
namespace {

/// The longest time limit: one of years is a mistake.
constexpr double kMaxLimitMs = 1e11;

/// Refuses a number that is no enumerator; `last` is the last one.
template <class Enumeration>
Status check_choice(Enumeration choice, Enumeration last, std::string_view name) {
  if (static_cast<int>(choice) <= static_cast<int>(last)) return {};
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("{} must be 0 to {}, not {}", name, static_cast<int>(last),
                            static_cast<int>(choice)));
}

Status check_precision(const SessionOptions& options) {
  if (options.precision == Precision::kBf16 && options.kernels == Kernels::kReference)
    return refuse(ErrorCode::kInvalidInput, "the reference kernels compute in f32 only");
  if (Session::supports(options.precision)) return {};
  return refuse(ErrorCode::kUnsupported,
                fmt::format("bf16 needs {}, which this CPU does not have; f32 runs everywhere",
                            kBf16InstructionSet));
}

}  // namespace

Status check_options(const SessionOptions& options) {
  PX_RETURN_IF_ERROR(check_choice(options.scheduler, Scheduler::kDataflow, "scheduler"));
  PX_RETURN_IF_ERROR(check_choice(options.budget.kind, MemoryBudget::Kind::kAuto, "budget.kind"));
  PX_RETURN_IF_ERROR(check_choice(options.kernels, Kernels::kReference, "kernels"));
  PX_RETURN_IF_ERROR(check_choice(options.admission, Admission::kPaper, "admission"));
  PX_RETURN_IF_ERROR(check_choice(options.refinement, Refinement::kNone, "refinement"));
  PX_RETURN_IF_ERROR(check_choice(options.precision, Precision::kBf16, "precision"));
  PX_RETURN_IF_ERROR(check_choice(options.offload, Offload::kAll, "offload"));
  PX_RETURN_IF_ERROR(check_choice(options.rates, Rates::kDeclared, "rates"));
  if (options.delegates.empty() && !options.pinned_plan.empty())
    return refuse(ErrorCode::kInvalidInput, "a pinned plan needs a delegate");
  if (options.delegates.size() > 1 && !options.pinned_plan.empty())
    return refuse(ErrorCode::kInvalidInput, "a plan is pinned for one delegate, not for several");
  if (!(options.delegate_time_limit_ms >= 0) || options.delegate_time_limit_ms > kMaxLimitMs)
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("a limit of {} ms for a delegate", options.delegate_time_limit_ms));
  if (options.delegate_memory_bytes < 0)
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("{} bytes of a delegate's memory", options.delegate_memory_bytes));
  if (options.delegates.empty() && options.require_full_delegation)
    return refuse(ErrorCode::kInvalidInput, "full delegation needs a delegate");
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return refuse(
        ErrorCode::kInvalidInput,
        fmt::format("threads must be 0 (all CPUs) to {}, not {}", kMaxThreads, options.threads));
  }
  if (options.budget.kind == MemoryBudget::Kind::kBytes && options.budget.bytes < 0) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("a memory budget of {} bytes", options.budget.bytes));
  }
  if (options.max_loop_trips < 0 || !(options.time_limit_ms >= 0) ||
      options.time_limit_ms > kMaxLimitMs) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("a limit of {} loop trips and {} ms", options.max_loop_trips,
                              options.time_limit_ms));
  }
  return check_precision(options);
}

Status check_options(const PlanOptions& options) {
  PX_RETURN_IF_ERROR(check_choice(options.offload, Offload::kAll, "offload"));
  return check_choice(options.cost_model, CostModel::kMeasured, "cost_model");
}

}  // namespace parallax
