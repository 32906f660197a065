// Gets memory for packed weights while the passes keep one thread busy: half of the time of packing
// goes into pages of memory. Internal to session/.
#pragma once

#include <memory>
#include <thread>

#include "execute/program.h"

namespace parallax {

class WeightPrefault {
 public:
  /// Starts, for the weights that `graph`, as it was loaded, multiplies by. Where there is no
  /// second CPU or no thread to be had it does nothing, which costs time at the first run only.
  WeightPrefault(const Graph& graph, std::shared_ptr<GraphContext::Weights> weights);
  /// Waits for one page at most.
  ~WeightPrefault();
  WeightPrefault(const WeightPrefault&) = delete;
  WeightPrefault& operator=(const WeightPrefault&) = delete;

 private:
  const std::shared_ptr<GraphContext::Weights> weights_;
  std::jthread thread_;
};

}  // namespace parallax
