// Kernels for element types in which no kernel computes (f16, bf16, i4 and others): inputs are
// converted to a wider native type, results are converted back. make_kernel() tries them after all
// rows that compute in the request's own types.
#pragma once

#include <functional>

#include "kernels/registry.h"

namespace parallax {

/// Returns the native type that represents all numbers of `dtype`; `dtype` itself if it is native.
/// Floats become f32; integers of less than 8 bits become i8 or u8, those of 16 bits i32, wider
/// ones i64.
DType widened(DType dtype);

/// Makes a kernel from the rows of the catalogue, without widening; a null kernel if none accepts
/// the request. Called several times while make_widened_kernel() runs: for whole tiles, for a
/// shorter last one, and with other wide types if the first ones are not accepted.
using MakeOfRows = std::function<Result<MadeKernel>(const KernelRequest&)>;

/// Wraps the kernel that `make` returns for the same request in native types: inputs are widened
/// into scratch, outputs narrowed from there; floats are rounded, integers keep their low bits.
/// Elementwise operators without broadcasting are cut into tiles; for others the inner tiles run
/// one after the other as one tile. Returns a null kernel if all types are native or `make` returns
/// null. The inner kernel cannot read widened inputs at plan time (TensorDesc::data is null). Tiles
/// have 8192 elements, so that no two write the same byte of elements of less than 8 bits. The
/// result owns the inner kernels. Errors: kInvalidInput if scratch would not fit 63 bits, errors of
/// `make`.
Result<MadeKernel> make_widened_kernel(const KernelRequest& request, const MakeOfRows& make);

}  // namespace parallax
