// Fuses elementwise operators that read one another into one node, which computes them block after
// block, so that intermediate results never leave the first-level cache.
//
//     pattern  operators of one element per input (ops/chain.h), each but the first reading another
//     guard    all results have one shape; scales of QuantizeLinear and its like are one number;
//              operands of the chain are computed before the first of its results that others
//              read, so that no reader waits longer; no detour computes an operand of the chain
//              from such a result
//     rewrite  ElementwiseChain of all operands, with an output for each result that others read
//
// Nodes are visited in order; each joins the chain of its operands if the guard allows it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/chain.h"
#include "ops/params/quantised.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Types in which kernels compute without conversion.
constexpr DTypeSet kChainTypes = dtypes_where([](const DTypeInfo& type) {
  if (type.kind == DTypeClass::kFloat) return type.bits >= 32;
  return type.kind != DTypeClass::kString && (type.bits == 8 || type.bits >= 32);
});

/// Nodes that become one, ascending.
using Members = std::vector<NodeId>;

/// Returns the last node that each value waits for, including detours; invalid: it waits for no
/// node.
IdVector<ValueId, NodeId> last_nodes_before(const Graph& graph, std::span<const Detour> detours) {
  IdVector<ValueId, NodeId> last(graph.values.size());
  std::vector<NodeId> of_detour(detours.size());
  // This ends: what a detour waits for only moves towards the last node.
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId id : graph.nodes.ids()) {
      NodeId latest = id;
      for (const ValueId input : graph.nodes[id].inputs)
        if (input.valid()) latest = std::max(latest, last[input]);
      for (const ValueId output : graph.nodes[id].outputs)
        if (output.valid()) last[output] = latest;
    }
    for (std::size_t i = 0; i < detours.size(); ++i) {
      NodeId latest;
      for (const std::size_t output : detours[i].outputs)
        latest = std::max(latest, last[graph.outputs[output]]);
      for (const std::size_t other : detours[i].behind) latest = std::max(latest, of_detour[other]);
      if (of_detour[i] == latest) continue;
      of_detour[i] = latest;
      for (const std::size_t input : detours[i].inputs) last[graph.inputs[input]] = latest;
      changed = true;
    }
  }
  return last;
}

class ChainFinder {
 public:
  ChainFinder(const Graph& graph, std::span<const Detour> detours)
      : graph_(graph),
        readers_(graph),
        last_before_(last_nodes_before(graph, detours)),
        group_of_(graph.nodes.size(), kNoGroup) {}

  void run() {
    for (const NodeId id : graph_.nodes.ids())
      if (can_join(graph_.nodes[id])) add(id);
  }

  bool any() const {
    return std::ranges::any_of(groups_, [](const Members& group) { return group.size() > 1; });
  }
  /// Returns the nodes that are fused with `id`; null if it stays alone.
  const Members* chain_of(NodeId id) const {
    const std::size_t group = group_of_[id];
    return group == kNoGroup || groups_[group].size() < 2 ? nullptr : &groups_[group];
  }

  /// Returns true if nodes outside of the chain of `id` read a result of it, or it is the last.
  bool escapes(NodeId id) const {
    const std::size_t group = group_of_[id];
    return escapes({{&group, 1}, groups_[group].back()}, id);
  }

 private:
  static constexpr std::size_t kNoGroup = SIZE_MAX;

  /// The members of some groups, and a node behind them; or a group and its own last member.
  struct Joint {
    std::span<const std::size_t> groups;
    NodeId last;
  };
  bool is_member(const Joint& joint, NodeId id) const {
    return id == joint.last || std::ranges::find(joint.groups, group_of_[id]) != joint.groups.end();
  }
  bool escapes(const Joint& joint, NodeId id) const {
    const ValueId value = graph_.nodes[id].outputs[0];
    if (id == joint.last || readers_.is_output(value)) return true;
    return !std::ranges::all_of(readers_.of(value),
                                [&](NodeId reader) { return is_member(joint, reader); });
  }

  bool can_join(const Node& node) const {
    if (node.outputs.size() != 1 || !node.outputs[0].valid() || !node.epilogue.empty() ||
        node.inputs.size() > kMaxChainOperands || !can_be_chain_step(node.op, node.attributes))
      return false;
    const auto fits = [&](ValueId id) {
      return !id.valid() || contains(kChainTypes, graph_.values[id].dtype);
    };
    if (quantises(node.op) &&
        !std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId id) { return !id.valid() || is_number(id); }))
      return false;
    const Value& result = graph_.values[node.outputs[0]];
    return !result.content && fits(node.outputs[0]) && std::ranges::all_of(node.inputs, fits);
  }

  bool is_number(ValueId id) const {
    return std::ranges::all_of(graph_.values[id].shape,
                               [](const Expr& dim) { return dim.constant() == 1; });
  }

  /// Returns the groups from which `node` reads, the latest first.
  std::vector<std::size_t> groups_before(const Node& node) const {
    const Shape& shape = graph_.values[node.outputs[0]].shape;
    std::vector<std::size_t> groups;
    for (const ValueId input : node.inputs) {
      if (!input.valid() || graph_.values[input].kind != ValueKind::kResult) continue;
      const std::size_t group = group_of_[graph_.values[input].producer];
      if (group != kNoGroup && graph_.values[input].shape == shape) groups.push_back(group);
    }
    std::ranges::sort(groups, [&](std::size_t a, std::size_t b) {
      return groups_[a].back() != groups_[b].back() ? groups_[b].back() < groups_[a].back() : a < b;
    });
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
  }

  /// Returns the node together with `groups`; nullopt if they cannot be fused.
  std::optional<Members> joined(std::span<const std::size_t> groups, NodeId id) const {
    Members members;
    for (const std::size_t group : groups) {
      if (members.size() + groups_[group].size() >= kMaxChainSteps) return std::nullopt;
      members.insert(members.end(), groups_[group].begin(), groups_[group].end());
    }
    std::ranges::sort(members);
    members.push_back(id);
    return may_be_one({groups, id}, members) ? std::optional(std::move(members)) : std::nullopt;
  }

  /// `members`: those of `joint`, ascending.
  bool may_be_one(const Joint& joint, const Members& members) const {
    const NodeId first =
        *std::ranges::find_if(members, [&](NodeId member) { return escapes(joint, member); });
    std::vector<ValueId> read;
    for (const NodeId member : members) {
      for (const ValueId input : graph_.nodes[member].inputs) {
        if (!input.valid()) continue;
        const bool computed = graph_.values[input].kind == ValueKind::kResult;
        const NodeId producer = computed ? graph_.values[input].producer : NodeId{};
        if (computed && is_member(joint, producer)) continue;
        if (first <= last_before_[input]) return false;
        read.push_back(input);
      }
    }
    std::ranges::sort(read);
    read.erase(std::unique(read.begin(), read.end()), read.end());
    return read.size() <= kMaxChainInputs;
  }

  void add(NodeId id) {
    const std::vector<std::size_t> groups = groups_before(graph_.nodes[id]);
    auto members = joined(groups, id);
    for (std::size_t i = 0; !members && i < groups.size(); ++i)
      members = joined(std::span(groups).subspan(i, 1), id);
    if (!members) members = Members{id};
    for (const NodeId member : *members) {
      std::size_t& group = group_of_[member];
      if (group != kNoGroup) groups_[group] = {};  // also releases its capacity
      group = groups_.size();
    }
    groups_.push_back(*std::move(members));
  }

  const Graph& graph_;
  const Readers readers_;
  const IdVector<ValueId, NodeId> last_before_;
  IdVector<NodeId, std::size_t> group_of_;
  std::vector<Members> groups_;
};

/// Makes the node of a chain.
class ChainWriter {
 public:
  ChainWriter(const Graph& graph, const ChainFinder& finder, const Members& members)
      : graph_(graph), finder_(finder), members_(members) {
    chain_.name = graph.nodes[members.back()].name;
    chain_.op = OpKind::kElementwiseChain;
  }

  Node write() {
    for (const NodeId member : members_) add_step(graph_.nodes[member]);
    // The last first: it may be written over an input.
    add_result(members_.size() - 1);
    for (std::size_t s = 0; s + 1 < members_.size(); ++s)
      if (finder_.escapes(members_[s])) add_result(s);
    chain_.attributes = write_chain(program_);
    return std::move(chain_);
  }

 private:
  void add_step(const Node& node) {
    ChainStep step;
    step.op = node.op;
    step.dtype = graph_.values[node.outputs[0]].dtype;
    step.attributes = node.attributes;
    if (quantises(node.op))
      erase_param(step.attributes, &DequantizeLinearParams::axis);  // a block has no axes
    for (const ValueId input : node.inputs) step.operands.push_back(operand(input));
    program_.steps.push_back(std::move(step));
  }

  ChainOperand operand(ValueId value) {
    if (!value.valid()) return {};
    if (graph_.values[value].kind == ValueKind::kResult) {
      const auto at = std::ranges::lower_bound(members_, graph_.values[value].producer);
      if (at != members_.end() && *at == graph_.values[value].producer)
        return {ChainOperand::Kind::kStep, static_cast<std::size_t>(at - members_.begin())};
    }
    const auto known = std::ranges::find(chain_.inputs, value);
    const auto place = static_cast<std::size_t>(known - chain_.inputs.begin());
    if (known == chain_.inputs.end()) chain_.inputs.push_back(value);
    return {ChainOperand::Kind::kInput, place};
  }

  void add_result(std::size_t step) {
    program_.results.push_back(step);
    chain_.outputs.push_back(graph_.nodes[members_[step]].outputs[0]);
  }

  const Graph& graph_;
  const ChainFinder& finder_;
  const Members& members_;
  Node chain_;
  ChainProgram program_;
};

}  // namespace

Result<int> fuse_chain(Graph& graph, const PassContext& context) {
  ChainFinder finder(graph, context.detours);
  finder.run();
  if (!finder.any()) return 0;
  IdVector<NodeId, Node> nodes;
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const Members* const members = finder.chain_of(id);
    if (members == nullptr) {
      nodes.push_back(std::move(graph.nodes[id]));
      continue;
    }
    // The fused node replaces the first of them that others read.
    const auto first =
        std::ranges::find_if(*members, [&](NodeId member) { return finder.escapes(member); });
    if (*first != id) continue;
    nodes.push_back(ChainWriter(graph, finder, *members).write());
    changes += static_cast<int>(members->size());
  }
  graph.nodes = std::move(nodes);
  erase_unused(graph);
  return changes;
}

void decompose_chain(Parts& parts) {
  const auto program = read_chain(parts.node());
  if (!program) return;
  std::vector<ValueId> made;
  for (std::size_t s = 0; s < program->steps.size(); ++s) {
    const ChainStep& step = program->steps[s];
    std::vector<ValueId> inputs;
    for (const ChainOperand& operand : step.operands) {
      if (operand.kind == ChainOperand::Kind::kNone) {
        inputs.emplace_back();
      } else {
        inputs.push_back(operand.kind == ChainOperand::Kind::kInput ? parts.input(operand.index)
                                                                    : made[operand.index]);
      }
    }
    const auto result = std::ranges::find(program->results, s);
    if (result == program->results.end()) {
      made.push_back(parts.op(step.op, std::move(inputs), step.attributes));
    } else {
      const auto o = static_cast<std::size_t>(result - program->results.begin());
      made.push_back(parts.output(o, step.op, std::move(inputs), step.attributes));
    }
  }
}

}  // namespace parallax
