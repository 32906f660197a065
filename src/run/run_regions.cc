// Regions that a device runs: its inputs and outputs, and the handling of its answers.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "bind/bind.h"
#include "run/run.h"

namespace parallax {
namespace {

Error unsupported(const char* why) { return {Stage::kRun, ErrorCode::kUnsupported, {}, why}; }

}  // namespace

bool Run::is_planned(BranchId branch) const { return parallax::is_planned(compiled_, branch); }

bool Run::on_device(BranchId branch) const {
  if (async_steps_ == nullptr || !compiled_.context->branches.region[branch].valid()) return false;
  return host_ == nullptr || is_planned(branch);
}

/// Connects the run to its asynchronous steps. REQUIRES: no branch has run; device_ is not null.
void Run::use_device(std::shared_ptr<AsyncSteps> steps) {
  async_steps_ = std::move(steps);
  substitute_.resize(compiled_.context->branches.branches.size());
  device_bound_.resize(compiled_.context->branches.branches.size());
  // The device may have regions in bodies only.
  if (!compiled_.context->delegation.seconds.empty()) leave_to_cpu();
}

/// Leaves the regions to the CPU that the device does not run this time.
void Run::leave_to_cpu() {
  const BranchGraph& branches = compiled_.context->branches;
  const bool substitute = compiled_.context->delegation.substitute;
  IdVector<RegionId, bool> on_cpu(compiled_.context->delegation.seconds.size(), false);
  for (const BranchId branch : branches.branches.ids()) {
    const RegionId region = branches.region[branch];
    if (!region.valid()) continue;
    std::string why;
    if (substitute) {
      why = options_.regions_on_cpu;
      if (const auto problem = device_->problem(region); why.empty() && problem)
        why = problem->to_string();
    }
    on_cpu[region] = !why.empty() || !on_device(branch);
    if (why.empty()) continue;
    substitute_[branch] = Substitute::kWanted;
    if (options_.trace != nullptr) trace_region(branch, 0, std::move(why));
  }
  device_run_ = device_->begin_run(on_cpu);
}

/// Whether the CPU must run a region as a fallback.
bool Run::is_for_cpu(BranchId branch) const {
  return compiled_.context->delegation.substitute &&
         (!on_device(branch) || substitute_[branch] != Substitute::kNotNeeded);
}

void Run::run_and_wait(BranchId branch, Participant& self) {
  while (!run_branch(branch, self)) {
    async_steps_->wait(deadline(), this);
    if (!is_for_cpu(branch)) return;
  }
}

/// Packs the weights of a region for the CPU, which the device did not need.
void Run::bind_region(BranchId branch) noexcept {
  if (failed()) return;
  try {
    for (const NodeId id : compiled_.context->branches.branches[branch]) {
      Status status = pack(compiled_.nodes[id].code, compiled_.context->packed);
      if (!status) return fail(id, std::move(status).error());
    }
  } catch (...) {
    fail_branch(branch, caught(Stage::kRun));
  }
}

bool Run::begins_anywhere(BranchId branch) const {
  return !failed() && on_device(branch) && !is_for_cpu(branch) && is_planned(branch);
}

bool Run::begin_region(BranchId branch) {
  if (failed()) return false;
  try {
    Status status = check_region();
    if (status && live_) status = live_->begin(first_node(branch));
    if (status) {
      if (options_.trace != nullptr) trace_region(branch, now(), {});
      if (!is_planned(branch)) {
        auto made = ready_region(branch);
        if (!made) {
          decline(branch, std::move(made).error());
          return false;
        }
        device_bound_[branch] = *std::move(made);
      }
      RegionRun region = region_run(branch);
      region.bound = device_bound_[branch];
      return async_steps_->begin(*this, branch, *device_, std::move(region));
    }
    fail_branch(branch, std::move(status).error());
  } catch (...) {
    fail_branch(branch, caught(Stage::kRun));
  }
  return false;
}

/// Checks that a device may begin a region now. Errors: kUnsupported if there is no device; those
/// of the deadline.
Status Run::check_region() const {
  if (async_steps_ == nullptr)
    return tl::unexpected(unsupported("this plan needs a delegate that is not available"));
  return limits_->deadline.time ? check_deadline(limits_->deadline) : Status{};
}

/// Returns a tensor for a device: memory of the caller is copied, once for all regions.
RegionTensor Run::region_tensor(ValueId id) {
  const ValueId root = compiled_.root[id];
  const Storage& storage = program_.storage[root];
  RegionTensor tensor{id, graph().values[id].dtype, dims_of(id), bytes_of(id), storage.space};
  if (storage.staged < 0 || storage.space != MemorySpace::kHost) return tensor;
  tensor.bytes = block_ + storage.staged;
  tensor.space = MemorySpace::kShared;
  const MutexLock lock(staged_mutex_);
  staged_.resize(graph().values.size());
  if (!staged_[root])
    std::memcpy(tensor.bytes, bytes_[root], static_cast<std::size_t>(bytes_of(tensor)));
  staged_[root] = true;
  return tensor;
}

/// Offers values that the CPU has just made to devices, which may copy them before their region
/// begins.
void Run::offer_copies(BranchId branch) {
  try {
    for (const NodeId node : compiled_.context->branches.branches[branch]) {
      for (const ValueId id : graph().nodes[node].outputs) {
        // A tensor whose size only the run determines may be freed before the copy ends.
        if (!id.valid() || program_.storage[id].space != MemorySpace::kShared ||
            program_.storage[id].kind == StorageKind::kRunTime)
          continue;
        const RegionId reader = device_->wants_copy(*device_run_, id);
        if (!reader.valid()) continue;
        async_steps_->begin_copy(*this, reader, *device_, *device_run_, region_tensor(id));
      }
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): the region will copy
  }
}

RegionRun Run::region_run(BranchId branch) {
  const BranchGraph& branches = compiled_.context->branches;
  RegionRun region{branches.region[branch], device_run_, {}, {}};
  IdVector<ValueId, bool> seen(graph().values.size(), false);
  for (const NodeId node : branches.branches[branch]) {
    for (const ValueId id : graph().nodes[node].inputs) {
      if (!id.valid() || seen[id] ||
          program_.storage[compiled_.root[id]].kind == StorageKind::kFixed)
        continue;
      seen[id] = true;
      region.inputs.push_back(region_tensor(id));
    }
    for (const ValueId id : graph().nodes[node].outputs) {
      if (!id.valid()) continue;
      seen[id] = true;  // no other step makes it
      if (compiled_.root[id] == id && program_.storage[id].space == MemorySpace::kShared)
        region.outputs.push_back(region_tensor(id));
    }
  }
  return region;
}

std::int64_t Run::bytes_of(const RegionTensor& tensor) const {
  return parallax::bytes_of(tensor.dtype, tensor.dims).value_or(0);
}

NodeId Run::first_node(BranchId branch) const {
  return compiled_.context->branches.branches[branch].front();
}

void Run::fail_branch(BranchId branch, Error error) noexcept {
  fail(first_node(branch), std::move(error));
}

bool Run::end_region(BranchId branch, Status status) noexcept {
  const auto& nodes = compiled_.context->branches.branches[branch];
  const bool again = !status && compiled_.context->delegation.substitute && !failed();
  if (options_.trace != nullptr) trace_end(branch, status);
  if (again) {
    log_failure(branch, status.error());
    substitute_[branch] = Substitute::kWanted;
    release_results(branch);
    return true;
  }
  if (live_)
    for (const NodeId node : nodes) live_->end(node);
  if (status)
    for (const NodeId node : nodes)
      for (const ValueId root : compiled_.nodes[node].releases) release(root);
  if (!status) fail_branch(branch, std::move(status).error());
  return false;
}

void Run::log_failure(BranchId branch, const Error& error) const noexcept {
  if (options_.log == nullptr) return;
  const RegionId region = compiled_.context->branches.region[branch];
  if (device_ != nullptr && !device_->is_news(region, error)) return;
  try {
    options_.log->warn(fmt::format("the CPU runs the region of node '{}{}': {}",
                                   compiled_.context->delegation.body,
                                   graph().nodes[first_node(branch)].name, error.to_string()));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for a text
  }
}

void Run::cancel() noexcept {
  fail(NodeId{}, cancelled());
  if (async_steps_ != nullptr) async_steps_->abandon(cancelled());
}

}  // namespace parallax
