// Which kernels compute which operator: kernels/kernels.def is the one list.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "kernels/kernel.h"
#include "parallax/dtype.h"

namespace parallax {

/// A row of kernels.def, which says what its columns mean.
struct KernelRow {
  OpKind op;
  std::string_view name;
  KernelFactory make;
  DTypeSet types;  ///< that input 0 may have
  bool in_place;
};
/// All rows; they live as long as the process.
std::span<const KernelRow> kernel_rows();

/// Kernel libraries in order of preference; kReference alone covers everything and is the oracle.
enum class KernelLibrary : std::uint8_t { kCpu, kReference };
KernelLibrary library_of(const KernelRow& row);

/// Criteria by which the kernels of a whole model are chosen.
struct KernelChoice {
  bool reference_only = false;
  Precision precision = Precision::kF32;  ///< KernelRequest::precision
};

struct MadeKernel {
  std::unique_ptr<Kernel> kernel;
  const KernelRow* row = nullptr;
};
/// The first kernel that takes the request: of any library in order of preference, or of the
/// reference library only; where none computes in its types, the first one that computes in wider
/// ones (kernels/widened.h). Errors: kUnsupported where none takes it (dtypes and shapes in the
/// message), or the factory's own; named after the node.
Result<MadeKernel> make_kernel(const KernelRequest& request, bool reference_only);
/// The same where infer_runtime has given these outputs for these inputs: not inferred again.
Result<MadeKernel> make_inferred_kernel(const KernelRequest& request, bool reference_only);

}  // namespace parallax
