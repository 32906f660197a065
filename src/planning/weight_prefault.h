// Prefaults memory for packed weights while the passes keep one thread busy: page faults are half
// of the time of packing. Internal to session/.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "compile/graph_context.h"

namespace parallax {

/// Returns the bytes of the constants that nodes multiply by. Packed they need about as many in
/// f32, more for small images. Shared bytes count once, so that a small file cannot request any
/// amount.
std::int64_t weight_bytes(const Graph& graph);

/// A background thread that touches the pages. Destroyed with the model, or earlier.
class WeightPrefault {
 public:
  /// Starts a thread for the weights that `graph`, as loaded, multiplies by. Does nothing, so that
  /// the first run is slower, if there is no second CPU, no thread or little memory. Also does
  /// nothing if the address space is limited: it needs twice the bytes of the weights, and its
  /// thread needs more, so that the load could fail.
  WeightPrefault(const Graph& graph, std::shared_ptr<GraphContext::Weights> weights);
  /// Ends the thread after at most one page. fork() ends all such threads: a child has none of
  /// them, and must find no page half done.
  ~WeightPrefault();
  /// Whether the thread was started and not ended.
  bool started() const { return thread_.joinable(); }
  WeightPrefault(const WeightPrefault&) = delete;
  WeightPrefault& operator=(const WeightPrefault&) = delete;

 private:
  friend class LivingPrefaults;
  void stop();

  const std::shared_ptr<GraphContext::Weights> weights_;
  std::jthread thread_;
  WeightPrefault* next_ = nullptr;  ///< next in the list of those that fork() ends
};

}  // namespace parallax
