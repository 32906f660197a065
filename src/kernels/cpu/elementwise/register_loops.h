// Runs the steps of a chain of element-wise operators in registers, without a tensor between them,
// for the instruction set of this machine. Thread-safe. The kernel of chains calls it for blocks of
// some 2048 elements (cpu/elementwise/chain.cc).
#pragma once

#include "kernels/chain_registers.h"

namespace parallax {

/// Implements RunRegisters. Each step rounds as the loop of its operator does, so a chain has the
/// same bits as its operators one by one. Eight vectors go through all steps together, so that the
/// choice of each step costs little; the last elements are masked.
void run_registers(std::span<const RegisterStep> steps, std::size_t n);

}  // namespace parallax
