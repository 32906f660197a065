// Steps of a chain in registers, for the instruction set of this machine.
#pragma once

#include "kernels/chain_registers.h"

namespace parallax {

/// As RunRegisters says. Each step rounds as the loop of its operator does.
void run_registers(std::span<const RegisterStep> steps, std::size_t n);

}  // namespace parallax
