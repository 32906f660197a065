#include "bind/deferred_constants.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace parallax {
namespace {

void add(const Compiled& compiled, ValueId id, std::vector<Constant>& found) {
  if (!id.valid()) return;
  const Constant* const constant = constant_of(compiled, id);
  if (constant != nullptr && deferred_depth(*constant) > 0) found.push_back(*constant);
}

/// Whether the node reads input `i` while it runs. A view reads nothing; bodies, devices and
/// kernels that are made during a run may read any input.
bool reads(const Bound& bound, NodeId id, std::size_t i) {
  const NodeRole role = bound.compiled->nodes[id].role;
  if (role != NodeRole::kPlanned) return role != NodeRole::kView;
  return i < bound.fixed[id].size() && bound.fixed[id][i] != nullptr;
}

void add_read(const Bound& bound, std::vector<Constant>& found) {
  const Graph& graph = bound.compiled->graph();
  for (const NodeId id : graph.nodes.ids()) {
    const std::vector<ValueId>& inputs = graph.nodes[id].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (reads(bound, id, i)) add(*bound.compiled, inputs[i], found);
  }
  for (const ValueId output : graph.outputs) add(*bound.compiled, output, found);
  for (const auto& [id, programs] : bound.bodies)
    for (const auto& program : programs)
      if (program != nullptr) add_read(*program->bound, found);
}

/// Returns the constants without duplicates.
std::vector<Constant> distinct(std::vector<Constant> constants) {
  std::ranges::sort(constants, std::less<>{}, [](const Constant& c) { return c.bytes.data(); });
  const auto same = [](const Constant& a, const Constant& b) {
    return a.bytes.data() == b.bytes.data();
  };
  constants.erase(std::unique(constants.begin(), constants.end(), same), constants.end());
  return constants;
}

}  // namespace

std::vector<Constant> constants_read(const Bound& bound) {
  std::vector<Constant> found;
  add_read(bound, found);
  return distinct(std::move(found));
}

std::vector<Constant> constants_packed(const Bound& bound, NodeId node) {
  std::vector<Constant> found;
  const std::vector<ValueId>& inputs = bound.compiled->graph().nodes[node].inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!reads(bound, node, i)) add(*bound.compiled, inputs[i], found);
  if (const PackingList* const list = bound.compiled->nodes[node].code.packings.get())
    std::erase_if(found, [list](const Constant& one) { return list->replaces(one.bytes.data()); });
  return distinct(std::move(found));
}

Result<std::vector<Computed>> compute_all(const std::vector<Constant>& constants,
                                          const ParallelFor& parallel) {
  std::vector<Computed> computed(constants.size());
  Mutex mutex;
  Status status;
  parallel(std::ssize(constants), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    Result<Computed> one = compute(constants[at]);
    if (one) {
      computed[at] = *std::move(one);
      return;
    }
    const MutexLock lock(mutex);
    if (status) status = tl::unexpected(std::move(one).error());
  });
  if (!status) return tl::unexpected(std::move(status).error());
  return computed;
}

}  // namespace parallax
