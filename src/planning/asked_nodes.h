// Asks a device that is present about the nodes of a graph, before regions are chosen
// (px_delegate::supports). Thread-safety: pure functions, apart from what the device does.
#pragma once

#include <string>

#include "planning/delegated_plan.h"

namespace parallax {

/// Asks the device of `delegate` about each node of plan.graph that its description covers and that
/// no other delegate has: once each. Stores the reasons of those that it refuses in `refused`,
/// which has one text for each node or is empty; nodes that are refused there already are left out.
/// Does nothing if there is nothing to ask. Errors: those of concrete_shapes().
Status add_refusals(const DelegatedPlan& plan, const Binding& binding,
                    const NamedDelegate& delegate, IdVector<NodeId, std::string>& refused);

}  // namespace parallax
