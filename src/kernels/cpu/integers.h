// Integer inputs that are known when a kernel is created: axes, starts, sizes. Pure functions,
// thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "ir/dtype_sets.h"
#include "kernels/kernel.h"

namespace parallax {

/// Returns the elements of input i, in row-major order, widened to i64. Returns nullopt if the
/// input is left out, is neither i64 nor i32, or is known only when the graph runs; a tensor
/// without elements is always known. Constants of a model file may lie at any address, so elements
/// are copied byte by byte. Factories that get nullopt decline the request, and the reference
/// kernel reads the input while it runs.
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
