#include "planning/weight_prefault.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/machine/cpu.h"
#include "base/machine/large_pages.h"
#include "base/machine/memory_probe.h"
#include "base/mutex.h"

namespace parallax {
namespace {

bool multiplies_by_weights(OpKind op) {
  return op == OpKind::kMatMul || op == OpKind::kGemm || op == OpKind::kConv;
}

void prefault(PackedWeights& packed, std::int64_t bytes) {
  try {
    packed.prefault(bytes);
  } catch (const std::exception&) {
    // Packing allocates the memory, or reports the error.
  }
}

}  // namespace

/// A list of all objects that may have a thread, for fork().
class LivingPrefaults {
 public:
  template <class Start>
  static void add(WeightPrefault& one, Start start) {
    const MutexLock lock(mutex);
    one.next_ = std::exchange(first, &one);
    start();
  }
  static void remove(const WeightPrefault& one) {
    const MutexLock lock(mutex);
    WeightPrefault** link = &first;
    while (*link != nullptr && *link != &one) link = &(*link)->next_;
    if (*link != nullptr) *link = one.next_;
  }

 private:
  static void before_fork() PX_ACQUIRE(mutex) {
    mutex.lock();
    for (WeightPrefault* one = first; one != nullptr; one = one->next_) one->stop();
  }
  static void after_fork() PX_RELEASE(mutex) { mutex.unlock(); }

  // Usable from the start of the first thread to the end of the last one.
  static constinit inline Mutex mutex{LockOrder::kListOfPrefaults};
  static constinit inline WeightPrefault* first PX_GUARDED_BY(mutex) = nullptr;
  static const int kRegistered;
};
const int LivingPrefaults::kRegistered = ::pthread_atfork(before_fork, after_fork, after_fork);

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
  const std::byte* counted = nullptr;  // end of the bytes that were counted
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
  if (bytes < kLargePage || usable_cpus() < 2 || addresses_are_limited()) return;
  try {
    LivingPrefaults::add(*this, [&] {
      thread_ = std::jthread([weights = weights_, bytes] { prefault(weights->packed, bytes); });
    });
  } catch (const std::system_error&) {
    // No thread: packing allocates the memory.
  } catch (const std::bad_alloc&) {
    // As above.
  }
}

WeightPrefault::~WeightPrefault() {
  LivingPrefaults::remove(*this);
  stop();
}

void WeightPrefault::stop() {
  weights_->packed.end_prefault();
  if (thread_.joinable()) thread_.join();
}

}  // namespace parallax
