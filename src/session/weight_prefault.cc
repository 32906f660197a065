#include "session/weight_prefault.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/large_pages.h"
#include "base/memory_probe.h"

namespace parallax {
namespace {

bool multiplies_by_weights(OpKind op) {
  return op == OpKind::kMatMul || op == OpKind::kGemm || op == OpKind::kConv;
}

/// Not where it takes most of what is free: packing gives back the file's pages as it goes.
void prefault(PackedWeights& packed, std::int64_t bytes) {
  try {
    const auto free = MemoryProbe().read().free;
    if (!free || bytes <= *free / 2) packed.prefault(bytes);
  } catch (const std::exception&) {
    // Packing gets the memory, or says that there is none.
  }
}

}  // namespace

std::int64_t weight_bytes(const Graph& graph) {
  std::vector<std::span<const std::byte>> weights;
  for (const Node& node : graph.nodes) {
    if (!multiplies_by_weights(node.op) || node.inputs.size() < 2 || !node.inputs[1].valid())
      continue;
    const auto& constant = graph.values[node.inputs[1]].constant;
    if (constant) weights.emplace_back(constant->bytes);
  }
  std::ranges::sort(weights, std::less<>{}, [](const auto& bytes) { return bytes.data(); });
  std::int64_t sum = 0;
  const std::byte* counted = nullptr;  // up to here
  for (const auto& bytes : weights) {
    const std::byte* const end = bytes.data() + bytes.size();
    const std::byte* const begin = std::max(bytes.data(), counted, std::less<>{});
    if (!std::less<>{}(begin, end)) continue;
    sum += end - begin;
    counted = end;
  }
  return sum;
}

WeightPrefault::WeightPrefault(const Graph& graph, std::shared_ptr<GraphContext::Weights> weights)
    : weights_(std::move(weights)) {
  const std::int64_t bytes = weight_bytes(graph);
  if (bytes < kLargePage || usable_cpus() < 2) return;
  try {
    thread_ = std::jthread([weights = weights_, bytes] { prefault(weights->packed, bytes); });
  } catch (const std::system_error&) {
    // No thread: packing gets the memory.
  }
}

WeightPrefault::~WeightPrefault() { weights_->packed.end_prefault(); }

}  // namespace parallax
