// Times of the nodes of the canonical graph, from measurements on this machine. Pure functions.
#pragma once

#include <optional>
#include <set>

#include "compile/compiled.h"
#include "device/calibration.h"
#include "partition/cost.h"

namespace parallax {

/// Seconds of canonical nodes.
struct MeasuredPrices {
  IdVector<NodeId, double> cpu;
  IdVector<NodeId, std::optional<double>> delegate;  ///< nullopt: not measured
};
/// Prices the nodes of `graph`. `lowered`: the graph that the CPU would run instead. The device is
/// assumed to fuse as the CPU does, so that each node has its share of the fused node that computes
/// it, on both sides. Nodes that are compiled during a run cost what they would at
/// `lowered_shapes`; 0 if these are unknown.
MeasuredPrices measured_prices(const Graph& graph, const ConcreteShapes& shapes,
                               const Delegate& delegate, const Compiled& lowered,
                               const ConcreteShapes& lowered_shapes,
                               const Calibration& calibration);

/// Returns the kinds of work of the nodes of `lowered` and of its bodies that need time.
std::set<WorkKind> work_kinds(const Compiled& lowered);

/// Whether no region can be faster on the device, however fast it computes: one launch, measured or
/// described, needs far longer than the whole model on one core. False if only a run determines
/// that time.
bool launch_outweighs(const Compiled& lowered, const Delegate& delegate, const Calibration& known);
/// Adds rates for that case: a device as fast as the CPU at the kinds that were not timed.
void assume_no_gain(const std::set<WorkKind>& kinds, Calibration& known);

}  // namespace parallax
