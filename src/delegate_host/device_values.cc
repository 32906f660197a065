#include "delegate_host/device_values.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/caught.h"
#include "compile/compiled.h"
#include "delegate_host/answers.h"

namespace parallax {

std::size_t size_of(const RegionTensor& tensor) {
  return static_cast<std::size_t>(bytes_of(tensor.dtype, tensor.dims).value_or(0));
}

ValueReaders::ValueReaders(const Compiled& compiled)
    : regions(compiled.graph().values.size()), cpu(compiled.graph().values.size(), false) {
  const GraphContext& context = *compiled.context;
  const Graph& graph = compiled.graph();
  const auto region_of = [&](NodeId node) -> RegionId {
    return node.valid() ? context.branches.region[context.branches.branch_of[node]] : RegionId{};
  };
  for (const NodeId id : graph.nodes.ids()) {
    const Node& node = graph.nodes[id];
    const RegionId region = region_of(id);
    // On the CPU a view reads no bytes of its input.
    const bool view = !region.valid() && compiled.nodes[id].role == NodeRole::kView;
    for (std::size_t i = view ? 1 : 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid()) continue;
      const ValueId root = compiled.root[input];
      if (!region.valid()) {
        cpu[root] = true;
      } else if (region_of(graph.values[input].producer) != region &&
                 std::ranges::find(regions[root], region) == regions[root].end()) {
        regions[root].push_back(region);
      }
      // If sizes that become known during the run do not suit the device, the CPU runs the region.
      if (region.valid() && !is_planned(compiled, context.branches.branch_of[id])) cpu[root] = true;
    }
  }
  for (const ValueId output : graph.outputs) cpu[compiled.root[output]] = true;
}

Result<DeviceValues::Piece> DeviceValues::allocate(const RegionTensor& tensor) {
  return pool_->take(size_of(tensor));
}

void DeviceValues::want(ValueId root, const RegionTensor& tensor, const Completion& done,
                        Then then) {
  {
    const MutexLock lock(mutex_);
    Value& value = values_[root];
    if (!value.there) {
      value.waiting.push_back(std::move(then));
      if (std::exchange(value.coming, true)) return;
      then = nullptr;
    }
  }
  if (then != nullptr) return then({});
  write(root, tensor, done);
}

void DeviceValues::write(ValueId root, const RegionTensor& tensor, const Completion& done) {
  try {
    auto piece = allocate(tensor);
    if (!piece) return written(root, nullptr, tl::unexpected(std::move(piece).error()));
    DevicePiece& to = **piece;
    copy(to, tensor, true, done,
         [self = shared_from_this(), root, piece = *std::move(piece)](
             const Status& status) mutable { self->written(root, std::move(piece), status); });
  } catch (...) {
    written(root, nullptr, tl::unexpected(caught(Stage::kRun)));
  }
}

void DeviceValues::written(ValueId root, Piece piece, const Status& status) {
  if (!status && piece != nullptr) {
    piece->spoil();
    piece = nullptr;
  }
  std::vector<Then> waiting;
  {
    const MutexLock lock(mutex_);
    Value& value = values_[root];
    value.coming = false;
    value.there = status.has_value();
    if (value.there) value.piece.swap(piece);
    waiting.swap(value.waiting);
  }
  for (const Then& then : waiting) then(status);
}

DeviceValues::Piece DeviceValues::piece(ValueId root) const {
  const MutexLock lock(mutex_);
  const auto found = values_.find(root);
  return found == values_.end() ? nullptr : found->second.piece;
}

void DeviceValues::keep(ValueId root, Piece piece) {
  const MutexLock lock(mutex_);  // the old piece is swapped out and destroyed without it
  if (readers_[root] == 0) return;
  Value& value = values_[root];
  value.piece.swap(piece);
  value.there = true;
  value.on_cpu = false;
}

bool DeviceValues::on_cpu(ValueId root) const {
  const MutexLock lock(mutex_);
  const auto found = values_.find(root);
  return found == values_.end() || found->second.on_cpu;
}

bool DeviceValues::is_awaited(ValueId root) const {
  const MutexLock lock(mutex_);
  if (readers_[root] == 0) return false;
  const auto found = values_.find(root);
  return found == values_.end() || (!found->second.there && !found->second.coming);
}

void DeviceValues::fetch(ValueId root, const Piece& from, const RegionTensor& tensor,
                         const Completion& done, Then then) {
  copy(*from, tensor, false, done,
       [self = shared_from_this(), root, piece = from,
        then = std::move(then)](Status status) mutable {
         if (status) self->note_on_cpu(root);
         piece = nullptr;
         then(std::move(status));
       });
}

void DeviceValues::note_on_cpu(ValueId root) {
  const MutexLock lock(mutex_);
  if (const auto found = values_.find(root); found != values_.end()) found->second.on_cpu = true;
}

void DeviceValues::let_go(ValueId root) {
  Piece last;  // goes back without the mutex
  const MutexLock lock(mutex_);
  const auto found = values_.find(root);
  if (--readers_[root] > 0 || found == values_.end()) return;
  last = std::move(found->second.piece);
}

void DeviceValues::copy(DevicePiece& piece, const RegionTensor& tensor, bool there,
                        const Completion& done, Then then) {
  const std::size_t bytes = size_of(tensor);
  const auto begin = std::chrono::steady_clock::now();
  if (piece.host() != nullptr) {
    std::memcpy(there ? piece.host() : tensor.bytes, there ? tensor.bytes : piece.host(), bytes);
    done.copied(tensor.value, there, static_cast<std::int64_t>(bytes), begin);
    return then({});
  }
  const px_delegate& table = delegate_->functions();
  (void)ask_delegate(
      [=, self = shared_from_this(), then = std::move(then), value = tensor.value](Status status) {
        if (status) done.copied(value, there, static_cast<std::int64_t>(bytes), begin);
        then(std::move(status));
      },
      [&](void* context, px_status* status) {
        return there ? table.write(delegate_->device, piece.memory(), 0, tensor.bytes, bytes,
                                   answer, context, status)
                     : table.read(delegate_->device, piece.memory(), 0, tensor.bytes, bytes, answer,
                                  context, status);
      });
}

}  // namespace parallax
