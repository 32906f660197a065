// Has the system provide memory for packed weights while the passes keep one thread busy: page
// faults are half of the time of packing. Internal to session/.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "compile/graph_context.h"

namespace parallax {

/// Bytes of the constants that nodes multiply by. Packing them takes about as many in f32, more for
/// small images. Bytes that several share count once, or a small file could ask for any amount.
std::int64_t weight_bytes(const Graph& graph);

class WeightPrefault {
 public:
  /// Starts a thread for the weights that `graph`, as loaded, multiplies by. Without a second CPU,
  /// without a thread or with little memory it does nothing, and the first run is slower. It also
  /// does nothing where addresses are limited: it takes twice as many as weights have bytes, and
  /// its thread takes more, so that the load could fail.
  WeightPrefault(const Graph& graph, std::shared_ptr<GraphContext::Weights> weights);
  /// Ends the thread, which takes one page at most. fork() ends all such threads: a child has none,
  /// and must find no page half done.
  ~WeightPrefault();
  bool started() const { return thread_.joinable(); }
  WeightPrefault(const WeightPrefault&) = delete;
  WeightPrefault& operator=(const WeightPrefault&) = delete;

 private:
  friend class LivingPrefaults;
  void stop();

  const std::shared_ptr<GraphContext::Weights> weights_;
  std::jthread thread_;
  WeightPrefault* next_ = nullptr;  ///< in the list of those that fork() ends
};

}  // namespace parallax
