#include "session/weight_prefault.h"

#include <set>
#include <system_error>
#include <utility>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/large_pages.h"

namespace parallax {
namespace {

bool multiplies_by_weights(OpKind op) {
  return op == OpKind::kMatMul || op == OpKind::kGemm || op == OpKind::kConv;
}

/// About as many bytes as packing them takes in f32; kernels for small images take more.
std::int64_t weight_bytes(const Graph& graph) {
  std::set<const std::byte*> counted;
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    if (!multiplies_by_weights(node.op) || node.inputs.size() < 2) continue;
    const auto& weights = graph.values[node.inputs[1]].constant;
    if (!weights || !counted.insert(weights->bytes.data()).second) continue;
    bytes = checked_add(bytes, std::ssize(weights->bytes)).value_or(bytes);
  }
  return bytes;
}

}  // namespace

WeightPrefault::WeightPrefault(const Graph& graph, std::shared_ptr<GraphContext::Weights> weights)
    : weights_(std::move(weights)) {
  const std::int64_t bytes = weight_bytes(graph);
  if (bytes < kLargePage || usable_cpus() < 2) return;
  try {
    thread_ = std::jthread([weights = weights_, bytes] { weights->packed.prefault(bytes); });
  } catch (const std::system_error&) {
    // No thread: packing gets the memory.
  }
}

WeightPrefault::~WeightPrefault() { weights_->packed.end_prefault(); }

}  // namespace parallax
