// Gets memory for packed weights while the passes keep one thread busy: half of the time of packing
// goes into pages of memory. Internal to session/.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "execute/program.h"

namespace parallax {

/// Of the constants that nodes multiply by: about what packing them takes in f32, more for small
/// images. Bytes that several share count once, or a small file could ask for any amount.
std::int64_t weight_bytes(const Graph& graph);

class WeightPrefault {
 public:
  /// Starts, for the weights that `graph`, as it was loaded, multiplies by. Where there is no
  /// second CPU, no thread or little memory to be had it does nothing, which costs time at the
  /// first run only. Nor where addresses are limited: it takes twice as many as weights have bytes,
  /// and its thread some more, for want of which the load could fail.
  WeightPrefault(const Graph& graph, std::shared_ptr<GraphContext::Weights> weights);
  /// Waits for one page at most. So does fork(), which ends all that are at it: a child has no such
  /// thread, and must find no page half done.
  ~WeightPrefault();
  bool started() const { return thread_.joinable(); }
  WeightPrefault(const WeightPrefault&) = delete;
  WeightPrefault& operator=(const WeightPrefault&) = delete;

 private:
  friend class LivingPrefaults;
  void stop();

  const std::shared_ptr<GraphContext::Weights> weights_;
  std::jthread thread_;
  WeightPrefault* next_ = nullptr;  ///< of those that fork() ends
};

}  // namespace parallax
