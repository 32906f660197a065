#include "session/run_admission.h"

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "base/status.h"

namespace parallax {

RunBudget less(RunBudget budget, std::int64_t kept_by_plans) {
  if (budget.bytes) budget.bytes = *budget.bytes - kept_by_plans;
  return budget;
}

Result<AdmittedRun> RunAdmission::admit(const Binding& binding, const Deadline& deadline) {
  RunBudget now = read_();
  while (true) {
    PX_ASSIGN(auto program, plans_.get(binding, now, false, deadline));
    PX_RETURN_IF_ERROR(plans_.bind(*program, deadline));
    PX_RETURN_IF_ERROR(check_deadline(deadline));
    const std::int64_t bytes = program->bytes;
    auto admitted = wait(std::move(program), now, deadline);
    const bool has_shrunk = now.bytes && bytes > *now.bytes;
    if (admitted || admitted.error().code != ErrorCode::kBudgetExceeded || !has_shrunk)
      return admitted;
  }
}

Result<AdmittedRun> RunAdmission::admit_smaller(const Binding& binding, const Deadline& deadline,
                                                const Program& before, std::int64_t kept_before) {
  PX_ASSIGN(auto program, plans_.shrink(binding, deadline));
  PX_RETURN_IF_ERROR(plans_.bind(*program, deadline));
  PX_RETURN_IF_ERROR(check_deadline(deadline));
  if (program->bytes >= before.bytes && kept_before == 0)
    return tl::unexpected(Error{Stage::kSession, ErrorCode::kBudgetExceeded, {}, "no more room"});
  RunBudget now = read_();
  account_.make_room(now.bytes.value_or(0), now.bytes);
  return wait(std::move(program), now, deadline);
}

/// `now` becomes what was read last.
Result<AdmittedRun> RunAdmission::wait(std::shared_ptr<const Program> program, RunBudget& now,
                                       const Deadline& deadline) {
  struct Reading {
    RunAdmission& self;
    const std::int64_t bytes;
    RunBudget& now;
    std::int64_t kept = self.account_.make_room(bytes, now.bytes);

    std::optional<std::int64_t> again() {
      try {
        now = self.read_();
        kept = self.account_.make_room(bytes, now.bytes);
      } catch (const std::exception&) {
        // Without memory for a reading the one before holds.
      }
      return less(now, kept).bytes;
    }
  } reading{*this, program->bytes, now};
  // Captures so little that it takes no memory.
  const std::function<std::optional<std::int64_t>()> read_again = [&reading] {
    return reading.again();
  };
  PX_ASSIGN(RunMemory::Lease lease,
            account_.memory.acquire({program->bytes, less(now, reading.kept).bytes,
                                     program->compiled().has_run_time_nodes, deadline, &read_again,
                                     source_}));
  return AdmittedRun{std::move(program), std::move(lease), now, reading.kept};
}

}  // namespace parallax
