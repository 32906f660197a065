// Catalogue of all kernels, generated from kernels/kernels.def. Thread-safe. Kernels are made at
// plan time; the catalogue itself is constant.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "kernels/kernel.h"
#include "parallax/dtype.h"

namespace parallax {

/// A row of kernels.def, which says what its columns mean. Rows are constants of the program.
struct KernelRow {
  OpKind op;
  std::string_view name;  ///< name of the kernel; "reference" for all of the reference library
  KernelFactory make;     ///< never null
  /// Types that input 0 may have. Other inputs are of native types or of input 0's, but for the few
  /// operators that registry.cc names; outputs are checked by the factory.
  DTypeSet types;
  /// Output 0 may have the address of an input of the same size, unless the kernel excludes it
  /// (Kernel::overwrites()). Plans let them share memory then, if lifetimes allow it
  /// (compile/lifetimes.cc).
  bool in_place;
};
/// Returns all rows, those of an operator in order of preference. They live as long as the process.
std::span<const KernelRow> kernel_rows();

/// Returns whether the row's factory may be asked: operator and types fit.
bool takes(const KernelRow& row, const KernelRequest& request);

/// Kernel libraries in order of preference; kReference alone covers everything and is the oracle.
/// kCpu has kernels for the common cases of f32 and bytes, vectorised for this machine's
/// instruction set; each declines what it does not cover.
enum class KernelLibrary : std::uint8_t { kCpu, kReference };
/// Returns kReference for rows named "reference", else kCpu.
KernelLibrary library_of(const KernelRow& row);

/// Criteria by which the kernels of a whole model are chosen. It is the same for all nodes of a
/// plan.
struct KernelChoice {
  bool reference_only = false;            ///< skips all libraries but kReference
  Precision precision = Precision::kF32;  ///< KernelRequest::precision
};

/// A kernel and the row that made it.
struct MadeKernel {
  std::unique_ptr<Kernel> kernel;
  const KernelRow* row = nullptr;  ///< null if `kernel` is
};
/// Makes the first kernel that accepts the request, in order of preference: of any library, or of
/// the reference library only; if none computes in the request's types, the first one that computes
/// in wider types (kernels/widened.h). Errors: kUnsupported if none accepts it (the message states
/// dtypes and shapes), kInvalidInput if the shapes do not fit each other, or the factory's own. All
/// errors name the node. REQUIRES: dimensions of all present inputs are concrete.
Result<MadeKernel> make_kernel(const KernelRequest& request, bool reference_only);
/// Variant without the check of shapes, for callers whose shapes are results of infer_runtime().
Result<MadeKernel> make_inferred_kernel(const KernelRequest& request, bool reference_only);

}  // namespace parallax
