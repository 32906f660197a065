// Nodes that were given what the standard leaves open, or what ONNX Runtime does otherwise: results
// behind them are not compared with it. explained.toml has the sentences.
#pragma once

#include <span>

#include "case.h"

namespace parallax::fuzz {

/// Null inputs are left out.
bool is_open(const CaseNode& node, std::span<const Constant* const> inputs,
             std::span<const Constant> outputs);

}  // namespace parallax::fuzz
