#include "session/run_admission.h"

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "base/status.h"
#include "run/device.h"

namespace parallax {

RunBudget less(RunBudget budget, std::int64_t kept_by_plans) {
  if (budget.bytes) budget.bytes = *budget.bytes - kept_by_plans;
  return budget;
}

Result<bool> RunAdmission::choose_within(const Binding& binding, const RunBudget& room,
                                         const Deadline& deadline, Wanted& wanted) {
  wanted.program = nullptr;  // its regions hold memory
  PX_ASSIGN(wanted.program, plans_.get(binding, room, false, deadline));
  wanted.spare = 0;
  const auto& device = wanted.program->bound->device;
  if (!spares_ || !room.bytes || device == nullptr || !device->is_used()) return true;
  PX_ASSIGN(const std::int64_t least, plans_.min_bytes(binding, deadline));
  if (wanted.program->bytes > *room.bytes - least) {
    auto smaller = plans_.get(binding, less(room, least), false, deadline);
    if (!smaller && smaller.error().code == ErrorCode::kBudgetExceeded) return false;
    if (!smaller) return tl::unexpected(std::move(smaller).error());
    wanted.program = *std::move(smaller);
  }
  wanted.spare = least;
  return true;
}

Result<bool> RunAdmission::choose(const Binding& binding, const RunBudget& now,
                                  const Deadline& deadline, Wanted& wanted) {
  std::int64_t fixed = 0;
  const auto choice = [&] {
    fixed = account_.memory.fixed_bytes();
    return choose_within(binding, less(now, fixed), deadline, wanted);
  };
  const auto lacks = [&](const Result<bool>& chosen) {
    return fixed > 0 && !chosen && chosen.error().code == ErrorCode::kBudgetExceeded;
  };
  auto chosen = choice();
  while ((lacks(chosen) || (chosen && !*chosen && fixed > 0)) && account_.forget_oldest_regions())
    chosen = choice();
  // If all other runs wait too, a last try finds what they have released before they did.
  for (bool others_wait = false; lacks(chosen);) {
    const std::uint64_t ended = account_.runs.ended();
    account_.forget_regions();
    chosen = choice();
    if (!chosen) wanted.program = nullptr;
    if (others_wait || !lacks(chosen)) break;
    others_wait = !account_.runs.wait_for_end(ended, deadline);
    PX_RETURN_IF_ERROR(check_deadline(deadline));
  }
  return chosen;
}

Result<AdmittedRun> RunAdmission::admit(const Binding& binding, const Deadline& deadline) {
  RunBudget now = read_();
  while (true) {
    Wanted wanted;
    PX_ASSIGN(const bool delegates, choose(binding, now, deadline, wanted));
    PX_RETURN_IF_ERROR(plans_.bind(*wanted.program, deadline));
    PX_RETURN_IF_ERROR(check_deadline(deadline));
    auto admitted = wait(wanted, now, deadline);
    if (admitted) {
      admitted->delegates = delegates;
      return admitted;
    }
    // The budget is smaller, or devices hold more of it, than when the plan was chosen.
    if (admitted.error().code != ErrorCode::kBudgetExceeded) return admitted;
  }
}

Result<AdmittedRun> RunAdmission::admit_again(const Binding& binding, const Deadline& deadline,
                                              RunMemory::Spare spare) {
  if (spare.bytes() == 0) return admit(binding, deadline);
  const RunBudget within{spare.bytes(), read_().parallel};
  Wanted wanted{nullptr, 0, &spare};
  PX_ASSIGN(wanted.program, plans_.get(binding, within, false, deadline));
  PX_RETURN_IF_ERROR(plans_.bind(*wanted.program, deadline));
  PX_RETURN_IF_ERROR(check_deadline(deadline));
  RunBudget now = read_();
  PX_ASSIGN(AdmittedRun admitted, wait(wanted, now, deadline));
  admitted.delegates = false;
  return admitted;
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
  return wait({std::move(program)}, now, deadline);
}

/// Waits for the memory of a plan. `now` is set to the budget as last read.
Result<AdmittedRun> RunAdmission::wait(const Wanted& wanted, RunBudget& now,
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
        // If there is no memory for a reading, the last one is used.
      }
      return less(now, kept).bytes;
    }
  } reading{*this, wanted.program->bytes + wanted.spare, now};
  // It captures so little that std::function allocates nothing.
  const std::function<std::optional<std::int64_t>()> read_again = [&reading] {
    return reading.again();
  };
  RunMemory::Request request;
  request.bytes = wanted.program->bytes;
  request.spare = wanted.spare;
  request.limit = less(now, reading.kept).bytes;
  request.grows = wanted.program->compiled().has_run_time_nodes;
  request.deadline = deadline;
  request.read_limit = &read_again;
  request.source = source_;
  request.from = wanted.from;
  PX_ASSIGN(RunMemory::Lease lease, account_.memory.acquire(std::move(request)));
  // All tasks of the system wait for memory: release blocks that this run does not use.
  if (!now.parallel) account_.memory.trim();
  AdmittedRun admitted{wanted.program, std::move(lease), now, reading.kept};
  admitted.spare = admitted.lease.take_spare();
  return admitted;
}

}  // namespace parallax
