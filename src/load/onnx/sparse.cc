#include "load/onnx/sparse.h"

#include <fmt/core.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "load/names.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

/// Returns the place of each value in the flat tensor of `dims`; nullopt if indices do not fit it.
std::optional<std::vector<std::int64_t>> places(const Constant& indices, std::int64_t values,
                                                const Dims& dims) {
  if (indices.dtype != DType::kI64) return std::nullopt;
  const bool flat = indices.dims == Dims{values};
  if (!flat && indices.dims != Dims{values, dims.rank()}) return std::nullopt;
  const std::int64_t per_value = flat ? 1 : dims.rank();
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(values));
  const std::byte* next = indices.bytes.data();
  for (std::int64_t i = 0; i < values; ++i) {
    std::int64_t place = 0;
    for (std::int64_t k = 0; k < per_value; ++k, next += sizeof(std::int64_t)) {
      const std::int64_t limit = flat ? dims.elements() : dims[static_cast<int>(k)];
      std::int64_t index = 0;
      std::memcpy(&index, next, sizeof index);
      if (index < 0 || index >= limit) return std::nullopt;
      place = place * limit + index;
    }
    // They ascend, says the standard.
    if (!result.empty() && place <= result.back()) return std::nullopt;
    result.push_back(place);
  }
  return result;
}

}  // namespace

Result<Constant> read_sparse_tensor(const OnnxSparseTensor& tensor,
                                    const std::shared_ptr<const void>& owner,
                                    ExternalFiles& external, LoadQuota& quota) {
  const std::string label = "sparse tensor " + quote(tensor.values.name);
  PX_ASSIGN(const Constant values, read_tensor(tensor.values, owner, external));
  PX_ASSIGN(const Constant indices, read_tensor(tensor.indices, owner, external));
  for (const std::int64_t dim : tensor.dims)
    if (dim < 0) return invalid_model(fmt::format("{} has the dimension {}", label, dim));
  const Dims dims(tensor.dims);
  const auto size = bytes_of(values.dtype, dims);
  if (!size) return invalid_model(fmt::format("the size of {} overflows", label));
  const std::int64_t bits = info_of(values.dtype).bits;
  if (bits < 8) {
    return unsupported(fmt::format("{} has elements of type {}", label, to_string(values.dtype)));
  }
  const std::int64_t count = values.dims.elements();
  if (values.dims.rank() != 1) return invalid_model(label + " has values of the wrong rank");
  const auto where = places(indices, count, dims);
  if (!where) {
    return invalid_model(fmt::format("{} has indices {} that do not fit {} values in {}", label,
                                     indices.dims.to_string(), count, dims.to_string()));
  }
  if (!quota.take_bytes(*size)) {
    return unsupported(fmt::format("{} takes {} MiB with its zeros, which is too much for its file",
                                   label, *size >> 20));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
  const auto width = static_cast<std::size_t>(bits / 8);
  for (std::size_t i = 0; i < where->size(); ++i) {
    std::memcpy(bytes.data() + static_cast<std::size_t>((*where)[i]) * width,
                values.bytes.data() + i * width, width);
  }
  return make_constant(values.dtype, dims, bytes);
}

}  // namespace parallax
