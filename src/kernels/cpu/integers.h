// Integer inputs that are known when a kernel is made: axes, starts, sizes.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "ir/dtype_sets.h"
#include "kernels/kernel.h"

namespace parallax {

/// Elements of input i where it is i64 or i32 and known at plan time; nothing else.
inline std::optional<std::vector<std::int64_t>> known_integers(const KernelRequest& request,
                                                               std::size_t i) {
  if (!request.has(i)) return std::nullopt;
  const TensorDesc& tensor = request.inputs[i];
  if (!contains(kIndexTypes, tensor.dtype)) return std::nullopt;
  const auto count = static_cast<std::size_t>(tensor.elements());
  if (tensor.data == nullptr && count > 0) return std::nullopt;
  std::vector<std::int64_t> elements(count);
  dispatch<kIndexTypes>(tensor.dtype, [&](auto type) {
    typename decltype(type)::type element = 0;
    for (std::size_t k = 0; k < count; ++k) {
      std::memcpy(&element, tensor.data + k * sizeof element, sizeof element);
      elements[k] = element;
    }
  });
  return elements;
}

}  // namespace parallax
