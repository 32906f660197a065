// The regions that a device runs: what it is given, and what becomes of its answers.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "bind/bind.h"
#include "run/run.h"

namespace parallax {
namespace {

Error unsupported(const char* why) { return {Stage::kExecute, ErrorCode::kUnsupported, {}, why}; }

}  // namespace

/// Whether shapes are known before the run.
bool Run::is_planned(BranchId branch) const {
  return std::ranges::all_of(compiled_.context->branches.branches[branch], [&](NodeId id) {
    return compiled_.nodes[id].role == NodeRole::kDelegated;
  });
}

bool Run::on_device(BranchId branch) const {
  const GraphContext& context = *compiled_.context;
  if (outside_ == nullptr || !context.branches.region[branch].valid()) return false;
  return !context.delegation.substitute || is_planned(branch);
}

/// Regions that the device does not run this time. REQUIRES: called before any branch runs.
void Run::leave_to_cpu() {
  const BranchGraph& branches = compiled_.context->branches;
  if (!compiled_.context->delegation.substitute) return;
  for (const BranchId branch : branches.branches.ids()) {
    if (!branches.region[branch].valid()) continue;
    std::string why = options_.regions_on_cpu;
    if (why.empty()) {
      const std::optional<Error> problem = options_.device->problem(branches.region[branch]);
      if (!problem) continue;
      why = problem->to_string();
    }
    substitute_[branch] = Substitute::kWanted;
    if (options_.trace == nullptr) continue;
    const MutexLock lock(mutex_);
    region_events_.push_back({branches.region[branch].value, branch.value, 0, 0, std::move(why)});
  }
}

/// Of a region.
bool Run::is_for_cpu(BranchId branch) const {
  return compiled_.context->delegation.substitute &&
         (!on_device(branch) || substitute_[branch] != Substitute::kNotNeeded);
}

void Run::run_and_wait(BranchId branch, Participant& self) {
  while (!run_branch(branch, self)) {
    outside_->wait(deadline());
    if (!is_for_cpu(branch)) return;
  }
}

/// Packs what a device in the CPU's place does not need.
void Run::bind_region(BranchId branch) noexcept {
  if (failed()) return;
  try {
    for (const NodeId id : compiled_.context->branches.branches[branch]) {
      Status status = pack(compiled_.nodes[id].code, compiled_.context->packed);
      if (!status) return fail(id, std::move(status).error());
    }
  } catch (...) {
    fail_branch(branch, caught(Stage::kExecute));
  }
}

/// True where the device has begun; where not, the CPU is to run the region or the run has failed.
bool Run::begin_region(BranchId branch) {
  if (failed()) return false;
  try {
    Status status = check_region(branch);
    if (status && live_) status = live_->begin(first_node(branch));
    if (status) {
      if (options_.trace != nullptr) trace_begin(branch);
      RegionRun region = region_run(branch);
      auto copies = move_to_device(region);
      if (copies)
        return outside_->begin(branch, *options_.device, std::move(region), *std::move(copies));
      (void)end_region(branch, tl::unexpected(std::move(copies).error()));
      return false;
    }
    fail_branch(branch, std::move(status).error());
  } catch (...) {
    fail_branch(branch, caught(Stage::kExecute));
  }
  return false;
}

/// Errors: no device runs `branch` now.
Status Run::check_region(BranchId branch) const {
  if (outside_ == nullptr)
    return tl::unexpected(unsupported("this plan is for a delegate that is not there"));
  if (!is_planned(branch))
    return tl::unexpected(unsupported("a region has a node whose shapes only running tells"));
  return limits_->deadline.time ? check_deadline(limits_->deadline) : Status{};
}

RegionRun Run::region_run(BranchId branch) const {
  const BranchGraph& branches = compiled_.context->branches;
  RegionRun region{branches.region[branch], {}, {}};
  IdVector<ValueId, bool> seen(graph().values.size(), false);
  const auto tensor = [&](ValueId id) -> RegionTensor {
    return {id, graph().values[id].dtype, dims_of(id), bytes_of(id),
            program_.storage[compiled_.root[id]].space};
  };
  for (const NodeId node : branches.branches[branch]) {
    for (const ValueId id : graph().nodes[node].inputs) {
      if (!id.valid() || seen[id] ||
          program_.storage[compiled_.root[id]].kind == StorageKind::kFixed)
        continue;
      seen[id] = true;
      region.inputs.push_back(tensor(id));
    }
    for (const ValueId id : graph().nodes[node].outputs) {
      if (!id.valid()) continue;
      seen[id] = true;  // no other step makes it
      if (compiled_.root[id] == id && program_.storage[id].space == MemorySpace::kShared)
        region.outputs.push_back(tensor(id));
    }
  }
  return region;
}

/// Where the device has memory of its own, gives the region its tensors there: inputs that an
/// earlier region has left there as they are, copies of others.
Result<Completion::Copies> Run::move_to_device(RegionRun& region) {
  Completion::Copies copies{options_.device->memory(), {}, {}};
  if (copies.memory == nullptr) return copies;
  const MutexLock lock(device_mutex_);
  on_device_.resize(graph().values.size());
  const auto allocate = [&](const RegionTensor& tensor) {
    return copies.memory->allocate(bytes_of(tensor));
  };
  const auto move = [](RegionTensor& tensor, const std::shared_ptr<std::byte>& to) {
    tensor.bytes = to.get();
    tensor.space = MemorySpace::kDevice;
  };
  for (RegionTensor& input : region.inputs) {
    auto& there = on_device_[compiled_.root[input.value]];
    if (there == nullptr) {
      PX_ASSIGN(auto copy, allocate(input));
      PX_RETURN_IF_ERROR(copies.memory->write(copy.get(), input.bytes, bytes_of(input)));
      there = std::move(copy);
    }
    copies.inputs.push_back(there);
    move(input, there);
  }
  for (RegionTensor& output : region.outputs) {
    auto& there = on_device_[output.value];
    PX_ASSIGN(there, allocate(output));
    copies.outputs.push_back({there, output.bytes, bytes_of(output)});
    move(output, there);
  }
  return copies;
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
    const MutexLock lock(device_mutex_);
    for (const NodeId node : nodes)
      for (const ValueId output : graph().nodes[node].outputs)
        if (output.valid() && !on_device_.empty()) on_device_[output].reset();
    return true;
  }
  if (live_)
    for (const NodeId node : nodes) live_->end(node);
  if (!status) fail_branch(branch, std::move(status).error());
  return false;
}

void Run::log_failure(BranchId branch, const Error& error) const noexcept {
  if (options_.log == nullptr) return;
  try {
    options_.log->warn(fmt::format("the CPU runs the region of node '{}': {}",
                                   graph().nodes[first_node(branch)].name, error.to_string()));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for a text
  }
}

void Run::cancel() noexcept {
  fail(NodeId{}, cancelled());
  if (outside_ != nullptr) outside_->abandon(cancelled());
}

/// Memory for an output that a device writes.
Result<std::byte*> Run::device_output(std::int64_t size) {
  PX_RETURN_IF_ERROR(lease_.reserve(size));
  device_output_bytes_ += size;
  PX_ASSIGN(AlignedBytes bytes, AlignedBytes::allocate(size, &lease_.source()));
  return device_outputs_.emplace_back(std::move(bytes)).data();
}

}  // namespace parallax
