#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/byte_text.h"
#include "base/checked.h"
#include "base/status.h"
#include "bind/bind.h"
#include "bind/program.h"
#include "compile/staging.h"

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

/// Returns the storage of all values; offsets in the arena are not set yet.
IdVector<ValueId, Storage> places_of(const Compiled& compiled) {
  const Graph& graph = compiled.graph();
  IdVector<ValueId, Storage> storage;
  for (const ValueId id : graph.values.ids()) storage.push_back(storage_of(compiled, id));
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    storage[graph.inputs[i]] = {StorageKind::kInput, static_cast<std::int64_t>(i)};
  return storage;
}

/// Marks the values in the run's memory that regions read and make as shared with a device. Values
/// that only their own region reads get no buffer, unless the CPU is the fallback of the region.
void share_with_device(const Compiled& compiled, IdVector<ValueId, Storage>& storage) {
  const auto share = [&](ValueId id) {
    if (!id.valid()) return;
    const ValueId root = compiled.root[id];
    const StorageKind kind = storage[root].kind;
    if (kind != StorageKind::kArena && kind != StorageKind::kRunTime) return;
    const bool internal = compiled.is_internal(root);
    storage[root].space = internal ? MemorySpace::kDevice : MemorySpace::kShared;
    if (internal && kind == StorageKind::kArena && !compiled.context->delegation.substitute)
      storage[root].kind = StorageKind::kNone;
  };
  for (const NodeId id : compiled.graph().nodes.ids()) {
    if (!in_region(compiled, id)) continue;
    const Node& node = compiled.graph().nodes[id];
    std::ranges::for_each(node.inputs, share);
    std::ranges::for_each(node.outputs, share);
    // A late device may still write when the run has ended and the caller reuses its memory.
    for (const ValueId output : node.outputs)
      if (output.valid() && storage[output].kind == StorageKind::kOutput)
        storage[output].space = MemorySpace::kShared;
  }
}

/// Places copies of the graph inputs and outputs that devices read or make, from `begin` on.
/// Returns the end of these copies; nullopt if it exceeds 63 bits.
std::optional<std::int64_t> stage(const Compiled& compiled, std::int64_t begin,
                                  IdVector<ValueId, Storage>& storage) {
  std::optional<std::int64_t> end = begin;
  for (const ValueId root : staged_values(compiled)) {
    if (!end) break;
    storage[root].staged = *end;
    const auto bytes = staged_bytes(compiled, root);
    end = bytes ? checked_add(*end, *bytes) : std::nullopt;
  }
  return end;
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

/// Makes a program of `plan` by giving its tensors their places. `own_scratch`: false for a body,
/// which uses the scratch of the run.
Result<std::shared_ptr<const Program>> place(std::shared_ptr<Bound> bound, Plan plan, int threads,
                                             bool own_scratch) {
  auto program = std::make_shared<Program>();
  const Compiled& c = *bound->compiled;
  program->plan = std::move(plan);
  PX_ASSIGN(program->order,
            order_branches(program->plan.waits, c.work, c.context->branches.region));
  program->branch_ns = predicted_branches(c);

  program->storage = places_of(c);
  for (std::size_t i = 0; i < c.buffer_value.size(); ++i)
    if (c.buffer_value[i].valid())
      program->storage[c.buffer_value[i]].position = program->plan.offsets.offset[i];
  if (!c.context->delegation.seconds.empty()) share_with_device(c, program->storage);

  const auto arena = arena_bytes(program->plan);
  const auto scratch = checked_mul(c.scratch_bytes, own_scratch ? threads : 0);
  const auto begin = arena && scratch ? checked_add(*arena, *scratch) : std::nullopt;
  const auto bytes = begin ? stage(c, *begin, program->storage) : std::nullopt;
  if (!bytes) {
    return tl::unexpected(Error{Stage::kSchedule,
                                ErrorCode::kOutOfMemory,
                                {},
                                "the tensors of this run do not fit 63 bits"});
  }
  program->threads = threads;
  program->arena_bytes = *arena;
  program->bytes = *bytes;
  program->staged_bytes = *bytes - *begin;
  program->bound = std::move(bound);
  return std::shared_ptr<const Program>(std::move(program));
}

/// Returns the part of `budget` that is left for arena and scratch.
Result<std::optional<std::int64_t>> less_staged(const Compiled& compiled,
                                                std::optional<std::int64_t> budget) {
  if (!budget || compiled.context->delegation.seconds.empty()) return budget;
  const std::int64_t bytes = staged_bytes(compiled).value_or(*budget);
  if (bytes <= *budget) return *budget - bytes;
  return tl::unexpected(Error{
      Stage::kSchedule,
      ErrorCode::kBudgetExceeded,
      {},
      fmt::format("needs {} for copies of the caller's inputs and outputs for devices, budget {}",
                  byte_text(bytes), byte_text(*budget))});
}

}  // namespace

Result<std::shared_ptr<Bound>> make_bound(std::shared_ptr<const Compiled> compiled) {
  auto bound = std::make_shared<Bound>();
  const Compiled& c = *compiled;
  bound->compiled = std::move(compiled);
  bound->fixed.resize(c.nodes.size());
  for (const NodeId id : c.nodes.ids()) bound->fixed[id] = fixed_inputs(c, id, c.nodes[id].code);
  for (const auto& [id, contexts] : c.context->bodies) {
    auto& programs = bound->bodies[id];
    for (const CompiledBody& body : c.nodes[id].bodies) {
      auto& program = programs.emplace_back();
      if (body.error) continue;
      PX_ASSIGN(auto inner, make_bound(body.compiled));
      PX_ASSIGN(program, place(std::move(inner), body.plan, 1, false));
    }
  }
  return bound;
}

Result<std::shared_ptr<const Program>> lay_out(std::shared_ptr<Bound> bound,
                                               const LayoutOptions& options) {
  ScheduleOptions schedule;
  schedule.parallel = options.parallel;
  schedule.threads = options.threads;
  PX_ASSIGN(schedule.budget, less_staged(*bound->compiled, options.budget));
  schedule.admission = options.admission;
  schedule.explain = options.explain;
  std::optional<PlanPattern> like;
  if (options.like != nullptr)
    like.emplace(PlanPattern{options.like->plan, options.like->compiled().problem});
  if (like) schedule.like = &*like;
  PX_ASSIGN(Plan plan, plan_of(*bound->compiled, std::move(schedule)));
  return place(std::move(bound), std::move(plan), options.threads, true);
}

}  // namespace parallax
