// A description of a device, possibly with an accelerator: the numbers that the planner and the
// simulator know about a machine, which need not be present. Profiles are read from TOML
// (profile_toml.h). Units: seconds, multiply-accumulates (MAC), bytes, hertz. Thread-safety: plain
// values.
//
// docs/delegate-profile.md lists the keys of a delegate with their ranges, which a profile that was
// read satisfies.
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
/// default, which every delegate that has the operator supports. An attribute that is present with
/// another type than the limits are for, such as a text where `min` is set, or that is a tensor,
/// does not satisfy them.
struct AttributeLimit {
  std::string name;
  /// For an integer, a float, and each element of a list; nullopt: no limit. Both are inclusive,
  /// from -1e18 to 1e18 in files.
  std::optional<double> min, max;
  /// Allowed values of a string; empty: no limit. Texts of a list must all be among them.
  std::vector<std::string> one_of;
};

/// The part of one operator that a delegate can run.
struct OperatorLimits {
  /// Element types of its inputs and outputs. Inputs that only define a shape and are known when
  /// the plan is made are exempt: they never reach the device. Empty: it runs no node with a
  /// tensor.
  std::vector<DType> dtypes;
  /// Highest rank of the same tensors.
  int max_rank = Dims::kMaxRank;
  std::vector<AttributeLimit> attributes;
  /// Factor by which the delegate is slower than macs_per_second at this operator. At least 1.
  double slowdown = 1;
  /// The delegate can run the operator but should not for its own sake: it forms no region, and may
  /// join two regions that it lies between.
  bool bridge = false;
};

/// An accelerator and the costs of using it.
struct Delegate {
  std::string name;
  /// L: from the call to the start of the computation. 0 to 1e6; charged once for each run of a
  /// region.
  double launch_seconds = 0;
  /// R_acc, > 0. An element of an operator without multiply-accumulates, such as Relu, counts as
  /// one.
  double macs_per_second = 0;
  double bytes_per_second = 0;     ///< BW of copies of the boundary tensors, > 0
  double cpu_macs_per_second = 0;  ///< R_cpu, > 0: rate of the CPU for the same work
  /// Limit for weights and tensors of one region. At least 0; a region beyond it stays on the CPU
  /// (CpuReason::kMemory).
  std::int64_t memory_bytes = 0;
  /// An operator without an entry cannot run. Entries with `bridge` are the keys `bridges` of a
  /// profile.
  std::map<OpKind, OperatorLimits> operators;
  /// Convolutions compute on images with channels last: adjacent Transposes from and to channels
  /// first cost nothing. Images are channels first in canonical graphs; the key is `images`.
  bool channels_last = false;
  /// Regions may have sizes that become known during a run; they are bound then. false: such nodes
  /// stay on the CPU (CpuReason::kDynamicShape).
  bool dynamic_shapes = false;
};

/// Cores of one kind.
struct CoreClass {
  std::string name;
  /// 1 to 1024 in files.
  int count = 0;
  /// Zeros if not known; the clock alone may be known. Profiles give macs_per_cycle for every
  /// class, or for no class.
  CorePeaks peaks;
  /// Work per second; the fastest class has 1. Follows from the peaks if they are known; otherwise
  /// 1e-6 to 1 in files.
  double relative_speed = 1;
};

/// Everything that is known about a device.
struct DeviceProfile {
  std::string name;
  std::string source;  ///< source of the rates, in words; empty: not stated
  /// May be empty if only the delegate matters. In the order of the file; simulate/ sorts them by
  /// speed.
  std::vector<CoreClass> cores;
  std::int64_t memory_bytes = 0;  ///< memory of the device; 0: not known
  /// Rates of 0 if the profile has none. They are those of one core of relative speed 1
  /// (cost/cpu_rates.h).
  CpuRates cpu;
  std::optional<Delegate> delegate;  ///< nullopt: only CPU cores
};

}  // namespace parallax
