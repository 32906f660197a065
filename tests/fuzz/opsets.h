// How nodes of the newest operator set are written in older ones.
#pragma once

#include <cstdint>

#include "case.h"

namespace parallax::fuzz {

inline constexpr std::int64_t kOldestOpset = 11, kNewestOpset = 23;

/// The oldest operator set, from kOldestOpset on, in which the whole graph can be written.
std::int64_t oldest_opset(const CaseGraph& graph);
/// Lists of numbers that were attributes in `opset` become them again.
/// REQUIRES: opset >= oldest_opset(graph).
void write_for_opset(CaseGraph& graph, std::int64_t opset);
/// DequantizeLinear, Conv or MatMul, and QuantizeLinear become QLinearConv or QLinearMatMul.
void write_qlinear(CaseGraph& graph);
/// The domain of an operator in files.
std::string_view domain_of(OpKind op);

}  // namespace parallax::fuzz
