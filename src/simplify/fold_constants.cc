// Computes nodes whose inputs are all constants at load time, but DequantizeLinear not before
// integer kernels have been selected. Three limits keep a small file from asking for much memory or
// time: on the bytes of one result, and, over the whole model, on the bytes of all results and on
// the work. Nodes beyond the limits stay in the graph and are computed in each run. Large results
// are deferred: they count in the limits here and are computed when they are bound.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/saturating.h"
#include "base/status.h"
#include "ir/charge.h"
#include "ops/deferred.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "simplify/narrow_form.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

constexpr std::int64_t kSmallResult = 1 << 20;   ///< may be larger than what it is made from
constexpr std::int64_t kLargeResult = 16 << 20;  ///< may be kMaxGrowth times what it is made from
constexpr std::int64_t kMaxGrowth = 4;
constexpr std::int64_t kMaxWidening = 8;          ///< from bytes to 64 bits, or 4 bits to 32
constexpr std::int64_t kUnsizedInput = 64 << 10;  ///< for results of run-time size

std::optional<Dims> dims_of(const Value& value) {
  Dims dims;
  for (const Expr& dim : value.shape) {
    if (!dim.constant()) return std::nullopt;
    dims.push_back(*dim.constant());
  }
  return dims;
}

/// Multiply-adds and the like of the reference kernel.
std::int64_t products(const Node& node, std::span<const Dims> inputs,
                      std::span<const Dims> outputs) {
  const auto macs = op_def(node.op).macs;
  std::int64_t count = macs == nullptr ? 0 : macs(node, inputs, outputs);
  // At worst every box is compared with every other.
  if (node.op == OpKind::kNonMaxSuppression) count = saturating_mul(count, inputs[0][1]);
  for (const Dims& dims : outputs) {
    const auto elements = dims.rank() == 0 ? 1 : dims.checked_elements();
    count = saturating_add(count, elements.value_or(std::numeric_limits<std::int64_t>::max()));
  }
  return saturating_mul(count, LoadQuota::kWorkPerProduct);
}

/// Returns true for operators that read only the part of their input that they copy.
bool reads_part(OpKind op) {
  return op == OpKind::kGather || op == OpKind::kGatherND || op == OpKind::kSlice ||
         op == OpKind::kShape;
}

/// Returns true for operators that change the type of each element: a chain of them cannot multiply
/// the bytes any further.
bool converts_elements(OpKind op) { return op == OpKind::kCast || op == OpKind::kDequantizeLinear; }

struct NodeAlone {
  std::shared_ptr<const Graph> graph;
  std::vector<Constant> sources;
};

/// Returns a graph of one node, whose inputs are constants.
NodeAlone node_alone(const Graph& from, NodeId id) {
  NodeAlone result;
  auto graph = std::make_shared<Graph>();
  Node node = from.nodes[id];
  for (ValueId& input : node.inputs) {
    if (!input.valid()) continue;
    result.sources.push_back(*from.values[input].constant);
    input = graph->values.push_back(from.values[input]);
  }
  node.outputs[0] = graph->values.push_back(from.values[node.outputs[0]]);
  graph->nodes.push_back(std::move(node));
  result.graph = std::move(graph);
  return result;
}

class Folder {
 public:
  /// `dequantises`: also DequantizeLinear.
  Folder(Graph& graph, const PassContext& context, bool dequantises)
      : graph_(graph),
        dequantises_(dequantises),
        evaluate_(context.evaluate),
        evaluate_into_(context.evaluate_into),
        quota_(context.quota),
        defers_(context.evaluate_into != nullptr),
        reads_left_(graph.values.size(), 0),
        read_at_once_(graph.values.size(), false) {
    count_reads();
    if (defers_) find_read_at_once();
  }

  int run() {
    int changes = 0;
    for (const NodeId id : graph_.nodes.ids()) {
      if (fold_view(id)) {
        release_inputs(graph_.nodes[id]);
      } else if (!compute(id)) {
        continue;
      }
      ++changes;
    }
    // Other passes make copies too.
    if (!quota_->half_is_left()) compute_deferred();
    return changes;
  }

 private:
  /// Counts the readers of each value; a graph output counts as one more.
  void count_reads() {
    for (const ValueId id : graph_.outputs) ++reads_left_[id];
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.inputs)
        if (id.valid()) ++reads_left_[id];
    }
  }

  /// Finds nodes that read their inputs immediately: deferring these inputs would need memory of
  /// its own, page by page, while results computed one after the other reuse the same memory.
  void find_read_at_once() {
    IdVector<ValueId, bool> constant(graph_.values.size(), false);
    for (const ValueId id : graph_.values.ids())
      constant[id] = graph_.values[id].constant.has_value();
    std::vector<NodeId> made;  // nodes whose inputs are constants, or such nodes' results
    for (const NodeId id : graph_.nodes.ids()) {
      const Node& node = graph_.nodes[id];
      const bool waits = node.op == OpKind::kDequantizeLinear && !dequantises_;
      if (waits || !node.bodies.empty() || op_def(node.op).random ||
          runs_on_objects(graph_, node) || !std::ranges::all_of(node.inputs, [&](ValueId input) {
            return !input.valid() || constant[input];
          }))
        continue;
      made.push_back(id);
      for (const ValueId output : node.outputs)
        if (output.valid()) constant[output] = true;
    }
    std::ranges::reverse(made);
    for (const NodeId id : made) {
      const Node& node = graph_.nodes[id];
      if (node.outputs.size() == 1 && may_wait(node.outputs[0])) continue;
      for (const ValueId input : node.inputs)
        if (input.valid()) read_at_once_[input] = true;
    }
  }

  bool may_wait(ValueId result) const {
    if (!result.valid() || read_at_once_[result]) return false;
    const auto dims = dims_of(graph_.values[result]);
    return dims && may_be_deferred(graph_.values[result].dtype, *dims);
  }

  /// Releases the bytes that only folded nodes read, so that the next results reuse their memory:
  /// it is in the caches, and no new page is needed.
  void release_inputs(const Node& folded) {
    for (const ValueId id : folded.inputs) {
      if (id.valid() && --reads_left_[id] == 0) graph_.values[id].constant.reset();
    }
  }

  /// Folds a Reshape of a constant without copying: weights stay in their file.
  bool fold_view(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (op_def(node.op).aliasing != Aliasing::kView || node.outputs.size() != 1) return false;
    if (node.inputs.empty() || !node.inputs[0].valid() || !node.outputs[0].valid()) return false;
    const ValueId output = node.outputs[0];
    const auto dims = dims_of(graph_.values[output]);
    const auto& input = graph_.values[node.inputs[0]].constant;
    if (!input || !dims || dims->checked_elements() != input->dims.checked_elements()) return false;
    if (graph_.values[output].dtype != input->dtype) return false;
    Constant view = *input;
    view.dims = *dims;
    make_constant_value(graph_, output, std::move(view));
    return true;
  }

  /// The inputs of a node's computation.
  struct Source {
    std::int64_t bytes = 0, weights = 0;  ///< bytes of the inputs, and of weights in other files
                                          ///< among them
    ChargedBytes back;                    ///< returned by inputs that have no other reader
  };
  Source source_of(const Node& node) const {
    Source source;
    std::map<ValueId, std::int32_t> reads;
    for (const ValueId id : node.inputs) {
      if (!id.valid()) continue;
      const Constant& constant = *graph_.values[id].constant;
      source.bytes += std::ssize(constant.bytes);
      source.weights += weight_bytes(constant);
      if (++reads[id] != reads_left_[id]) continue;
      const ChargedBytes paid = charged_for(constant);
      source.back.bytes += paid.bytes;
      source.back.weight_bytes += paid.weight_bytes;
    }
    return source;
  }

  bool affordable(std::int64_t bytes, const Source& source) const {
    return can_charge(*quota_, bytes, source.weights, source.back);
  }

  bool all_constant(const Node& node) const {
    if (node.op == OpKind::kDequantizeLinear && !dequantises_) return false;
    return node.bodies.empty() && !op_def(node.op).random && !runs_on_objects(graph_, node) &&
           std::ranges::all_of(node.inputs, [this](ValueId id) {
             return !id.valid() || graph_.values[id].constant;
           });
  }

  struct Cost {
    std::int64_t work = 0, bytes = 0;
  };
  /// Returns the cost of computing the node, whose inputs are constants; nullopt if a limit forbids
  /// it.
  std::optional<Cost> cost_of(const Node& node, const Source& source) const {
    std::vector<Dims> inputs, outputs;
    for (const ValueId id : node.inputs)
      inputs.push_back(id.valid() ? graph_.values[id].constant->dims : Dims{});
    std::int64_t work = source.bytes, result = 0;
    // Unaligned bytes are copied whole before a kernel reads a part.
    if (reads_part(node.op) && is_aligned(node.inputs[0])) work = 0;
    bool any_output = false;
    for (const ValueId id : node.outputs) {
      const auto dims = id.valid() ? dims_of(graph_.values[id]) : Dims{};
      outputs.push_back(dims.value_or(Dims{}));
      if (!id.valid()) continue;
      any_output = true;
      const auto bytes = result_bytes(node.op, graph_.values[id], dims, source.bytes);
      if (!bytes) return std::nullopt;
      result = saturating_add(result, *bytes);
    }
    if (!any_output) return std::nullopt;
    work = saturating_add(work, result);
    return Cost{saturating_add(work, products(node, inputs, outputs)), result};
  }

  bool is_aligned(ValueId constant) const {
    const std::byte* const data = graph_.values[constant].constant->bytes.data();
    return reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0;
  }

  /// Returns the bytes of one result; nullopt if they are too many. Results of run-time size grow
  /// by at most rank x 8 bytes, so small inputs are harmless.
  std::optional<std::int64_t> result_bytes(OpKind op, const Value& value,
                                           const std::optional<Dims>& dims,
                                           std::int64_t input_bytes) const {
    if (!dims) return input_bytes <= kUnsizedInput ? std::optional(kSmallResult) : std::nullopt;
    const auto bytes = bytes_of(value.dtype, *dims);
    if (!bytes) return std::nullopt;
    const bool grows_little = converts_elements(op)
                                  ? *bytes / kMaxWidening <= input_bytes
                                  : *bytes <= kLargeResult && *bytes / kMaxGrowth <= input_bytes;
    if (*bytes > kSmallResult && *bytes > input_bytes && !grows_little) return std::nullopt;
    return bytes;
  }

  bool compute(NodeId id) {
    if (!all_constant(graph_.nodes[id])) return false;
    Source source = source_of(graph_.nodes[id]);
    const auto cost = cost_of(graph_.nodes[id], source);
    if (!cost) return false;
    if (!affordable(cost->bytes, source)) {
      compute_deferred();
      source = source_of(graph_.nodes[id]);
      if (!affordable(cost->bytes, source)) return false;
    }
    if (!quota_->take_work(cost->work)) return false;  // spent whether or not it succeeds
    if (defer_result(id, source)) return true;
    const std::vector<ValueId> outputs = graph_.nodes[id].outputs;
    if (!compute_inputs(graph_.nodes[id])) return false;
    auto results = evaluate_(graph_, id);
    if (!results || results->size() < outputs.size()) return false;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].valid()) bytes += std::ssize((*results)[i].bytes);
    if (!affordable(bytes, source)) return false;
    release_inputs(graph_.nodes[id]);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid()) continue;
      charge(quota_, (*results)[i], source.weights);
      make_constant_value(graph_, outputs[i], std::move((*results)[i]));
    }
    return true;
  }

  bool compute_inputs(const Node& node) const {
    return std::ranges::all_of(node.inputs, [this](ValueId id) {
      return !id.valid() || compute_for_good(*graph_.values[id].constant);
    });
  }

  /// Computes deferred constants, which releases their sources, and stops deferring.
  void compute_deferred() {
    if (!std::exchange(defers_, false)) return;
    for (const Value& value : graph_.values)
      if (value.constant && holds_memory(*value.constant)) (void)compute_for_good(*value.constant);
  }

  /// Returns whether the result of a node of constants may be deferred.
  bool may_wait(const Node& node) const {
    if (!defers_ || node.outputs.size() != 1 || !may_wait(node.outputs[0])) return false;
    return std::ranges::all_of(node.inputs, [this](ValueId id) {
      return !id.valid() || deferred_depth(*graph_.values[id].constant) < kMaxDeferredDepth;
    });
  }

  /// The result of a node with dimensions `dims`.
  Constant deferred(NodeId id, const Dims& dims, const NarrowForm& form) const {
    const DType dtype = graph_.values[graph_.nodes[id].outputs[0]].dtype;
    if (graph_.nodes[id].op == OpKind::kTranspose && dtype == DType::kF32 && form.stored &&
        form.stored->source.dtype != DType::kF32) {
      // Not of the deferred f32 that is transposed, which would be kept and charged as well.
      const auto fill = [form, dims](std::span<std::byte> into) -> Status {
        write_numbers(form, dims, into);
        return {};
      };
      return defer(dtype, dims, {form.stored->source}, fill, form.stored);
    }
    auto [alone, sources] = node_alone(graph_, id);
    return defer(
        dtype, dims, std::move(sources),
        [evaluate = evaluate_into_, graph = std::move(alone)](std::span<std::byte> into) -> Status {
          return evaluate(*graph, NodeId{0}, into);
        },
        form.stored);
  }

  /// Returns false if the result may not be deferred, or its memory exceeds the quota together
  /// with the sources.
  bool defer_result(NodeId id, const Source& source) {
    if (!may_wait(graph_.nodes[id])) return false;
    const ValueId output = graph_.nodes[id].outputs[0];
    const Dims dims = *dims_of(graph_.values[output]);
    const DType dtype = graph_.values[output].dtype;
    if (!can_charge(*quota_, *bytes_of(dtype, dims), source.weights)) return false;
    // The stored elements of other dtypes are known of a Transpose alone.
    const bool has_form = dtype == DType::kF32 || graph_.nodes[id].op == OpKind::kTranspose;
    const NarrowForm form = has_form ? narrow_form(graph_, graph_.nodes[id]) : NarrowForm{};
    Constant constant = deferred(id, dims, form);
    constant.is_half = form.is_half;
    constant.units = form.units;
    charge(quota_, constant, source.weights);
    release_inputs(graph_.nodes[id]);
    make_constant_value(graph_, output, std::move(constant));
    return true;
  }

  Graph& graph_;
  const bool dequantises_;
  const Evaluate& evaluate_;
  const EvaluateInto& evaluate_into_;
  const std::shared_ptr<LoadQuota>& quota_;
  bool defers_;
  IdVector<ValueId, std::int32_t> reads_left_;  ///< number of reads by nodes that are not folded
  IdVector<ValueId, bool> read_at_once_;        ///< read by nodes of constants that are computed
                                                ///< immediately, for small results
};

Result<int> fold(Graph& graph, const PassContext& context, bool dequantises) {
  if (!context.evaluate) return 0;
  const int changes = Folder(graph, context, dequantises).run();
  if (changes == 0) return 0;
  erase_unused(graph);
  PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes;
}

}  // namespace

Result<int> fold_constants(Graph& graph, const PassContext& context) {
  return fold(graph, context, false);
}

Result<int> fold_dequantised(Graph& graph, const PassContext& context) {
  return fold(graph, context, true);
}

}  // namespace parallax
