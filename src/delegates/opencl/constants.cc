#include "delegates/opencl/constants.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/status.h"
#include "delegates/opencl/half.h"

namespace parallax::opencl {
namespace {

/// Drivers use host memory in place if it begins at a page and consists of whole cache lines. Both
/// ends of a constant are in pages that the process may read.
constexpr std::uintptr_t kPage = 4096, kLine = 64;

std::uintptr_t address_of(const Constant& constant) {
  return reinterpret_cast<std::uintptr_t>(constant.bytes.data());
}

/// Kernels read elements, at addresses that suit these. What has no bytes has no place.
bool may_stay(const Constant& constant, const ConstantOptions& options) {
  if (!options.in_place || constant.bytes.empty()) return false;
  if (options.half && constant.dtype == DType::kF32) return false;
  return address_of(constant) % static_cast<std::uintptr_t>(alignment_of(constant.dtype)) == 0;
}

/// Memory of constants whose pages overlap: buffers may not.
struct SharedPages {
  std::uintptr_t begin = 0, end = 0;
  std::vector<ValueId> constants;
};

/// Returns groups of at most `limit` bytes. Constants that overlap a full group are in none.
std::vector<SharedPages> shared_pages(const Graph& graph, std::vector<ValueId> ids,
                                      std::int64_t limit) {
  const auto constant = [&](ValueId id) -> const Constant& { return *graph.values[id].constant; };
  std::ranges::sort(ids, {}, [&](ValueId id) { return address_of(constant(id)); });
  std::vector<SharedPages> groups;
  for (const ValueId id : ids) {
    const std::uintptr_t begin = address_of(constant(id)) / kPage * kPage;
    const std::uintptr_t last = address_of(constant(id)) + constant(id).bytes.size() - 1;
    const std::uintptr_t end = (last / kLine + 1) * kLine;
    const bool joins = !groups.empty() && begin < groups.back().end;
    const std::uintptr_t whole =
        joins ? std::max(end, groups.back().end) - groups.back().begin : end - begin;
    if (whole > static_cast<std::uintptr_t>(limit)) continue;
    if (!joins) groups.push_back({begin, end, {}});
    groups.back().end = groups.back().begin + whole;
    groups.back().constants.push_back(id);
  }
  return groups;
}

}  // namespace

/// Wraps constants; those that the driver rejects stay without a place.
void RegionConstants::borrow(ClContext& context, const Graph& graph,
                             const std::vector<ValueId>& ids) {
  for (const SharedPages& group : shared_pages(graph, ids, context.device().max_buffer_bytes)) {
    auto buffer = context.borrowed_buffer(
        {reinterpret_cast<const std::byte*>(group.begin), group.end - group.begin});
    if (!buffer) continue;
    for (const ValueId id : group.constants) {
      const Constant& constant = *graph.values[id].constant;
      const auto offset = static_cast<std::int64_t>(address_of(constant) - group.begin);
      places_[id] = {buffer->get(), offset / size_of(constant.dtype)};
    }
    buffers_.push_back(std::move(*buffer));
  }
}

Status RegionConstants::copy(ClContext& context, ValueId id, const Constant& constant, bool half) {
  std::span<const std::byte> bytes = constant.bytes;
  std::vector<std::byte> halves;
  if (half && constant.dtype == DType::kF32) bytes = halves = halves_of(bytes);
  const auto count = static_cast<std::int64_t>(bytes.size());
  PX_ASSIGN(OwnedBuffer buffer, context.buffer(count, bytes.data()));
  places_[id] = {buffer.get(), 0};
  buffers_.push_back(std::move(buffer));
  copied_bytes_ += count;
  return {};
}

Result<RegionConstants> RegionConstants::place(ClContext& context, const Graph& graph,
                                               const IdVector<ValueId, bool>& wanted,
                                               const ConstantOptions& options) {
  RegionConstants made;
  made.places_.resize(graph.values.size());
  std::vector<ValueId> stay;
  for (const ValueId id : graph.values.ids()) {
    const auto& constant = graph.values[id].constant;
    if (constant && wanted[id] && may_stay(*constant, options)) stay.push_back(id);
  }
  made.borrow(context, graph, stay);
  for (const ValueId id : graph.values.ids()) {
    const auto& constant = graph.values[id].constant;
    if (!constant || !wanted[id] || made.places_[id].buffer != nullptr) continue;
    PX_RETURN_IF_ERROR(made.copy(context, id, *constant, options.half));
  }
  return made;
}

}  // namespace parallax::opencl
