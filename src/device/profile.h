// A description of a device, possibly with an accelerator: the numbers that the planner and the
// simulator know about a machine, which need not be present. Profiles are read from TOML
// (profile_toml.h). Units: seconds, multiply-accumulates (MAC), bytes, hertz. Thread-safety: plain
// values.
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

/// A condition on an attribute; all given limits must hold. An absent attribute has the operator's
/// default, which every delegate that has the operator supports.
struct AttributeLimit {
  std::string name;
  /// For an integer, a float, and each element of a list; nullopt: no limit.
  std::optional<double> min, max;
  /// Allowed values of a string; empty: no limit.
  std::vector<std::string> one_of;
};

/// The part of one operator that a delegate can run.
struct OperatorLimits {
  /// Element types of its inputs and outputs. Inputs that only define a shape and are known when
  /// the plan is made are exempt: they never reach the device.
  std::vector<DType> dtypes;
  int max_rank = Dims::kMaxRank;
  std::vector<AttributeLimit> attributes;
  /// Factor by which the delegate is slower than macs_per_second at this operator.
  double slowdown = 1;
  /// The delegate can run the operator but should not for its own sake: it forms no region, and may
  /// join two regions that it lies between.
  bool bridge = false;
};

/// An accelerator and the costs of using it.
struct Delegate {
  std::string name;
  double launch_seconds = 0;       ///< L: from the call to the start of the computation
  double macs_per_second = 0;      ///< R_acc, > 0
  double bytes_per_second = 0;     ///< BW of copies of the boundary tensors, > 0
  double cpu_macs_per_second = 0;  ///< R_cpu, > 0: rate of the CPU for the same work
  std::int64_t memory_bytes = 0;   ///< limit for weights and tensors of one region
  std::map<OpKind, OperatorLimits> operators;
  /// Convolutions compute on images with channels last: adjacent Transposes from and to channels
  /// first cost nothing.
  bool channels_last = false;
  /// Regions may have sizes that become known during a run; they are bound then.
  bool dynamic_shapes = false;
};

/// Cores of one kind.
struct CoreClass {
  std::string name;
  int count = 0;
  CorePeaks peaks;            ///< zeros if not known; the clock alone may be known
  double relative_speed = 1;  ///< work per second; the fastest class has 1
};

/// Everything that is known about a device.
struct DeviceProfile {
  std::string name;
  std::string source;                ///< source of the rates, in words; empty: not stated
  std::vector<CoreClass> cores;      ///< may be empty if only the delegate matters
  std::int64_t memory_bytes = 0;     ///< memory of the device; 0: not known
  CpuRates cpu;                      ///< rates of 0 if the profile has none
  std::optional<Delegate> delegate;  ///< nullopt: only CPU cores
};

}  // namespace parallax
