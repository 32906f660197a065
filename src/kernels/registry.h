// Which library computes which operator: kernels/kernels.def is the one list.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "kernels/kernel.h"

namespace parallax {

/// Kernel libraries in order of preference; kReference alone covers everything and is the oracle.
enum class KernelLibrary : std::uint8_t { kSimd, kOneDnn, kReference };
std::string_view to_string(KernelLibrary library);

struct KernelRow {
  OpKind op;
  KernelLibrary library;
  KernelFactory make;
};
/// All rows of kernels.def, libraries that this build leaves out excepted.
std::span<const KernelRow> kernel_rows();

/// True where kernels of `op` in `library` may write output 0 over any input that has its shape and
/// element size: kernels/in_place.def is the list.
bool may_overwrite(OpKind op, KernelLibrary library);

/// What kernels of a whole model are chosen by.
struct KernelChoice {
  bool reference_only = false;
  bool bf16 = false;  ///< KernelRequest::bf16
};

struct MadeKernel {
  std::unique_ptr<Kernel> kernel;
  KernelLibrary library;
};
/// The first kernel that takes the request: of any library in order of preference, or of the
/// reference library only. Errors: kUnsupported where none takes it (dtypes and shapes in the
/// message), or the factory's own; named after the node.
Result<MadeKernel> make_kernel(const KernelRequest& request, bool reference_only);
/// The same where infer_runtime has given these outputs for these inputs: not inferred again.
Result<MadeKernel> make_inferred_kernel(const KernelRequest& request, bool reference_only);

}  // namespace parallax
