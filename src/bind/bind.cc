#include "bind/bind.h"

#include <utility>
#include <vector>

#include "base/caught.h"
#include "base/mutex.h"
#include "base/status.h"
#include "bind/deferred_constants.h"

namespace parallax {
namespace {

struct NodePacking {
  const PackingList* list = nullptr;
  std::vector<Constant> of;  ///< deferred constants
};

void add_packings(const Bound& bound, std::vector<NodePacking>& packings) {
  for (const NodeId id : bound.compiled->nodes.ids()) {
    const CompiledNode& node = bound.compiled->nodes[id];
    // The kernels of a delegated node are packed when the CPU first runs its region as a fallback.
    if (node.code.packings != nullptr && node.role != NodeRole::kDelegated)
      packings.push_back({node.code.packings.get(), constants_packed(bound, id)});
  }
  for (const auto& [id, programs] : bound.bodies)
    for (const auto& program : programs)
      if (program != nullptr) add_packings(*program->bound, packings);
}

Status allocate(PackedWeights& packed, const std::vector<NodePacking>& packings) {
  for (const NodePacking& one : packings) PX_RETURN_IF_ERROR(packed.allocate(*one.list));
  return {};
}

/// Packs weights; computes the deferred constants that they are made of, and frees them afterwards.
Status fill(PackedWeights& packed, const NodePacking& packing) {
  if (packing.of.empty() || packed.is_filled(*packing.list)) return packed.fill(*packing.list);
  try {
    PX_ASSIGN(const std::vector<Computed> computed, compute_all(packing.of, serial_for));
    return packed.fill(*packing.list);
  } catch (...) {
    return tl::unexpected(caught(Stage::kCompile));
  }
}

/// Replaces constants that the kernel cannot read in place by aligned copies.
Status align(const Compiled& compiled, NodeId id, const NodeKernel& code,
             std::vector<const std::byte*>& fixed) {
  const Node& node = compiled.graph().nodes[id];
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] == nullptr || code.kernel->input_use(i) != InputUse::kAligned) continue;
    const Constant* const constant = constant_of(compiled, node.inputs[i]);
    if (constant == nullptr) continue;
    PX_ASSIGN(fixed[i], compiled.context->constants.aligned(*constant));
  }
  return {};
}

Status align(Bound& bound) {
  const Compiled& compiled = *bound.compiled;
  for (const NodeId id : compiled.nodes.ids())
    PX_RETURN_IF_ERROR(align(compiled, id, compiled.nodes[id].code, bound.fixed[id]));
  for (const auto& [id, programs] : bound.bodies)
    for (const auto& program : programs)
      if (program != nullptr) PX_RETURN_IF_ERROR(align(*program->bound));
  return {};
}

}  // namespace

std::vector<const std::byte*> fixed_inputs(const Compiled& compiled, NodeId id,
                                           const NodeKernel& code) {
  const Node& node = compiled.graph().nodes[id];
  std::vector<const std::byte*> fixed(code.reads.size());
  for (std::size_t i = 0; i < fixed.size(); ++i)
    if (code.reads[i]) fixed[i] = compiled.fixed[compiled.root[node.inputs[i]]];
  return fixed;
}

Status bind(Bound& bound, const ParallelFor& parallel) {
  if (bound.done.load(std::memory_order_acquire)) return {};
  const MutexLock binding(bound.binding);
  if (bound.done.load(std::memory_order_relaxed)) return {};
  PX_ASSIGN(bound.computed, compute_all(constants_read(bound), parallel));
  // Before packing, which releases the pages of constants that are no longer read.
  PX_RETURN_IF_ERROR(align(bound));
  std::vector<NodePacking> packings;
  add_packings(bound, packings);
  PackedWeights& packed = bound.compiled->context->packed;
  PX_RETURN_IF_ERROR(allocate(packed, packings));
  Mutex mutex;
  Status status;
  parallel(std::ssize(packings), [&](std::int64_t i) {
    Status filled = fill(packed, packings[static_cast<std::size_t>(i)]);
    if (filled) return;
    const MutexLock lock(mutex);
    if (status) status = std::move(filled);
  });
  PX_RETURN_IF_ERROR(status);
  bound.done.store(true, std::memory_order_release);
  return {};
}

Result<BoundKernel> bind_kernel(const Compiled& compiled, NodeId node, NodeKernel code) {
  BoundKernel kernel{std::move(code), {}};
  kernel.fixed = fixed_inputs(compiled, node, kernel.code);
  PX_RETURN_IF_ERROR(align(compiled, node, kernel.code, kernel.fixed));
  PX_RETURN_IF_ERROR(pack(kernel.code, compiled.context->packed));
  return kernel;
}

Status pack(const NodeKernel& code, PackedWeights& packed) {
  if (code.packings == nullptr) return {};
  PX_RETURN_IF_ERROR(packed.allocate(*code.packings));
  return packed.fill(*code.packings);
}

}  // namespace parallax
