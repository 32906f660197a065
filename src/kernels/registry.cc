#include "kernels/registry.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

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

}  // namespace

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
