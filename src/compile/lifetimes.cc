#include "compile/lifetimes.h"

#include <algorithm>

#include "ops/op.h"

namespace parallax {
namespace {

/// Each function fills the fields that its name says.
class LifetimeFinder {
 public:
  LifetimeFinder(Compiled& compiled, const Compiled* like)
      : compiled_(compiled), graph_(compiled.graph()), context_(*compiled.context), like_(like) {}

  void run() {
    find_outputs();
    find_internal();
    find_readers();
    find_companions();
  }

 private:
  const std::optional<Dims>& dims(ValueId id) const { return compiled_.dims[id]; }
  bool delegated(NodeId id) const {
    return context_.branches.region[context_.branches.branch_of[id]].valid();
  }
  bool computed(ValueId root) const { return graph_.values[root].kind == ValueKind::kResult; }
  bool planned(ValueId root) const { return computed(root) && dims(root).has_value(); }

  /// Finds the graph output to which each root is written directly: the first one that shares its
  /// bytes and whose memory is known by then. A planned output without one stays in the run's own
  /// memory to the end.
  void find_outputs() {
    compiled_.output_of = IdVector<ValueId, std::int32_t>(graph_.values.size(), -1);
    for (const bool in_time : {true, false}) {
      for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
        const ValueId output = graph_.outputs[i], root = compiled_.root[output];
        if (!computed(root) || compiled_.output_of[root] >= 0) continue;
        const bool known_in_time = output == root || (planned(root) && dims(output));
        if (in_time ? known_in_time : planned(root))
          compiled_.output_of[root] = static_cast<std::int32_t>(i);
      }
    }
  }

  /// Calls visit(root) for each root whose bytes `node` reads, each once. A view reads no bytes of
  /// what it views.
  template <class Visit>
  void for_each_read(const Node& node, Visit visit) {
    std::vector<ValueId>& roots = roots_;
    roots.clear();
    for (std::size_t i = is_view(graph_, node) ? 1 : 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid()) roots.push_back(compiled_.root[node.inputs[i]]);
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    for (const ValueId root : roots) visit(root);
  }

  void find_internal() {
    if (context_.delegation.seconds.empty()) return;
    IdVector<ValueId, bool>& internal = compiled_.internal;
    internal = IdVector<ValueId, bool>(graph_.values.size(), false);
    for (const NodeId id : graph_.nodes.ids()) {
      for (const ValueId output : graph_.nodes[id].outputs)
        if (output.valid() && compiled_.root[output] == output) internal[output] = delegated(id);
      for_each_read(graph_.nodes[id], [&](ValueId root) {
        if (!computed(root)) return;
        const NodeId maker = graph_.values[root].producer;
        if (context_.branches.branch_of[maker] != context_.branches.branch_of[id])
          internal[root] = false;
      });
    }
    for (const ValueId output : graph_.outputs) internal[compiled_.root[output]] = false;
  }

  /// Returns when a region reads a value: a device reads inputs and writes outputs at any time
  /// while it runs.
  Position read_at(NodeId id, ValueId root) const {
    Position position = context_.position[id];
    if (delegated(id) && !compiled_.is_internal(root))
      position.index = compiled_.problem.branch_length[position.branch] - 1;
    return position;
  }
  Position made_at(NodeId id, ValueId root) const {
    Position position = context_.position[id];
    if (delegated(id) && !compiled_.is_internal(root)) position.index = 0;
    return position;
  }

  /// Returns the buffers that `output`, the first output of node `id`, may overwrite.
  std::vector<std::int32_t> overwritable(NodeId id, ValueId output,
                                         const IdVector<ValueId, std::int32_t>& buffer_of) const {
    std::vector<std::int32_t> over;
    const Node& node = graph_.nodes[id];
    const NodeKernel& code = compiled_.nodes[id].code;
    if (code.kernel == nullptr || !code.row->in_place) return over;
    const bool in_region = delegated(id);
    if (in_region && !compiled_.is_internal(output)) return over;
    const auto safe = [&](std::size_t i) {
      const ValueId input = node.inputs[i];
      return code.kernel->overwrites(i) && dims(input) == dims(output) &&
             info_of(graph_.values[input].dtype).bits == info_of(graph_.values[output].dtype).bits;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid() || !safe(i)) continue;
      const ValueId root = compiled_.root[node.inputs[i]];
      // If the node reads the same bytes through another input, that input has to allow it, too.
      bool all_safe = buffer_of[root] >= 0 && (!in_region || compiled_.is_internal(root));
      for (std::size_t j = 0; j < node.inputs.size(); ++j)
        if (node.inputs[j].valid() && compiled_.root[node.inputs[j]] == root && !safe(j))
          all_safe = false;
      if (all_safe) over.push_back(buffer_of[root]);
    }
    return over;
  }

  void find_readers() {
    Compiled& c = compiled_;
    if (like_ != nullptr) {
      c.problem.buffers.reserve(like_->problem.buffers.size());
      c.buffer_value.reserve(like_->buffer_value.size());
    }
    c.run_time_readers = IdVector<ValueId, std::int32_t>(graph_.values.size(), 0);
    IdVector<ValueId, std::int32_t> buffer_of(graph_.values.size(), -1);
    for (const BranchId branch : context_.branches.branches.ids())
      c.problem.branch_length.push_back(
          context_.branches.region[branch].valid() && !context_.delegation.substitute
              ? 1
              : static_cast<std::int32_t>(context_.branches.branches[branch].size()));
    for (const NodeId id : graph_.nodes.ids()) {
      const Node& node = graph_.nodes[id];
      for_each_read(node, [&](ValueId root) {
        if (buffer_of[root] >= 0) {
          Buffer& buffer = c.problem.buffers[static_cast<std::size_t>(buffer_of[root])];
          // Inside a region that only a device runs there is no before and after.
          const Position read = read_at(id, root);
          if (!delegated(id) || buffer.made != read) buffer.reads.push_back(read);
        } else if (!dims(root)) {
          ++c.run_time_readers[root];
          c.nodes[id].releases.push_back(root);
        }
      });
      if (c.nodes[id].workspace_bytes > 0) {
        c.nodes[id].workspace = static_cast<std::int32_t>(c.problem.buffers.size());
        c.problem.buffers.push_back({c.nodes[id].workspace_bytes, context_.position[id], {}});
        c.buffer_value.emplace_back();
      }
      for (const ValueId output : node.outputs) {
        if (!output.valid() || c.root[output] != output || !planned(output)) continue;
        const std::int64_t bytes = bytes_of(graph_.values[output].dtype, *dims(output)).value_or(0);
        const bool nowhere = c.is_internal(output) && !context_.delegation.substitute;
        if (c.output_of[output] >= 0 || bytes == 0 || nowhere) continue;
        buffer_of[output] = static_cast<std::int32_t>(c.problem.buffers.size());
        c.problem.buffers.push_back({bytes, made_at(id, output), {}, {}});
        if (output == node.outputs[0])
          c.problem.buffers.back().over = overwritable(id, output, buffer_of);
        c.buffer_value.push_back(output);
      }
    }
    for (const ValueId output : graph_.outputs) {
      const ValueId root = c.root[output];
      if (!dims(root)) ++c.run_time_readers[root];
    }
  }

  /// Finds the branches that the CPU may run while a device runs a region: those that neither lead
  /// to it nor depend on it. Their bytes must be disjoint from the region's, even in a later step:
  /// otherwise they would have to wait. A region's bytes include those of its fallback. In a body
  /// nothing runs concurrently.
  void find_companions() {
    if (context_.delegation.seconds.empty() || !context_.delegation.body.empty()) return;
    const BranchGraph& branches = context_.branches;
    auto& concurrent = compiled_.problem.concurrent;
    concurrent.resize(branches.branches.size());
    std::size_t left = kMaxCompanions;
    IdVector<BranchId, bool> ordered;
    for (const BranchId region : branches.branches.ids()) {
      if (!branches.region[region].valid()) continue;
      if (left < branches.branches.size()) break;
      left -= branches.branches.size();
      ordered = IdVector<BranchId, bool>(branches.branches.size(), false);
      mark_reached(branches.predecessors, region, ordered);
      mark_reached(branches.successors, region, ordered);
      for (const BranchId other : branches.branches.ids()) {
        if (ordered[other] || branches.region[other].valid()) continue;
        concurrent[region].push_back(other);
        concurrent[other].push_back(region);
      }
    }
  }

  /// Marks `from` and all that a way along `edges` leads to.
  void mark_reached(const IdVector<BranchId, std::vector<BranchId>>& edges, BranchId from,
                    IdVector<BranchId, bool>& reached) {
    reached[from] = true;
    to_visit_.assign(1, from);
    while (!to_visit_.empty()) {
      const BranchId at = to_visit_.back();
      to_visit_.pop_back();
      for (const BranchId next : edges[at]) {
        if (reached[next]) continue;
        reached[next] = true;
        to_visit_.push_back(next);
      }
    }
  }

  /// Branches, counted once for each region: keeps contrived graphs from taking long.
  static constexpr std::size_t kMaxCompanions = 1 << 20;

  Compiled& compiled_;
  const Graph& graph_;
  const GraphContext& context_;
  const Compiled* const like_;
  std::vector<ValueId> roots_;      ///< scratch of for_each_read
  std::vector<BranchId> to_visit_;  ///< scratch of mark_reached
};

}  // namespace

bool is_view(const Graph& graph, const Node& node) {
  return op_def(node.op).aliasing == Aliasing::kView && !node.inputs.empty() &&
         node.inputs[0].valid() && !runs_on_objects(graph, node);
}

void find_lifetimes(Compiled& compiled, const Compiled* like) {
  LifetimeFinder(compiled, like).run();
}

}  // namespace parallax
