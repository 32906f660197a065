#include "parallax/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/checked.h"

namespace parallax {

Dims::Dims(std::initializer_list<std::int64_t> dims)
    : Dims(std::span<const std::int64_t>(dims.begin(), dims.size())) {}

Dims::Dims(std::span<const std::int64_t> dims) {
  assert(dims.size() <= kMaxRank);
  // Without assertions, no mistake of a caller writes behind the array.
  for (const std::int64_t dim : dims.first(std::min<std::size_t>(dims.size(), kMaxRank))) {
    push_back(dim);
  }
}

Result<Dims> Dims::checked(std::span<const std::int64_t> dims) {
  const auto refuse = [](ErrorCode code, std::string message) {
    return tl::unexpected(Error{Stage::kSession, code, {}, std::move(message)});
  };
  if (dims.size() > kMaxRank)
    return refuse(ErrorCode::kUnsupported, "rank " + std::to_string(dims.size()) +
                                               " is more than " + std::to_string(kMaxRank));
  for (const std::int64_t dim : dims)
    if (dim < 0) return refuse(ErrorCode::kInvalidInput, "a dimension is " + std::to_string(dim));
  return Dims(dims);
}

std::optional<std::int64_t> Dims::checked_elements() const {
  // Dimensions of 0 do not excuse an overflow: strides of the others must fit.
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

std::optional<std::int64_t> bytes_of(DType dtype, const Dims& dims) {
  const auto elements = dims.checked_elements();
  return elements ? bytes_of(dtype, *elements) : std::nullopt;
}

Status check_elements(const Dims& dims, std::size_t elements) {
  const auto wanted = dims.checked_elements();
  if (wanted && static_cast<std::size_t>(*wanted) == elements) return {};
  return tl::unexpected(
      Error{Stage::kSession,
            ErrorCode::kInvalidInput,
            {},
            std::to_string(elements) + " elements are not those of " + dims.to_string()});
}

bool operator==(const Dims& a, const Dims& b) { return std::ranges::equal(a.span(), b.span()); }

namespace {

/// No device that this library is for has more; larger requests come from broken shapes.
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

}  // namespace

namespace {

// The pointer that calloc returned is stored in front of the aligned memory. aligned_alloc would
// do, but it cannot reuse a freed block of the same size, so that outputs of a few megabytes left
// such holes behind.
constexpr std::size_t kFront = sizeof(void*) + static_cast<std::size_t>(kAlignment);

/// Returns `size` zeros, aligned; null if there is no memory.
std::byte* allocate_zeros(std::size_t size) {
  void* const base = std::calloc(1, size + kFront);
  if (base == nullptr) return nullptr;
  void* aligned = static_cast<std::byte*>(base) + sizeof(void*);
  std::size_t space = size + kFront - sizeof(void*);
  std::align(static_cast<std::size_t>(kAlignment), size, aligned, space);
  auto* const memory = static_cast<std::byte*>(aligned);
  std::memcpy(memory - sizeof(void*), &base, sizeof(void*));
  return memory;
}

}  // namespace

void Tensor::Free::operator()(std::byte* p) const {
  void* base = nullptr;
  std::memcpy(&base, p - sizeof(void*), sizeof(void*));
  std::free(base);
}

Result<Tensor> Tensor::allocate(DType dtype, const Dims& dims) {
  const auto failure = [&] {
    Error error{Stage::kSession, ErrorCode::kOutOfMemory, {}, {}};
    try {
      error.message =
          "no memory for a tensor of " + std::string(to_string(dtype)) + " " + dims.to_string();
    } catch (const std::bad_alloc&) {
      error.message = "out of memory";  // so short that a string needs no memory for it
    }
    return tl::unexpected(std::move(error));
  };
  const auto bytes = bytes_of(dtype, dims);
  if (!bytes || *bytes > kMaxTensorBytes) return failure();
  const auto size = static_cast<std::size_t>(*bytes);
  const auto rounded = static_cast<std::size_t>(
      *checked_align(std::max<std::int64_t>(*bytes, kAlignment), kAlignment));
  std::byte* const memory = allocate_zeros(rounded);
  if (memory == nullptr) return failure();

  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = dims;
  tensor.size_ = size;
  tensor.memory_.reset(memory);
  return tensor;
}

}  // namespace parallax
