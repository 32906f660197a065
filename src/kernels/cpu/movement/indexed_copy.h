// Copies of a tensor whose every position along an axis holds some element of that axis. The kernel
// is immutable; tiles run concurrently. Pad and Resize of nearest neighbours, whose places are
// known at plan time, become such copies.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/kernel.h"

namespace parallax {

/// Creates a kernel that copies element [from[0][i], from[1][j], ...] of input 0, which has the
/// dimensions `in`, to [i, j, ...] of output 0; other inputs are not read. Lists are merged where
/// neighbouring elements stay neighbours, and counted in Kernel::table_bytes(). `element_bytes` is
/// the size of an element. REQUIRES: a list for each axis, none of them empty, of numbers of [0,
/// in[axis]).
std::unique_ptr<Kernel> indexed_copy(const Dims& in,
                                     const std::vector<std::vector<std::int64_t>>& from,
                                     std::int64_t element_bytes);

}  // namespace parallax
