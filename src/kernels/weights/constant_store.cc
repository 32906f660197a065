#include "kernels/weights/constant_store.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "base/status.h"
#include "cache/weight_cache.h"

namespace parallax {

bool ConstantStore::is_aligned(const Constant& constant) {
  const auto alignment = static_cast<std::uintptr_t>(alignment_of(constant.dtype));
  return constant.bytes.empty() ||
         reinterpret_cast<std::uintptr_t>(constant.bytes.data()) % alignment == 0;
}

Result<const std::byte*> ConstantStore::aligned(const Constant& constant) {
  const std::byte* const source = constant.bytes.data();
  if (is_aligned(constant)) return source;
  const MutexLock lock(mutex_);
  const auto key = std::make_pair(source, constant.bytes.size());
  auto found = copies_.find(key);
  if (found == copies_.end()) {
    PX_ASSIGN(auto copy, copy_of(constant));
    found = copies_.emplace(key, std::move(copy)).first;
  }
  return static_cast<const std::byte*>(found->second->data());
}

void ConstantStore::forget(const Constant& constant) noexcept {
  const MutexLock lock(mutex_);
  copies_.erase({constant.bytes.data(), constant.bytes.size()});
}

Result<std::shared_ptr<const AlignedBytes>> ConstantStore::copy_of(const Constant& constant) const {
  const std::span<const std::byte> source = constant.bytes;
  const bool kept = cache_ != nullptr && std::ssize(source) >= kKept;
  // Two constants may begin at the same byte, so the layout includes the size.
  const std::string layout = fmt::format("as it is, {} bytes", source.size());
  if (kept) {
    if (auto found = cache_->find(source.data(), layout, std::ssize(source)))
      return std::make_shared<const AlignedBytes>(AlignedBytes::shared(*std::move(found)));
  }
  PX_ASSIGN(AlignedBytes copy, AlignedBytes::allocate(std::ssize(source)));
  std::memcpy(copy.data(), source.data(), source.size());
  auto shared = std::make_shared<const AlignedBytes>(std::move(copy));
  if (kept) cache_->keep(source.data(), layout, {{shared->data(), source.size()}, shared});
  return shared;
}

}  // namespace parallax
