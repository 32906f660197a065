// A device that may have an accelerator, described by numbers: what the planner and the simulator
// know of a machine that need not be there. Profiles are read from TOML (profile_toml.h). Units:
// seconds, multiply-accumulates (MAC), bytes, hertz. Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/cpu_rates.h"
#include "cost/kernel_seconds.h"
#include "ir/graph.h"

namespace parallax {

/// What an attribute may be; every limit that is given must hold. An absent attribute means the
/// operator's default, which every delegate that has the operator runs.
struct AttributeLimit {
  std::string name;
  /// For an integer, a float, and each element of a list of them.
  std::optional<double> min, max;
  /// For a string; empty: no limit.
  std::vector<std::string> one_of;
};

/// What a delegate can run of one operator.
struct OperatorLimits {
  /// Element types of its inputs and outputs. Inputs that only say a shape and are known when the
  /// plan is made are exempt: they never reach the device.
  std::vector<DType> dtypes;
  int max_rank = Dims::kMaxRank;
  std::vector<AttributeLimit> attributes;
  /// How many times slower than macs_per_second the delegate is at this operator.
  double slowdown = 1;
  /// The delegate can run it but never should for its own sake: it forms no region, and may join
  /// two regions that it lies between.
  bool bridge = false;
};

/// An accelerator and what using it costs.
struct Delegate {
  std::string name;
  double launch_seconds = 0;       ///< L: from the call until it computes
  double macs_per_second = 0;      ///< R_acc, > 0
  double bytes_per_second = 0;     ///< BW of the boundary tensors, > 0
  double cpu_macs_per_second = 0;  ///< R_cpu, > 0: what the CPU makes of the same work
  std::int64_t memory_bytes = 0;   ///< that weights and tensors of one region may take
  std::map<OpKind, OperatorLimits> operators;
  /// Convolutions compute on images with channels last: Transposes from and to channels first
  /// beside them cost nothing.
  bool channels_last = false;
  /// It binds a region while a run goes on, to sizes that only that run tells.
  bool dynamic_shapes = false;
};

/// Cores of one kind.
struct CoreClass {
  std::string name;
  int count = 0;
  CorePeaks peaks;            ///< zeros where not known; the clock may be known alone
  double relative_speed = 1;  ///< of the fastest class = 1: what a core gets done per second
};

struct DeviceProfile {
  std::string name;
  std::string source;             ///< of the rates, in words; empty: not said
  std::vector<CoreClass> cores;   ///< may be empty where only the delegate matters
  std::int64_t memory_bytes = 0;  ///< of the device; 0: not known
  CpuRates cpu;                   ///< rates of 0 where the profile has none
  std::optional<Delegate> delegate;
};

}  // namespace parallax
