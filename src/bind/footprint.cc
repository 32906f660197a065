#include "bind/footprint.h"

#include <vector>

namespace parallax {
namespace {

/// Bytes of a kernel object and of what it owns, without tables. Measured with mallinfo2 over 100
/// bindings: the allocator uses 106 KiB for a binding of DistilBERT (139 nodes) and 239 KiB for one
/// of CLIP's text encoder (299 nodes), 0.8 KiB per node; this is the remainder after the vectors.
constexpr std::int64_t kKernelBytes = 320;
/// Bytes that the allocator adds to a block.
constexpr std::int64_t kBlock = 16;

std::int64_t block(std::size_t elements, std::size_t size) {
  return elements == 0 ? 0 : static_cast<std::int64_t>(elements * size) + kBlock;
}

template <class T>
std::int64_t bytes_of(const std::vector<T>& items) {
  return block(items.capacity(), sizeof(T));
}

template <class Id, class T>
std::int64_t bytes_of(const IdVector<Id, T>& items) {
  return block(items.size(), sizeof(T));
}

/// Returns the bytes of a list of lists.
template <class Lists>
std::int64_t bytes_of_all(const Lists& lists) {
  std::int64_t bytes = bytes_of(lists);
  for (const auto& list : lists) bytes += bytes_of(list);
  return bytes;
}

/// Returns the bytes of a plan in addition to its sizeof.
std::int64_t bytes_in(const Plan& plan) {
  return bytes_of_all(plan.steps) + bytes_of_all(plan.waits) + bytes_of(plan.layer_of_step) +
         bytes_of(plan.offsets.offset) + bytes_of(plan.branch_peaks);
}

/// Returns the bytes of a compiled graph without its bodies.
std::int64_t bytes_in(const Compiled& compiled) {
  std::int64_t bytes = sizeof(Compiled) + bytes_of(compiled.binding.symbols) +
                       bytes_of(compiled.dims) + bytes_of(compiled.root) +
                       bytes_of(compiled.fixed) + bytes_of(compiled.materialised) +
                       bytes_of(compiled.nodes) + bytes_of(compiled.run_time_readers) +
                       bytes_of(compiled.output_of) + bytes_of(compiled.problem.branch_length) +
                       bytes_of(compiled.problem.buffers) + bytes_of(compiled.buffer_value) +
                       bytes_of(compiled.work) + bytes_of(compiled.groups);
  for (const AlignedBytes& content : compiled.materialised) bytes += content.size() + kBlock;
  for (const NodeId id : compiled.nodes.ids()) {
    const CompiledNode& node = compiled.nodes[id];
    bytes += bytes_of(node.releases) + bytes_of(node.bodies) + bytes_of(node.loop.carried) +
             bytes_of(node.loop.scan_inputs) + bytes_of(node.loop.scan_outputs);
    for (const CompiledBody& body : node.bodies) bytes += bytes_in(body.plan);
    if (node.code.kernel != nullptr && !node.code_is_shared)
      bytes += kKernelBytes + node.code.kernel->table_bytes();
  }
  for (const Buffer& buffer : compiled.problem.buffers) bytes += bytes_of(buffer.reads);
  for (const LayerGroups& groups : compiled.groups)
    bytes += bytes_of_all(groups.parallel) + bytes_of(groups.sequential);
  return bytes;
}

}  // namespace

std::int64_t footprint(const Bound& bound) {
  std::int64_t bytes = sizeof(Bound) + bytes_in(*bound.compiled) + bytes_of_all(bound.fixed) +
                       static_cast<std::int64_t>(bound.run_time_kernels.size()) * kKernelBytes +
                       bound.run_time_kernels.table_bytes();
  for (const auto& [id, programs] : bound.bodies)
    for (const auto& program : programs)
      if (program != nullptr) bytes += footprint(*program) + footprint(*program->bound);
  return bytes;
}

std::int64_t footprint(const Program& program) {
  return sizeof(Program) + bytes_in(program.plan) + bytes_of(program.storage) +
         bytes_of(program.branch_ns) + bytes_of(program.order.waits) +
         bytes_of(program.order.rank) + bytes_of(program.order.by_rank) +
         bytes_of(program.order.ready) + bytes_of(program.order.first_waiting) +
         bytes_of(program.order.past_waiting) + bytes_of(program.order.all_waiting);
}

}  // namespace parallax
