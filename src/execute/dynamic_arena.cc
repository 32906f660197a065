#include "execute/dynamic_arena.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"
#include "execute/poison.h"

namespace parallax {
namespace {

/// Chunks are at least this large, so that small tensors share one; under a budget they are as
/// large as the tensor that needs them, so that none of it is wasted.
constexpr std::int64_t kChunk = std::int64_t{64} << 10;

}  // namespace

DynamicArena::~DynamicArena() {
  chunks_.clear();
  if (reserved_ > 0) lease_.release(reserved_);
}

Result<std::byte*> DynamicArena::allocate(std::int64_t bytes) {
  const auto rounded = checked_align(std::max<std::int64_t>(bytes, 1), kAlignment);
  if (!rounded) {
    return tl::unexpected(Error{
        Stage::kExecute, ErrorCode::kOutOfMemory, {}, "a tensor's size does not fit 63 bits"});
  }
  const std::lock_guard lock(mutex_);
  std::byte* result = nullptr;
  if (const auto best = free_list_.lower_bound(*rounded); best != free_list_.end()) {
    result = best->second;
    // The rest of a larger block stays on the list.
    const std::int64_t rest = best->first - *rounded;
    free_list_.erase(best);
    if (rest > 0) free_list_.emplace(rest, result + *rounded);
  } else {
    PX_ASSIGN(result, bump(*rounded));
  }
  taken_.emplace(result, *rounded);
  return result;
}

Result<std::byte*> DynamicArena::bump(std::int64_t bytes) {
  if (chunks_.empty() || chunks_.back().memory.size() - chunks_.back().used < bytes)
    PX_RETURN_IF_ERROR(add_chunk(bytes));
  Chunk& chunk = chunks_.back();
  std::byte* const result = chunk.memory.data() + chunk.used;
  chunk.used += bytes;
  return result;
}

Status DynamicArena::add_chunk(std::int64_t bytes) {
  // What is left of the present chunk stays usable.
  if (!chunks_.empty()) {
    Chunk& last = chunks_.back();
    const std::int64_t rest = last.memory.size() - last.used;
    if (rest > 0) free_list_.emplace(rest, last.memory.data() + last.used);
    last.used = last.memory.size();
  }
  const std::int64_t size = lease_.limited() ? bytes : std::max(bytes, kChunk);
  PX_RETURN_IF_ERROR(lease_.reserve(size));
  Result<AlignedBytes> memory = AlignedBytes::allocate(size);
  if (!memory) {
    lease_.release(size);
    Error error = std::move(memory).error();
    error.stage = Stage::kExecute;
    return tl::unexpected(std::move(error));
  }
  reserved_ += size;
  chunks_.push_back({*std::move(memory), 0});
  return {};
}

void DynamicArena::free(std::byte* bytes) {
  if (bytes == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(bytes);
  if (taken == taken_.end()) return;
  if (poison_) poison({bytes, static_cast<std::size_t>(taken->second)});
  free_list_.emplace(taken->second, bytes);
  taken_.erase(taken);
}

}  // namespace parallax
