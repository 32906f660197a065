#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "compile/program.h"

namespace parallax {
namespace {

Storage storage_of(const Compiled& compiled, ValueId id) {
  const Value& value = compiled.graph().values[id];
  if (compiled.root[id] != id) return {};
  switch (value.kind) {
    case ValueKind::kInput:
      return {};  // filled from the graph's list of inputs
    case ValueKind::kConstant:
    case ValueKind::kSymbolic:
      return {StorageKind::kFixed, 0};
    case ValueKind::kResult:
      break;
  }
  if (!compiled.dims[id]) return {StorageKind::kRunTime, 0};
  if (compiled.output_of[id] >= 0) return {StorageKind::kOutput, compiled.output_of[id]};
  // Tensors without elements have no buffer; any place in the arena will do.
  return {StorageKind::kArena, 0};
}

/// What regions read and make, as far as it lies in the arena, a device touches too. What they make
/// and nothing else reads has no buffer, but for the CPU as their substitute.
void share_with_device(const Compiled& compiled, IdVector<ValueId, Storage>& storage) {
  const auto share = [&](ValueId id) {
    if (!id.valid()) return;
    const ValueId root = compiled.root[id];
    if (storage[root].kind != StorageKind::kArena) return;
    const bool internal = compiled.is_internal(root);
    storage[root].space = internal ? MemorySpace::kDevice : MemorySpace::kShared;
    if (internal && !compiled.context->delegation.substitute)
      storage[root].kind = StorageKind::kNone;
  };
  for (const NodeId id : compiled.graph().nodes.ids()) {
    if (compiled.nodes[id].role != NodeRole::kDelegated) continue;
    const Node& node = compiled.graph().nodes[id];
    std::ranges::for_each(node.inputs, share);
    std::ranges::for_each(node.outputs, share);
    // The device may write when the run is over and the caller's memory is the caller's again.
    for (const ValueId output : node.outputs)
      if (output.valid() && storage[output].kind == StorageKind::kOutput)
        storage[output].space = MemorySpace::kShared;
  }
}

/// Of each branch, its nodes on all threads as far as their tiles go.
IdVector<BranchId, double> times_alone(const Compiled& compiled, int threads) {
  const BranchGraph& branches = compiled.context->branches;
  IdVector<BranchId, double> times;
  for (const BranchId branch : branches.branches.ids()) {
    double time = 0;
    for (const NodeId id : branches.branches[branch]) {
      const CompiledNode& node = compiled.nodes[id];
      const std::int64_t tiles = std::max<std::int64_t>(node.code.tiles, 1);
      const std::int64_t rounds = (tiles - 1) / threads + 1;
      time += predicted_work(node) * static_cast<double>(rounds) / static_cast<double>(tiles);
    }
    // A delegate's time is the same however many threads there are.
    times.push_back(branches.region[branch].valid() ? compiled.work[branch] : time);
  }
  return times;
}

IdVector<BranchId, double> predicted_branches(const Compiled& compiled) {
  const BranchGraph& branches = compiled.context->branches;
  IdVector<BranchId, double> times;
  for (const BranchId branch : branches.branches.ids()) {
    double time = 0;
    for (const NodeId id : branches.branches[branch]) time += predicted_ns(compiled.nodes[id]);
    times.push_back(time);
  }
  return times;
}

}  // namespace

double predicted_ns(const CompiledNode& node) {
  if (node.role == NodeRole::kView) return 0;
  return node.role == NodeRole::kPlanned ? node.seconds * 1e9
                                         : std::numeric_limits<double>::infinity();
}

Result<std::shared_ptr<const Program>> lay_out(std::shared_ptr<const Compiled> compiled,
                                               const LayoutOptions& options) {
  auto program = std::make_shared<Program>();
  const Compiled& c = *compiled;
  ScheduleOptions schedule{options.parallel,
                           options.threads,
                           options.budget,
                           c.scratch_bytes,
                           options.admission,
                           c.work,
                           times_alone(c, options.threads)};
  std::optional<PlanPattern> like;
  if (options.like != nullptr)
    like.emplace(PlanPattern{options.like->plan, options.like->compiled->problem});
  if (like) schedule.like = &*like;
  schedule.explain = options.explain;
  PX_ASSIGN(program->plan, make_plan(c.context->branches, c.groups, c.problem, schedule));
  // The heaviest branch of a step first: no thread starts it when the others are done.
  for (auto& step : program->plan.steps)
    std::stable_sort(step.begin(), step.end(),
                     [&](BranchId a, BranchId b) { return c.work[a] > c.work[b]; });

  PX_ASSIGN(program->order, order_branches(program->plan.waits, c.work));
  program->branch_ns = predicted_branches(c);

  const Graph& graph = c.graph();
  program->storage.resize(graph.values.size());
  for (const ValueId id : graph.values.ids()) program->storage[id] = storage_of(c, id);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    program->storage[graph.inputs[i]] = {StorageKind::kInput, static_cast<std::int64_t>(i)};
  for (std::size_t i = 0; i < c.buffer_value.size(); ++i)
    if (c.buffer_value[i].valid())
      program->storage[c.buffer_value[i]].position = program->plan.offsets.offset[i];
  if (!c.context->delegation.seconds.empty()) share_with_device(c, program->storage);

  const auto arena = checked_align(program->plan.offsets.bytes, kAlignment);
  const auto scratch = checked_mul(c.scratch_bytes, options.threads);
  const auto bytes = arena && scratch ? checked_add(*arena, *scratch) : std::nullopt;
  if (!bytes) {
    return tl::unexpected(Error{Stage::kSchedule,
                                ErrorCode::kOutOfMemory,
                                {},
                                "the tensors of this run do not fit 63 bits"});
  }
  program->threads = options.threads;
  program->arena_bytes = *arena;
  program->bytes = *bytes;
  program->compiled = std::move(compiled);
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace parallax
