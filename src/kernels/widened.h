// Kernels for element types that no kernel computes in: what is narrower than a native type is read
// as one, and what comes out is narrowed.
#pragma once

#include <functional>

#include "kernels/registry.h"

namespace parallax {

/// The native type that has all numbers of `dtype`; a native type itself.
DType widened(DType dtype);

/// Makes a kernel of the rows of the catalogue alone; a null kernel where none takes the request.
using MakeOfRows = std::function<Result<MadeKernel>(const KernelRequest&)>;

/// A kernel around one that `make` gives for the same request in native types: inputs are widened
/// into scratch, outputs narrowed from there, floats rounded, integers cut to their low bits.
/// Elementwise operators without broadcasting are cut into tiles; of others the inner tiles run one
/// after the other. A null kernel where all types are native, or `make` has none. Inputs that are
/// widened are not known when the inner kernel is made.
Result<MadeKernel> make_widened_kernel(const KernelRequest& request, const MakeOfRows& make);

}  // namespace parallax
