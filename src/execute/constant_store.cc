#include "execute/constant_store.h"

#include <cstring>

#include "base/status.h"

namespace parallax {

Result<const std::byte*> ConstantStore::aligned(const Constant& constant) {
  const std::byte* const source = constant.bytes.data();
  const auto alignment = static_cast<std::uintptr_t>(size_of(constant.dtype));
  if (constant.bytes.empty() || reinterpret_cast<std::uintptr_t>(source) % alignment == 0)
    return source;
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(source, constant.bytes.size());
  auto found = copies_.find(key);
  if (found == copies_.end()) {
    PX_ASSIGN(AlignedBytes copy,
              AlignedBytes::allocate(static_cast<std::int64_t>(constant.bytes.size())));
    std::memcpy(copy.data(), source, constant.bytes.size());
    found = copies_.emplace(key, std::move(copy)).first;
  }
  return static_cast<const std::byte*>(found->second.data());
}

std::int64_t ConstantStore::copied_bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t total = 0;
  for (const auto& [source, copy] : copies_) total += copy.size();
  return total;
}

}  // namespace parallax
