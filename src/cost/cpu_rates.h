// The performance of a CPU in numbers: the few rates that describe a machine, and nodes that were
// timed on it. Units: seconds, multiply-accumulates (MAC), bytes. Thread-safety: plain values.
//
// Simulated devices (simulate/) are described by these rates and samples. Plans of this machine use
// kernel_seconds() alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parallax {

/// A node that was timed, alone, on one core of relative speed 1. `shapes` as shapes_text() writes
/// them.
struct NodeSample {
  std::string op, kernel, shapes;  ///< as in a trace
  double macs = 0, bytes = 0;      ///< bytes read and written
  double seconds = 0;
};

/// A part of a device profile, table [cpu] (device/profile_toml.h), where the ranges are stated.
struct CpuRates {
  double macs_per_second = 0;   ///< one core of relative speed 1, in f32; 0: not known
  double bytes_per_second = 0;  ///< memory bandwidth of all cores together
  /// Size of the last level of caches: data that fits is not read from memory again.
  std::int64_t cache_bytes = 0;
  double node_seconds = 0;   ///< to start a node
  double share_seconds = 0;  ///< until another core has joined it
  std::vector<NodeSample> samples;
};

}  // namespace parallax
