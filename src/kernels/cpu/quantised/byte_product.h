// Products of rows of bytes with packed weights of 8 bits. Thread-safe.
#pragma once

#include <memory>

#include "kernels/cpu/quantised/requantisation.h"

namespace parallax {

/// Rows of X, `weights.depth` bytes each, one after the other, times the weights.
std::unique_ptr<Kernel> make_byte_rows(std::int64_t rows, PackedMatrix weights,
                                       Requantisation requantisation, const Machine& machine);

/// Bytes with the sign turned around: what is signed becomes unsigned.
void turn_signs(const std::uint8_t* from, std::uint8_t* to, std::size_t n);

}  // namespace parallax
