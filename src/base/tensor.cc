#include "parallax/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"

namespace parallax {

std::int64_t size_of(DType dtype) {
  switch (dtype) {
#define PX_DTYPE(name, type, numpy, onnx) \
  case DType::name:                       \
    return sizeof(type);
#include "parallax/dtypes.def"
#undef PX_DTYPE
  }
  return 1;
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
#define PX_DTYPE(name, type, numpy, onnx) \
  case DType::name:                       \
    return numpy;
#include "parallax/dtypes.def"
#undef PX_DTYPE
  }
  return "unknown";
}

Dims::Dims(std::initializer_list<std::int64_t> dims)
    : Dims(std::span<const std::int64_t>(dims.begin(), dims.size())) {}

Dims::Dims(std::span<const std::int64_t> dims) {
  for (const std::int64_t dim : dims.first(std::min<std::size_t>(dims.size(), kMaxRank))) {
    push_back(dim);
  }
}

std::optional<std::int64_t> Dims::checked_elements() const {
  // Dimensions of 0 take no part in the overflow check's way out: strides of the others must fit.
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : span()) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    const auto next = checked_mul(product, dim);
    if (!next) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

std::string Dims::to_string() const {
  if (rank_ == 0) return "scalar";
  std::string text;
  for (const std::int64_t dim : span()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

bool operator==(const Dims& a, const Dims& b) { return std::ranges::equal(a.span(), b.span()); }

namespace {

/// No device that this library is for has more; larger requests come from broken shapes.
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

}  // namespace

void Tensor::Free::operator()(std::byte* p) const { std::free(p); }

Result<Tensor> Tensor::allocate(DType dtype, const Dims& dims) {
  const auto failure = [&] {
    return tl::unexpected(Error{
        Stage::kSession, ErrorCode::kOutOfMemory, "",
        "no memory for a tensor of " + std::string(to_string(dtype)) + " " + dims.to_string()});
  };
  const auto elements = dims.checked_elements();
  const auto bytes = elements ? checked_mul(*elements, size_of(dtype)) : std::nullopt;
  if (!bytes || *bytes > kMaxTensorBytes) return failure();
  const auto size = static_cast<std::size_t>(*bytes);
  const auto rounded = static_cast<std::size_t>(
      *checked_align(std::max<std::int64_t>(*bytes, kAlignment), kAlignment));
  auto* memory =
      static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(kAlignment), rounded));
  if (memory == nullptr) return failure();
  std::memset(memory, 0, rounded);

  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = dims;
  tensor.size_ = size;
  tensor.memory_.reset(memory);
  return tensor;
}

}  // namespace parallax
