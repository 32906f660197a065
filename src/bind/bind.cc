#include "bind/bind.h"

#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace parallax {
namespace {

void add_packings(const Compiled& compiled, std::vector<const PackingList*>& packings) {
  for (const CompiledNode& node : compiled.nodes) {
    // The CPU as substitute for a device packs when it is one.
    if (node.code.packings != nullptr && node.role != NodeRole::kDelegated)
      packings.push_back(node.code.packings.get());
    for (const BodyProgram& body : node.bodies)
      if (body.program != nullptr) add_packings(*body.program->compiled, packings);
  }
}

Status allocate(PackedWeights& packed, const std::vector<const PackingList*>& packings) {
  for (const PackingList* list : packings) PX_RETURN_IF_ERROR(packed.allocate(*list));
  return {};
}

}  // namespace

Status bind(const Compiled& compiled, const ParallelFor& parallel) {
  if (compiled.bound.load(std::memory_order_acquire)) return {};
  std::vector<const PackingList*> packings;
  add_packings(compiled, packings);
  PackedWeights& packed = compiled.context->packed;
  PX_RETURN_IF_ERROR(allocate(packed, packings));
  Mutex mutex;
  Status status;
  parallel(std::ssize(packings), [&](std::int64_t i) {
    Status filled = packed.fill(*packings[static_cast<std::size_t>(i)]);
    if (filled) return;
    const MutexLock lock(mutex);
    if (status) status = std::move(filled);
  });
  PX_RETURN_IF_ERROR(status);
  compiled.bound.store(true, std::memory_order_release);
  return {};
}

Status bind(const NodeKernel& kernel, PackedWeights& packed) {
  if (kernel.packings == nullptr) return {};
  PX_RETURN_IF_ERROR(packed.allocate(*kernel.packings));
  return packed.fill(*kernel.packings);
}

}  // namespace parallax
