#include "base/c_types.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kSession, code, {}, std::move(message)});
}

/// Numbers that a struct points to.
template <class Struct>
Result<Dims> dims_from(const Struct& given, std::int64_t least) {
  if (given.rank < 0 || given.rank > Dims::kMaxRank)
    return refuse(ErrorCode::kUnsupported, fmt::format("a tensor of rank {}", given.rank));
  if (given.rank > 0 && given.dims == nullptr)
    return refuse(ErrorCode::kInvalidInput, "a tensor without dimensions");
  Dims dims;
  for (std::int32_t i = 0; i < given.rank; ++i) {
    if (given.dims[i] < least)
      return refuse(ErrorCode::kInvalidInput,
                    fmt::format("dimension {} of a tensor is {}", i, given.dims[i]));
    dims.push_back(given.dims[i]);
  }
  return dims;
}

px_tensor describe(DType dtype, const Dims& dims, std::byte* data, std::size_t bytes) {
  return {sizeof(px_tensor), to_c(dtype), dims.rank(), dims.begin(), data, bytes};
}

struct Texts {
  std::string node, message;
};

class CAllocator final : public Allocator {
 public:
  explicit CAllocator(const px_allocator& functions) : functions_(functions) {}
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return functions_.allocate(functions_.context, bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    functions_.deallocate(functions_.context, memory, bytes, alignment);
  }

 private:
  const px_allocator functions_;
};

}  // namespace

px_dtype to_c(DType dtype) { return info_of(dtype).onnx; }

Result<DType> dtype_from(px_dtype dtype) {
  if (const auto known = dtype_from_onnx(dtype)) return *known;
  return refuse(ErrorCode::kUnsupported, fmt::format("element type {}", dtype));
}

px_tensor to_c(const TensorView& view) {
  return describe(view.dtype, view.dims, const_cast<std::byte*>(view.bytes.data()),
                  view.bytes.size());
}
px_tensor to_c(const MutableTensorView& view) {
  return describe(view.dtype, view.dims, view.bytes.data(), view.bytes.size());
}

Result<MutableTensorView> tensor_from(const px_tensor* tensor) {
  PX_ASSIGN(const px_tensor given, of_this_version(tensor));
  PX_ASSIGN(const DType dtype, dtype_from(given.dtype));
  PX_ASSIGN(const Dims dims, dims_from(given, 0));
  if (info_of(dtype).bits == 0)
    return refuse(ErrorCode::kUnsupported, fmt::format("a tensor of {}", to_string(dtype)));
  const auto bytes = bytes_of(dtype, dims);
  if (!bytes || given.bytes != static_cast<std::uint64_t>(*bytes)) {
    return refuse(
        ErrorCode::kInvalidInput,
        fmt::format("a tensor {} {} in {} bytes", to_string(dtype), dims.to_string(), given.bytes));
  }
  if (given.bytes > 0 && given.data == nullptr)
    return refuse(ErrorCode::kInvalidInput, "a tensor without memory");
  const auto address = reinterpret_cast<std::uintptr_t>(given.data);
  if (address % static_cast<std::uintptr_t>(alignment_of(dtype)) != 0)
    return refuse(ErrorCode::kInvalidInput, "a tensor that is not aligned to its element size");
  return MutableTensorView{dtype, dims, {static_cast<std::byte*>(given.data), given.bytes}};
}

CType::CType(const TensorInfo& info) {
  for (const Dimension& dim : info.shape) {
    dims_.push_back(dim.value);
    texts_.push_back(dim.symbol);
  }
  for (std::size_t i = 0; i < dims_.size(); ++i)
    symbols_.push_back(dims_[i] < 0 ? texts_[i].c_str() : nullptr);
  type_ = {sizeof(px_type), to_c(info.dtype), static_cast<std::int32_t>(dims_.size()), dims_.data(),
           symbols_.data()};
}

Result<TensorInfo> type_from(const px_type* type) {
  PX_ASSIGN(const px_type given, of_this_version(type));
  TensorInfo info;
  PX_ASSIGN(info.dtype, dtype_from(given.dtype));
  PX_ASSIGN(const Dims dims, dims_from(given, -1));
  for (int i = 0; i < dims.rank(); ++i) {
    const char* const symbol = given.symbols == nullptr ? nullptr : given.symbols[i];
    info.shape.push_back({dims[i], dims[i] < 0 && symbol != nullptr ? symbol : ""});
  }
  return info;
}

px_status to_c(const Status& status) noexcept {
  px_status result{};
  result.size = sizeof result;
  if (status) return result;
  const Error& error = status.error();
  result.code = static_cast<px_code>(error.code) + 1;
  try {
    auto texts = std::make_unique<Texts>(Texts{error.node, error.message});
    result.node = texts->node.empty() ? nullptr : texts->node.c_str();
    result.message = texts->message.c_str();
    result.owner = texts.release();
    result.release = [](void* owner) { delete static_cast<Texts*>(owner); };
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the code says enough
  }
  return result;
}

Status status_from(px_status* status) {
  PX_ASSIGN(const px_status given, of_this_version(status));
  Status result;
  if (given.code != PX_OK) {
    // A number of a later version is not known here.
    const bool known = given.code >= PX_INVALID_MODEL && given.code <= PX_INTERNAL;
    result = tl::unexpected(Error{
        Stage::kSession, known ? static_cast<ErrorCode>(given.code - 1) : ErrorCode::kInternal,
        given.node == nullptr ? "" : given.node, given.message == nullptr ? "" : given.message});
  }
  if (given.release != nullptr) given.release(given.owner);
  return result;
}

Result<std::shared_ptr<Allocator>> allocator_from(const px_allocator* allocator) {
  if (allocator == nullptr) return nullptr;
  PX_ASSIGN(const px_allocator given, of_this_version(allocator));
  if (given.allocate == nullptr || given.deallocate == nullptr)
    return refuse(ErrorCode::kInvalidInput, "an allocator without functions");
  return std::make_shared<CAllocator>(given);
}

px_allocator to_c(Allocator& allocator) {
  return {sizeof(px_allocator), &allocator,
          [](void* context, std::size_t bytes, std::size_t alignment) {
            return static_cast<Allocator*>(context)->allocate(bytes, alignment);
          },
          [](void* context, void* memory, std::size_t bytes, std::size_t alignment) {
            static_cast<Allocator*>(context)->deallocate(memory, bytes, alignment);
          }};
}

}  // namespace parallax
