#include "kernels/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/dtype_sets.h"
#include "kernels/widened.h"
#include "ops/infer.h"

namespace parallax {

#define PX_KERNEL(op, name, factory, types, in_place) \
  Result<std::unique_ptr<Kernel>> factory(const KernelRequest& request);
#include "kernels/kernels.def"
#undef PX_KERNEL

namespace {

constexpr DTypeSet kF32Types = dtype_bit(DType::kF32);

std::string describe(std::span<const TensorDesc> tensors) {
  std::string text;
  for (const TensorDesc& tensor : tensors) {
    if (!text.empty()) text += ", ";
    text += tensor.present ? fmt::format("{} {}", to_string(tensor.dtype), tensor.dims.to_string())
                           : std::string("_");
  }
  return text;
}

/// Rejects inputs whose shapes do not fit each other or do not lead to the outputs' shapes:
/// distinct symbols of a model may turn out unequal only now, and kernels rely on consistent
/// shapes. If an input that decides the shape is computed while running, the executor has just
/// inferred the shapes.
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

/// Operators whose kernels ask for the type of every input.
constexpr OpKind kAskForTypes[] = {OpKind::kCastLike,       OpKind::kConvInteger,
                                   OpKind::kMatMulInteger,  OpKind::kDequantizeLinear,
                                   OpKind::kQuantizeLinear, OpKind::kOneHot,
                                   OpKind::kWhere};

/// Returns whether kernels can read all inputs as they are. Those of most operators choose a C++
/// type by the first input, and read others as native types: they would read an f16 as f32, beyond
/// its end.
bool reads_as_stored(const KernelRequest& request) {
  if (std::ranges::find(kAskForTypes, request.node.op) != std::end(kAskForTypes)) return true;
  return std::ranges::all_of(request.inputs, [&](const TensorDesc& input) {
    return !input.present || contains(kNativeTypes, input.dtype) ||
           input.dtype == request.inputs[0].dtype;
  });
}

}  // namespace

bool takes(const KernelRow& row, const KernelRequest& request) {
  return row.op == request.node.op &&
         (!request.has(0) || contains(row.types, request.inputs[0].dtype)) &&
         reads_as_stored(request);
}

KernelLibrary library_of(const KernelRow& row) {
  return row.name == "reference" ? KernelLibrary::kReference : KernelLibrary::kCpu;
}

std::span<const KernelRow> kernel_rows() {
  static constexpr auto kRows = std::to_array<KernelRow>({
#define PX_KERNEL(op, name, factory, types, in_place) \
  {OpKind::k##op, name, factory, types, in_place},
#include "kernels/kernels.def"
#undef PX_KERNEL
  });
  return kRows;
}

Result<MadeKernel> make_kernel(const KernelRequest& request, bool reference_only) {
  PX_RETURN_IF_ERROR(check_shapes(request));
  return make_inferred_kernel(request, reference_only);
}

namespace {

/// Makes the kernel of the first row that accepts the request; a null kernel if none does.
Result<MadeKernel> make_of_rows(const KernelRequest& request, bool reference_only) {
  for (const KernelRow& row : kernel_rows()) {
    if (!takes(row, request)) continue;
    if (reference_only && library_of(row) != KernelLibrary::kReference) continue;
    Result<std::unique_ptr<Kernel>> kernel = row.make(request);
    if (!kernel) {
      Error error = std::move(kernel).error();
      if (error.node.empty()) error.node = request.node.name;
      return tl::unexpected(std::move(error));
    }
    if (*kernel != nullptr) return MadeKernel{*std::move(kernel), &row};
  }
  return MadeKernel{};
}

}  // namespace

Result<MadeKernel> make_inferred_kernel(const KernelRequest& request, bool reference_only) {
  const auto make = [&](const KernelRequest& of) { return make_of_rows(of, reference_only); };
  PX_ASSIGN(MadeKernel made, make(request));
  if (made.kernel != nullptr) return made;
  PX_ASSIGN(made, make_widened_kernel(request, make));
  if (made.kernel != nullptr) return made;
  return tl::unexpected(
      Error{Stage::kCompile, ErrorCode::kUnsupported, request.node.name,
            fmt::format("{}: no kernel for ({}) -> ({})", to_string(request.node.op),
                        describe(request.inputs), describe(request.outputs))});
}

}  // namespace parallax
