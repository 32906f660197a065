#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "compile/compile_bodies.h"
#include "compile/compiled.h"
#include "compile/lifetimes.h"
#include "ir/elements.h"
#include "ops/infer.h"

namespace parallax {
namespace {

Result<AlignedBytes> materialise(const Graph& graph, const Value& value, const Binding& binding) {
  const std::vector<Expr>& content = *value.content;
  PX_ASSIGN(AlignedBytes bytes,
            AlignedBytes::allocate(bytes_of(value.dtype, std::ssize(content)).value_or(0)));
  for (std::size_t i = 0; i < content.size(); ++i) {
    const auto element = content[i].evaluate(binding.symbols);
    if (!element) {
      return tl::unexpected(
          Error{Stage::kCompile, ErrorCode::kInvalidInput, "",
                fmt::format("element {} of '{}' cannot be computed: {}", i, value.name,
                            content[i].to_string(graph.symbol_names()))});
    }
    store_integer(value.dtype, *element, bytes.data(), i);
  }
  return bytes;
}

/// Makes a Compiled step by step; each function fills the fields that its name says.
class Compiler {
 public:
  Compiler(std::shared_ptr<GraphContext> context, const Binding& binding, KernelChoice kernels,
           const Compiled* like)
      : compiled_(std::make_shared<Compiled>()),
        graph_(context->graph),
        context_(*context),
        like_(like) {
    compiled_->context = std::move(context);
    compiled_->binding = binding;
    compiled_->kernels = kernels;
  }

  Result<std::shared_ptr<const Compiled>> run(Refinement refinement) {
    PX_ASSIGN(compiled_->dims, concrete_shapes(graph_, compiled_->binding));
    // A body may get tensors whose sizes only running tells.
    for (const ValueId id : graph_.inputs) compiled_->has_run_time_nodes |= !compiled_->dims[id];
    PX_RETURN_IF_ERROR(find_fixed());
    find_roots();
    compiled_->nodes.resize(graph_.nodes.size());
    for (const NodeId id : graph_.nodes.ids()) PX_RETURN_IF_ERROR(compile_node(id));
    find_lifetimes(*compiled_, like_);
    find_groups(refinement);
    return std::shared_ptr<const Compiled>(std::move(compiled_));
  }

 private:
  Status find_fixed() {
    compiled_->fixed.resize(graph_.values.size());
    for (const ValueId id : graph_.values.ids()) {
      const Value& value = graph_.values[id];
      compiled_->has_run_time_nodes |= is_object(value);
      if (value.kind == ValueKind::kConstant) compiled_->fixed[id] = bytes_of_constant(id);
      if (value.kind != ValueKind::kSymbolic) continue;
      PX_ASSIGN(AlignedBytes bytes, materialise(graph_, value, compiled_->binding));
      compiled_->fixed[id] = bytes.data();
      compiled_->materialised.push_back(std::move(bytes));
    }
    return {};
  }

  const std::byte* bytes_of_constant(ValueId id) const {
    const auto strings = context_.strings.find(id);
    return strings == context_.strings.end() ? graph_.values[id].constant->bytes.data()
                                             : reinterpret_cast<const std::byte*>(&strings->second);
  }

  void find_roots() {
    compiled_->root.resize(graph_.values.size());
    for (const ValueId id : graph_.values.ids()) compiled_->root[id] = id;
    for (const Node& node : graph_.nodes)
      if (is_view(graph_, node) && !node.outputs.empty() && node.outputs[0].valid())
        compiled_->root[node.outputs[0]] = compiled_->root[node.inputs[0]];
  }

  const std::optional<Dims>& dims(ValueId id) const { return compiled_->dims[id]; }

  bool all_known(const Node& node) const {
    const auto known = [&](ValueId id) { return !id.valid() || dims(id).has_value(); };
    return std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), known);
  }

  /// Infers the concrete output shapes again. Symbolic inference assumes that dimensions of
  /// different names are equal if they must agree; here they are checked with the real sizes, and
  /// so are elements that a node computes but the binding determines. Returns whether the kernel
  /// must size an output.
  Result<bool> check_shapes(const Node& node) const {
    std::vector<RuntimeInput> inputs(node.inputs.size());
    std::vector<AlignedBytes> told;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (!id.valid()) continue;
      const std::byte* bytes = compiled_->fixed[compiled_->root[id]];
      if (op_def(node.op).decides_shape(i) && bytes == nullptr && dims(id)->elements() > 0) {
        const Value& value = graph_.values[id];
        auto elements = value.content ? materialise(graph_, value, compiled_->binding)
                                      : tl::unexpected(Error{});
        if (!elements) return false;
        bytes = told.emplace_back(*std::move(elements)).data();
      }
      inputs[i] = {true, graph_.values[id].dtype, *dims(id), bytes};
    }
    PX_ASSIGN(const auto inferred, infer_runtime(node, inputs));
    bool dynamic = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const Dims& expected = *dims(node.outputs[i]);
      if (!inferred[i]) {
        dynamic = true;
      } else if (!(*inferred[i] == expected)) {
        return tl::unexpected(
            Error{Stage::kCompile, ErrorCode::kInvalidInput, node.name,
                  fmt::format(
                      "{}: output {} has shape {} for these inputs, the model's dimensions say {}",
                      to_string(node.op), i, inferred[i]->to_string(), expected.to_string())});
      }
    }
    return dynamic;
  }

  /// Loop and Scan cut tensors into slices of whole bytes.
  Status check_slices(const Node& node) const {
    std::vector<ValueId> cut;
    if (node.op == OpKind::kScan) cut = node.inputs;
    // A Loop's trip count and condition stand before what it carries.
    const std::size_t whole = node.op == OpKind::kLoop ? node.inputs.size() - node.captures - 2 : 0;
    if (node.op == OpKind::kScan || node.op == OpKind::kLoop)
      cut.insert(cut.end(), node.outputs.begin() + static_cast<std::ptrdiff_t>(whole),
                 node.outputs.end());
    for (const ValueId id : cut) {
      if (!id.valid() || is_object(graph_.values[id]) || info_of(graph_.values[id].dtype).bits >= 8)
        continue;
      return tl::unexpected(Error{Stage::kCompile, ErrorCode::kUnsupported, node.name,
                                  fmt::format("{}: slices of '{}', whose elements are below a byte",
                                              to_string(node.op), graph_.values[id].name)});
    }
    return {};
  }

  /// Tensors in memory have a fixed size.
  Status check_types(const Node& node) const {
    const auto check = [&](ValueId id) -> Status {
      if (!id.valid() || contains(kSizedTypes, graph_.values[id].dtype) ||
          is_object(graph_.values[id]))
        return {};
      return tl::unexpected(
          Error{Stage::kCompile, ErrorCode::kUnsupported, node.name,
                fmt::format("{}: '{}' is {}, which no kernel takes", to_string(node.op),
                            graph_.values[id].name, to_string(graph_.values[id].dtype))});
    };
    for (const ValueId id : node.inputs) PX_RETURN_IF_ERROR(check(id));
    for (const ValueId id : node.outputs) PX_RETURN_IF_ERROR(check(id));
    return check_slices(node);
  }

  Status compile_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    CompiledNode& compiled = compiled_->nodes[id];
    PX_RETURN_IF_ERROR(check_types(node));
    if (!node.bodies.empty()) return compile_bodies(*compiled_, id);
    if (runs_on_objects(graph_, node)) {
      compiled.role = NodeRole::kObjects;
      compiled_->has_run_time_nodes = true;
      return {};
    }
    if (like_ != nullptr && unchanged(node)) return copy_node(id);
    bool run_time = !all_known(node);
    if (const NodeId alike = context_.alike[id]; alike != id) {
      run_time = compiled_->nodes[alike].role == NodeRole::kRunTime;
    } else if (!run_time) {
      PX_ASSIGN(run_time, check_shapes(node));
    }
    if (run_time) {
      compiled.role = NodeRole::kRunTime;
      compiled_->has_run_time_nodes = true;
      return {};
    }
    if (delegated(id)) {
      compiled.role = NodeRole::kDelegated;
    } else if (is_view(graph_, node)) {
      compiled.role = NodeRole::kView;
      return {};
    } else if (same_kernel(id, context_.alike[id])) {
      const CompiledNode& alike = compiled_->nodes[context_.alike[id]];
      compiled.code = alike.code;
      compiled.code_is_shared = true;
      compiled.macs = alike.macs;
      compiled.bytes = alike.bytes;
      compiled.seconds = alike.seconds;
      return {};
    }
    return make_node(id);
  }

  Status make_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    CompiledNode& compiled = compiled_->nodes[id];
    std::vector<Dims> inputs;
    std::vector<Dims> outputs;
    inputs.reserve(node.inputs.size());
    outputs.reserve(node.outputs.size());
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? *dims(input) : Dims{});
    for (const ValueId output : node.outputs)
      outputs.push_back(output.valid() ? *dims(output) : Dims{});
    compiled.macs = op_def(node.op).macs(node, inputs, outputs);
    count_bytes(node, compiled);
    if (compiled.role == NodeRole::kDelegated &&
        (!context_.delegation.substitute || is_view(graph_, node)))
      return {};
    PX_ASSIGN(compiled.code, make_node_kernel(*compiled_, id, inputs, outputs));
    compiled.seconds =
        kernel_seconds({node.op, compiled.code.row->name, static_cast<double>(compiled.macs),
                        static_cast<double>(compiled.bytes)});
    return count_scratch(node, *compiled.code.kernel);
  }

  Status count_scratch(const Node& node, const Kernel& kernel) {
    const auto scratch = checked_align(kernel.scratch_bytes(), kAlignment);
    if (!scratch) {
      return tl::unexpected(Error{Stage::kCompile, ErrorCode::kOutOfMemory, node.name,
                                  "the kernel's scratch does not fit 63 bits"});
    }
    compiled_->scratch_bytes = std::max(compiled_->scratch_bytes, *scratch);
    return {};
  }

  /// Returns whether the kernel of `alike`, a result of find_equivalent(), can be used for `id`:
  /// neither has weights that the other lacks.
  bool same_kernel(NodeId id, NodeId alike) const {
    if (alike == id || compiled_->nodes[alike].code.kernel == nullptr) return false;
    const Node& node = graph_.nodes[id];
    const Node& other = graph_.nodes[alike];
    const auto fixed = [&](ValueId value) {
      return compiled_->fixed[compiled_->root[value]] != nullptr;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == other.inputs[i] || op_def(node.op).decides_shape(i)) continue;
      if (fixed(input) || fixed(other.inputs[i])) return false;
    }
    return true;
  }

  /// Returns whether a kernel of `like_` would be made from the same inputs and outputs. Symbolic
  /// values have different bytes in each binding.
  bool unchanged(const Node& node) const {
    const auto same = [&](ValueId id) {
      return !id.valid() || (dims(id) && dims(id) == like_->dims[id] &&
                             graph_.values[compiled_->root[id]].kind != ValueKind::kSymbolic);
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (op_def(node.op).decides_shape(i) && !has_fixed_elements(node.inputs[i])) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), same) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), same);
  }

  /// Returns whether everything known of the elements, which check_shapes() reads, is the same in
  /// each binding.
  bool has_fixed_elements(ValueId id) const {
    if (!id.valid() || !graph_.values[id].content) return true;
    return std::ranges::all_of(*graph_.values[id].content,
                               [](const Expr& element) { return element.constant().has_value(); });
  }

  Status copy_node(NodeId id) {
    const CompiledNode& from = like_->nodes[id];
    CompiledNode& to = compiled_->nodes[id];
    to.role = from.role;
    to.code = from.code;
    to.code_is_shared = true;
    to.macs = from.macs;
    to.bytes = from.bytes;
    to.seconds = from.seconds;
    compiled_->has_run_time_nodes |= to.role == NodeRole::kRunTime;
    return to.code.kernel == nullptr ? Status{} : count_scratch(graph_.nodes[id], *to.code.kernel);
  }

  void count_bytes(const Node& node, CompiledNode& compiled) const {
    const auto add = [&](ValueId id) {
      if (!id.valid()) return;
      const std::int64_t bytes = bytes_of(graph_.values[id].dtype, *dims(id)).value_or(0);
      compiled.bytes = checked_add(compiled.bytes, bytes).value_or(compiled.bytes);
    };
    for (const ValueId id : node.inputs) add(id);
    for (const ValueId id : node.outputs) add(id);
  }

  bool delegated(NodeId id) const {
    return context_.branches.region[context_.branches.branch_of[id]].valid();
  }

  /// Computes the predicted seconds of each branch, and which branches may run concurrently.
  void find_groups(Refinement refinement) {
    const BranchGraph& graph = context_.branches;
    IdVector<BranchId, double> seconds(graph.branches.size(), 0);
    IdVector<BranchId, double> macs(graph.branches.size(), 0);
    for (const BranchId branch : graph.branches.ids()) {
      for (const NodeId id : graph.branches[branch]) {
        const CompiledNode& node = compiled_->nodes[id];
        macs[branch] += static_cast<double>(node.macs);
        seconds[branch] += predicted_work(node);
      }
      if (const RegionId region = graph.region[branch]; region.valid())
        seconds[branch] = context_.delegation.seconds[region];
    }
    switch (refinement) {
      case Refinement::kTime:
        compiled_->groups = refine_by_time(graph, seconds);
        break;
      case Refinement::kPaper:
        compiled_->groups = refine_by_paper(graph, macs);
        break;
      case Refinement::kNone:
        compiled_->groups = refine_nothing(graph);
        break;
    }
    compiled_->work = std::move(seconds);
  }

  std::shared_ptr<Compiled> compiled_;
  const Graph& graph_;
  GraphContext& context_;
  const Compiled* const like_;
};

}  // namespace

Result<std::shared_ptr<const Compiled>> compile(std::shared_ptr<GraphContext> context,
                                                const Binding& binding, KernelChoice kernels,
                                                Refinement refinement, const Compiled* like) {
  return Compiler(std::move(context), binding, kernels, like).run(refinement);
}

}  // namespace parallax
