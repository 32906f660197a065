#include "delegates/opencl/emit/emit.h"

#include <algorithm>

#include "delegates/opencl/half.h"
#include "kernels/reference/common.h"

namespace parallax::opencl {

TensorArgument argument_of(const Operand& operand, std::int64_t first) {
  if (!operand.desc.present) return {};
  return {operand.place, operand.first + first, size_of(operand.desc.dtype)};
}
TensorArgument Emission::input(std::size_t i, std::int64_t first) const {
  return i < inputs.size() ? argument_of(inputs[i], first) : TensorArgument{};
}
TensorArgument Emission::output(std::size_t i, std::int64_t first) const {
  return i < outputs.size() ? argument_of(outputs[i], first) : TensorArgument{};
}
TensorArgument Emission::table(std::span<const std::int32_t> entries) {
  return {memory.table(std::as_bytes(entries)), 0, 4};
}
TensorArgument Emission::table(std::span<const float> entries) {
  return {memory.table(std::as_bytes(entries)), 0, 4};
}
TensorArgument Emission::tensor_table(std::span<const float> elements) {
  const auto bytes = std::as_bytes(elements);
  return half ? TensorArgument{memory.table(halves_of(bytes)), 0, 2}
              : TensorArgument{memory.table(bytes), 0, 4};
}
TensorArgument Emission::scratch(std::int64_t floats) {
  const std::int64_t bytes = half ? 2 : 4;
  return {memory.scratch(floats * bytes), 0, bytes};
}

void Emission::launch(KernelId kernel, std::array<std::size_t, 3> groups,
                      std::vector<Argument> arguments) {
  if (std::ranges::find(groups, std::size_t{0}) != groups.end()) return;
  launches.push_back({&kernels[kernel], groups, std::move(arguments)});
}

Result<std::vector<std::int64_t>> known_integers(const Operand& operand) {
  const TensorDesc& desc = operand.desc;
  const std::int64_t count = desc.elements();
  if (count > 0 && desc.data == nullptr)
    return not_covered("a parameter is known to the device only");
  if (desc.dtype != DType::kI64 && desc.dtype != DType::kI32)
    return not_covered("a parameter is not an integer");
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < count; ++i) elements.push_back(load_index(desc.data, desc.dtype, i));
  return elements;
}

tl::unexpected<Error> not_covered(std::string message) {
  return tl::unexpected(Error{Stage::kCompile, ErrorCode::kUnsupported, {}, std::move(message)});
}
tl::unexpected<Error> bad_step(std::string message) {
  return tl::unexpected(Error{Stage::kRun, ErrorCode::kInvalidInput, {}, std::move(message)});
}

namespace {

/// Combines groups of four 16-bit or 32-bit elements that are contiguous on both sides.
void in_fours(Dims& dims, TensorArgument& from, Strides& from_strides, TensorArgument& to,
              Strides& to_strides) {
  const int last = dims.rank() - 1;
  if (last < 0 || (to.element_bytes != 2 && to.element_bytes != 4) || dims[last] % 4 != 0) return;
  for (auto [tensor, strides] : {std::pair(&from, &from_strides), std::pair(&to, &to_strides)}) {
    if ((*strides)[static_cast<std::size_t>(last)] != 1 || tensor->first % 4 != 0) return;
    for (int axis = 0; axis < last; ++axis)
      if ((*strides)[static_cast<std::size_t>(axis)] % 4 != 0) return;
  }
  dims[last] /= 4;
  for (auto [tensor, strides] : {std::pair(&from, &from_strides), std::pair(&to, &to_strides)}) {
    for (int axis = 0; axis < last; ++axis) (*strides)[static_cast<std::size_t>(axis)] /= 4;
    tensor->first /= 4;
    tensor->element_bytes *= 4;
  }
}

}  // namespace

void emit_move(Emission& e, Dims dims, TensorArgument from, Strides from_strides, TensorArgument to,
               Strides to_strides) {
  in_fours(dims, from, from_strides, to, to_strides);
  const Walk walk = walk_of(dims, {from_strides, to_strides});
  const KernelId kernel = to.element_bytes == 1   ? KernelId::move_8
                          : to.element_bytes == 2 ? KernelId::move_16
                          : to.element_bytes == 4 ? KernelId::move_32
                          : to.element_bytes == 8 ? KernelId::move_64
                                                  : KernelId::move_128;
  e.launch(kernel, {walk.groups, 1, 1}, {walk.space, from, walk.operands[0], to, walk.operands[1]});
}

}  // namespace parallax::opencl
