// What each node of the canonical graph takes, by what was timed on this machine. Pure functions.
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
  IdVector<NodeId, std::optional<double>> delegate;
};
/// `lowered`: what the CPU would run in place of `graph`. A device is taken to fuse as the CPU
/// does, so that each node has its share of the node that computes it, on both sides. What is
/// compiled while running takes what it would at `lowered_shapes`, nothing where these are unknown.
MeasuredPrices measured_prices(const Graph& graph, const ConcreteShapes& shapes,
                               const Delegate& delegate, const Compiled& lowered,
                               const ConcreteShapes& lowered_shapes,
                               const Calibration& calibration);

/// Of the nodes of `lowered` and of its bodies that take time.
std::set<WorkKind> work_kinds(const Compiled& lowered);

/// Whether no region can win, however fast the device computes: one launch, as far as it is known,
/// takes far longer than the whole model on one core. False where only running tells what that is.
bool launch_outweighs(const Compiled& lowered, const Delegate& delegate, const Calibration& known);
/// Rates with which that holds: a device is as fast as the CPU at kinds that were not timed.
void assume_no_gain(const std::set<WorkKind>& kinds, Calibration& known);

}  // namespace parallax
