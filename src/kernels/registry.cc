#include "kernels/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ops/infer.h"

namespace parallax {

#define PX_KERNEL(op, library, factory) \
  Result<std::unique_ptr<Kernel>> factory(const KernelRequest& request);
#include "kernels/kernels.def"
#undef PX_KERNEL

namespace {

std::string describe(std::span<const TensorDesc> tensors) {
  std::string text;
  for (const TensorDesc& tensor : tensors) {
    if (!text.empty()) text += ", ";
    text += tensor.present ? fmt::format("{} {}", to_string(tensor.dtype), tensor.dims.to_string())
                           : std::string("_");
  }
  return text;
}

/// Refuses inputs whose sizes do not go together, or do not give the outputs' sizes: symbols that a
/// model keeps apart may turn out unequal only now, and kernels rely on shapes that agree. Where an
/// input that decides the shape is computed while running, the executor has just inferred the
/// shapes.
Status check_shapes(const KernelRequest& request) {
  std::vector<RuntimeInput> inputs;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorDesc& input = request.inputs[i];
    if (op_def(request.node.op).decides_shape(i) && input.data == nullptr && input.elements() > 0)
      return {};
    inputs.push_back({input.present, input.dtype, input.dims, input.data});
  }
  PX_ASSIGN(const auto dims, infer_runtime(request.node, inputs));
  for (std::size_t i = 0; i < request.outputs.size() && i < dims.size(); ++i) {
    if (!request.outputs[i].present || !dims[i] || *dims[i] == request.outputs[i].dims) continue;
    return tl::unexpected(Error{Stage::kCompile, ErrorCode::kInvalidInput, request.node.name,
                                fmt::format("{}: ({}) do not give ({})", to_string(request.node.op),
                                            describe(request.inputs), describe(request.outputs))});
  }
  return {};
}

}  // namespace

bool may_overwrite(OpKind op, KernelLibrary library) {
  struct Row {
    OpKind op;
    KernelLibrary library;
  };
  static constexpr Row kRows[] = {
#define PX_IN_PLACE(op, library) {OpKind::k##op, KernelLibrary::library},
#include "kernels/in_place.def"
#undef PX_IN_PLACE
  };
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.op == op && row.library == library; });
}

std::string_view to_string(KernelLibrary library) {
  switch (library) {
    case KernelLibrary::kOneDnn:
      return "onednn";
    case KernelLibrary::kSimd:
      return "simd";
    case KernelLibrary::kReference:
      return "reference";
  }
  return "";
}

std::span<const KernelRow> kernel_rows() {
  static const std::vector<KernelRow> rows = {
#define PX_KERNEL(op, library, factory) {OpKind::k##op, KernelLibrary::library, factory},
#include "kernels/kernels.def"
#undef PX_KERNEL
  };
  return rows;
}

Result<MadeKernel> make_kernel(const KernelRequest& request, bool reference_only) {
  PX_RETURN_IF_ERROR(check_shapes(request));
  return make_inferred_kernel(request, reference_only);
}

Result<MadeKernel> make_inferred_kernel(const KernelRequest& request, bool reference_only) {
  for (const KernelRow& row : kernel_rows()) {
    if (row.op != request.node.op) continue;
    if (reference_only && row.library != KernelLibrary::kReference) continue;
    Result<std::unique_ptr<Kernel>> kernel = row.make(request);
    if (!kernel) {
      Error error = std::move(kernel).error();
      if (error.node.empty()) error.node = request.node.name;
      return tl::unexpected(std::move(error));
    }
    if (*kernel != nullptr) return MadeKernel{*std::move(kernel), row.library};
  }
  return tl::unexpected(
      Error{Stage::kCompile, ErrorCode::kUnsupported, request.node.name,
            fmt::format("{}: no kernel for ({}) -> ({})", to_string(request.node.op),
                        describe(request.inputs), describe(request.outputs))});
}

}  // namespace parallax
