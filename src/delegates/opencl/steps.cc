#include "delegates/opencl/steps.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/status.h"
#include "delegates/opencl/operators.h"
#include "ops/op.h"
#include "ops/params/activation.h"

namespace parallax::opencl {
namespace {

class StepFinder {
 public:
  explicit StepFinder(const Graph& graph)
      : graph_(graph),
        readers_(consumers(graph)),
        is_output_(graph.values.size(), false),
        taken_(graph.nodes.size(), false) {
    for (const ValueId output : graph.outputs) is_output_[output] = true;
  }

  Result<std::vector<Step>> find() {
    for (const NodeId id : graph_.nodes.ids()) {
      if (auto covered = check_node_covered(graph_, graph_.nodes[id]); !covered) {
        covered.error().node = graph_.nodes[id].name;
        return tl::unexpected(covered.error());
      }
    }
    std::vector<std::pair<NodeId, Step>> placed;  // indexed by the last node, at which the step can
                                                  // run
    for (const NodeId id : graph_.nodes.ids()) {
      if (is_product(id) && !taken_[id]) placed.push_back(product_step(id));
    }
    for (std::int32_t i = static_cast<std::int32_t>(graph_.nodes.size()) - 1; i >= 0; --i) {
      const NodeId id{i};
      if (!taken_[id] && is_elementwise(id)) placed.emplace_back(id, chain_step(id));
    }
    for (const NodeId id : graph_.nodes.ids()) {
      if (!taken_[id]) placed.emplace_back(id, plain_step(id));
    }
    std::ranges::sort(placed, {}, [](const auto& entry) { return entry.first; });
    std::vector<Step> steps;
    for (auto& [last, step] : placed) {
      note_values(step);
      steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  bool is_elementwise(NodeId id) const { return elementwise_types(graph_.nodes[id].op) != 0; }
  bool is_product(NodeId id) const {
    const OpKind op = graph_.nodes[id].op;
    return op == OpKind::kConv || op == OpKind::kMatMul || op == OpKind::kGemm;
  }
  const Shape& shape(ValueId value) const { return graph_.values[value].shape; }

  /// Returns the only reader of a value that has no other use; invalid otherwise.
  NodeId sole_reader(ValueId value) const {
    return is_output_[value] || readers_[value].size() != 1 ? NodeId{} : readers_[value][0];
  }

  /// Returns the vector that `id` adds to each row of `sums`; invalid if it does something else.
  ValueId added_vector(NodeId id, ValueId sums) const {
    const Node& node = graph_.nodes[id];
    if (node.op != OpKind::kAdd || shape(node.outputs[0]) != shape(sums)) return {};
    const ValueId other = node.inputs[0] == sums ? node.inputs[1] : node.inputs[0];
    if (other == sums || shape(other).size() != 1 || shape(sums).empty()) return {};
    // Only a constant is certain to be computed before.
    const bool row = shape(other)[0] == shape(sums).back();
    return row && graph_.values[other].constant ? other : ValueId{};
  }

  /// Returns the number by which `id` multiplies the product; nullopt if it does something else.
  std::optional<float> factor_of(NodeId id, ValueId sums) const {
    const Node& node = graph_.nodes[id];
    if (node.op != OpKind::kMul || shape(node.outputs[0]) != shape(sums)) return std::nullopt;
    const ValueId other = node.inputs[0] == sums ? node.inputs[1] : node.inputs[0];
    const auto& constant = graph_.values[other].constant;
    if (!constant || constant->bytes.size() != sizeof(float)) return std::nullopt;
    float factor = 0;
    std::memcpy(&factor, constant->bytes.data(), sizeof(factor));
    return factor;
  }

  /// Returns the activation of `id`, if a kernel of products has it: find() has refused those that
  /// are not in elementwise.def. None of the others has a beta.
  std::optional<Activation> activation_of(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (!is_activation(node.op) || node.op == OpKind::kClip) return std::nullopt;
    if (node.op == OpKind::kGelu && params_of<GeluParams>(node).form != GeluForm::kExact)
      return std::nullopt;
    return Activation{.op = node.op, .alpha = alpha_of(node)};
  }

  /// Returns the step of a product. All its inputs are computed before its node, so it runs in the
  /// node's place.
  std::pair<NodeId, Step> product_step(NodeId id) {
    Step step;
    step.node = id;
    step.result = graph_.nodes[id].outputs[0];
    taken_[id] = true;
    NodeId next = sole_reader(step.result);
    if (graph_.nodes[id].op == OpKind::kMatMul && graph_.nodes[id].inputs.size() == 2) {
      const auto factor = next.valid() ? factor_of(next, step.result) : std::nullopt;
      if (factor) {
        step.scale = *factor;
        next = take(next, step);
      }
      if (next.valid()) step.added = added_vector(next, step.result);
      if (step.added.valid()) next = take(next, step);
    }
    const auto activation = next.valid() ? activation_of(next) : std::nullopt;
    if (activation) {
      step.activation = *activation;
      take(next, step);
    }
    return {id, std::move(step)};
  }
  /// Makes `id` a part of the step; who alone reads the result then.
  NodeId take(NodeId id, Step& step) {
    taken_[id] = true;
    step.result = graph_.nodes[id].outputs[0];
    return sole_reader(step.result);
  }

  Step plain_step(NodeId id) {
    Step step;
    step.kind =
        op_def(graph_.nodes[id].op).aliasing == Aliasing::kView ? StepKind::kView : StepKind::kNode;
    step.node = id;
    step.result = graph_.nodes[id].outputs[0];
    taken_[id] = true;
    return step;
  }

  /// Returns the inputs of the chain from outside, each once, with `more` included in the chain.
  std::vector<ValueId> operands_with(const std::set<NodeId>& nodes, NodeId more) const {
    std::vector<ValueId> operands;
    const auto inside = [&](ValueId value) {
      const NodeId producer = graph_.values[value].producer;
      return graph_.values[value].kind == ValueKind::kResult && producer.valid() &&
             (nodes.contains(producer) || producer == more);
    };
    const auto add_of = [&](NodeId id) {
      for (const ValueId input : graph_.nodes[id].inputs) {
        if (input.valid() && !inside(input) && std::ranges::find(operands, input) == operands.end())
          operands.push_back(input);
      }
    };
    for (const NodeId id : nodes) add_of(id);
    if (!nodes.contains(more)) add_of(more);
    return operands;
  }

  bool may_join(NodeId id, const std::set<NodeId>& nodes, ValueId result) const {
    if (taken_[id] || !is_elementwise(id) || nodes.size() >= kMaxChained) return false;
    const ValueId made = graph_.nodes[id].outputs[0];
    if (is_output_[made] || shape(made) != shape(result)) return false;
    const auto& readers = readers_[made];
    return std::ranges::all_of(readers, [&](NodeId reader) { return nodes.contains(reader); }) &&
           operands_with(nodes, id).size() <= kMaxOperands;
  }

  /// Returns a chain that ends with `last`: nodes of the same shape join if only the chain reads
  /// their results.
  Step chain_step(NodeId last) {
    Step step;
    step.kind = StepKind::kChain;
    step.node = last;
    step.result = graph_.nodes[last].outputs[0];
    std::set<NodeId> nodes{last};
    // Descending order: all readers of a node have been asked before it is.
    std::set<NodeId> asked;
    std::set<NodeId, std::greater<>> open{last};
    while (!open.empty()) {
      const NodeId id = *open.begin();
      open.erase(open.begin());
      if (!asked.insert(id).second) continue;
      if (id != last && !may_join(id, nodes, step.result)) continue;
      nodes.insert(id);
      for (const ValueId input : graph_.nodes[id].inputs) {
        if (input.valid() && graph_.values[input].kind == ValueKind::kResult)
          open.insert(graph_.values[input].producer);
      }
    }
    step.chain = {{nodes.begin(), nodes.end()}, operands_with(nodes, last), step.result};
    for (const NodeId id : nodes) taken_[id] = true;
    return step;
  }

  void note_values(Step& step) const {
    if (step.kind == StepKind::kChain) {
      step.reads = step.chain.operands;
      step.makes = {step.result};
      return;
    }
    for (const ValueId input : graph_.nodes[step.node].inputs)
      if (input.valid()) step.reads.push_back(input);
    if (step.added.valid()) step.reads.push_back(step.added);
    step.makes = {step.result};
    const auto& outputs = graph_.nodes[step.node].outputs;
    for (std::size_t i = 1; i < outputs.size(); ++i)
      if (outputs[i].valid()) step.makes.push_back(outputs[i]);
  }

  const Graph& graph_;
  IdVector<ValueId, std::vector<NodeId>> readers_;
  IdVector<ValueId, bool> is_output_;
  IdVector<NodeId, bool> taken_;
};

}  // namespace

Result<std::vector<Step>> find_steps(const Graph& graph) { return StepFinder(graph).find(); }

}  // namespace parallax::opencl
