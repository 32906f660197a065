// One graph as one region of a delegate, run by the host's own classes, and the same graph on the
// reference kernels. Internal to tools/conformance.
//
// Thread-safe: run() and expected() of a TestedBinding.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "delegate_host/delegate_device.h"
#include "parallax/tensor.h"

namespace parallax::conformance {

using TensorBytes = std::vector<std::vector<std::byte>>;

/// A region under one binding.
struct TestedBinding {
  std::shared_ptr<const Program> program, reference;
  std::shared_ptr<DelegateDevice> device;

  /// Returns values for the graph's inputs, generated from the seed.
  TensorBytes inputs(std::uint64_t seed) const;
  /// Errors: of the delegate; kLimitExceeded if it has not answered by then, or `stop` was asked
  /// for.
  Result<std::vector<Tensor>> run(const TensorBytes& inputs, std::chrono::milliseconds time,
                                  std::stop_token stop = {}) const;
  Result<std::vector<Tensor>> expected(const TensorBytes& inputs) const;
};

class TestedRegion {
 public:
  TestedRegion(std::shared_ptr<const OpenDelegate> delegate, const Graph& graph);
  /// The region is compiled the first time. Errors: of the delegate; a case that no host could run.
  Result<TestedBinding> bind(const Binding& binding);
  /// Likewise for sizes that no run will use: there is no reference.
  Result<TestedBinding> bind_only(const Binding& binding);

 private:
  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::shared_ptr<GraphContext> plain_, whole_;
  const std::shared_ptr<RegionStore> store_ = std::make_shared<RegionStore>();
};

}  // namespace parallax::conformance
