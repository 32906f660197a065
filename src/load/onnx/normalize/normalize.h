// Rewrites operators of the operator sets 1 to 28 into the newest form, the only one that the graph
// knows. Makes attributes that became inputs constant inputs. Replaces renamed and removed
// operators by their successors, and operators that the graph does not have by their definitions.
// There is a rule for each operator that ever changed (normalize.cc) and for each operator of
// another domain (microsoft.cc); an operator without a rule means the same in every set and is not
// changed.
//
// The assembler calls a rule for each node once, after the node's inputs were made and before the
// node is written. Rules may ask for types of inputs through FileNode::infer; in bodies dimensions
// may still be unknown. Not thread-safe: one graph, one thread. Errors of rules: kInvalidModel for
// attributes of the wrong type and inputs that are missing, kUnsupported for what the newest form
// cannot express; the messages begin with the operator's name in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "load/graph_writer.h"
#include "load/onnx/proto/proto.h"
#include "load/onnx/structure.h"

namespace parallax {

/// Returns the name of node `index` of a file's graph; "Conv_17" if the file gives none. Names that
/// are made so may clash; GraphWriter makes them unique.
std::string onnx_node_name(const OnnxNode& node, std::size_t index);

/// Returns whether operator `op_type` of `domain` can be loaded from operator set `opset`. `domain`
/// is "" for ai.onnx; ai.onnx.ml, ai.onnx.preview and com.microsoft are known too. `opset` is the
/// version that the node's model or function imports. What a rule refuses in particular is not
/// known here.
bool is_supported_operator(std::string_view domain, std::string_view op_type, std::int64_t opset);

/// Returns true for Constant of ai.onnx.
inline bool is_constant(const OnnxNode& node) {
  return node.op_type == "Constant" && node.domain.empty();
}
/// Returns true for SequenceMap of ai.onnx, which becomes a Loop.
inline bool is_sequence_map(const OnnxNode& node) {
  return node.op_type == "SequenceMap" && node.domain.empty();
}

/// A node on its way from the file into the graph. `node` has the file's attributes, and its inputs
/// and outputs as values of the graph; outputs after the first that no node reads are invalid in
/// it, but listed in `outputs`. A rule changes it into the newest form, and may write nodes before
/// it. Lives while one rule runs; all that it refers to outlives it.
struct FileNode {
  std::int64_t opset;  ///< operator set of the node's domain
  Node& node;
  GraphWriter& writer;
  std::string_view type = {};             ///< operator in the file; empty: as in the graph
  std::span<const OnnxUse> outputs = {};  ///< outputs in the file, read or not
  /// Gives types to all that was written so far. In a body, dimensions may still change.
  std::function<Status()> infer = {};
  /// Set by a rule: the Softmax axis starts the block of axes that is normalised as one, a meaning
  /// that can be resolved only when the shapes are known (expand_softmax_blocks).
  bool softmax_block = false;

  bool has_input(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].valid(); }
  /// Whether the file names output i, read or not.
  bool names_output(std::size_t i) const { return i < outputs.size() && !outputs[i].name.empty(); }
  /// Sets input i; inputs between are left out.
  void set_input(std::size_t i, ValueId value);
  /// Returns the constant that is input i; null if it is no constant. The pointer is valid until
  /// the next value is written.
  const Constant* constant_input(std::size_t i) const;

  /// Removes the attribute from the node and returns it; nullopt if it is absent. Errors:
  /// kInvalidModel if it has another type. T: a type of AttributeValue.
  template <class T>
  Result<std::optional<T>> take(std::string_view name) {
    const AttributeValue* value = node.attributes.find(name);
    if (value == nullptr) return std::optional<T>();
    if (!std::holds_alternative<T>(*value)) return wrong_type(name);
    std::optional<T> result = std::get<T>(*value);
    node.attributes.erase(name);
    return result;
  }
  /// Moves the list of integers in attribute `name` to a constant input i, as newer sets have it.
  /// Does not change the node if the attribute is absent. Errors: kInvalidModel if it is no list of
  /// integers, or if the input is there too.
  Status attribute_to_input(std::string_view name, std::size_t i);
  /// Returns the operator as the file names it, for messages.
  std::string_view label() const { return type.empty() ? to_string(node.op) : type; }
  /// Appends a constant named after the node and `name`, made unique.
  ValueId constant(std::string_view name, Constant constant) {
    return writer.constant(writer.fresh_value_name(node.name + "/" + std::string(name)),
                           std::move(constant));
  }
  tl::unexpected<Error> wrong_type(std::string_view attribute) const;
  tl::unexpected<Error> refuse(std::string message) const;  ///< kUnsupported
  /// Removes the outputs from `first` on, first >= 1. Errors: kUnsupported with `what` if a node
  /// reads one of them.
  Status drop_outputs(std::size_t first, std::string_view what);
};

/// Kind and rewriting of a supported operator other than Constant.
struct OnnxRule {
  OpKind kind = OpKind::kIdentity;
  Status (*rewrite)(FileNode&) = nullptr;  ///< null: taken as it stands
};
/// REQUIRES: is_supported_operator.
OnnxRule onnx_rule(std::string_view domain, std::string_view op_type);

/// An operator that some operator set writes otherwise than the newest, or that the graph does not
/// have. Rows are literals; a node of a set before `since` or after `until` cannot be loaded.
struct RuleRow {
  std::string_view op_type;
  OpKind kind;  ///< kind of the node that replaces it, unless the rule sets another
  Status (*rewrite)(FileNode&);
  /// The last set that has the operator.
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  std::int64_t since = 0;  ///< the first such set; 0: that of the operator of `kind`
};
/// Returns the rules for com.microsoft, as ONNX Runtime's optimiser, quantiser and exporters write
/// it; these and the next are sorted by op_type.
std::span<const RuleRow> microsoft_rules();
/// Return the rules for ai.onnx.ml and ai.onnx.preview.
std::span<const RuleRow> learning_rules();
std::span<const RuleRow> preview_rules();

/// Rewrites `nodes`, Softmax, LogSoftmax and Hardmax of operator sets before 13, for the newest
/// set: uses a plain axis if the result is the same, otherwise inserts Flatten before and Reshape
/// after. Returns whether nodes were added; their shapes are not inferred. REQUIRES: all other
/// shapes are. The plain axis is used if at most one axis of the block can have another size than
/// 1. Errors: those of GraphWriter::node().
Result<bool> expand_softmax_blocks(GraphWriter& writer, std::span<const NodeId> nodes);

/// Returns the error of `result`, or success if it has a value.
template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : tl::unexpected(result.error());
}

/// Checks that the types of a Cast are supported. Errors: kUnsupported, which names the type.
Status check_cast(const FileNode& file);

// Rules (normalize_*.cc). Each changes the node, and may write nodes before it.
Status rewrite_affine_grid(FileNode& file);
Status rewrite_batch_normalization(FileNode& file);
Status rewrite_binary(FileNode& file);
Status rewrite_blackman_window(FileNode& file);
Status rewrite_cast(FileNode& file);
Status rewrite_center_crop_pad(FileNode& file);
Status rewrite_clip(FileNode& file);
Status rewrite_computed_axes(FileNode& file);
Status rewrite_concat(FileNode& file);
Status rewrite_cross_entropy_loss(FileNode& file);
Status rewrite_dft(FileNode& file);
Status rewrite_dropout(FileNode& file);
Status rewrite_gemm(FileNode& file);
Status rewrite_group_normalization(FileNode& file);
Status rewrite_hamming_window(FileNode& file);
Status rewrite_hann_window(FileNode& file);
Status rewrite_grid_sample(FileNode& file);
Status rewrite_layer_normalization(FileNode& file);
Status rewrite_likelihood_loss(FileNode& file);
Status rewrite_max_pool(FileNode& file);
Status rewrite_mean(FileNode& file);
Status rewrite_mean_variance_normalization(FileNode& file);
Status rewrite_pad(FileNode& file);
Status rewrite_prelu(FileNode& file);
Status rewrite_range(FileNode& file);
Status rewrite_recurrent(FileNode& file);
Status rewrite_qlinear_conv(FileNode& file);
Status rewrite_qlinear_matmul(FileNode& file);
Status rewrite_reduce(FileNode& file);
Status rewrite_reduce_sum(FileNode& file);
Status rewrite_reshape(FileNode& file);
Status rewrite_resize(FileNode& file);
Status rewrite_roi_align(FileNode& file);
Status rewrite_slice(FileNode& file);
Status rewrite_softmax(FileNode& file);
Status rewrite_split(FileNode& file);
Status rewrite_squeeze(FileNode& file);
Status rewrite_sum(FileNode& file);
Status rewrite_swiglu(FileNode& file);
Status rewrite_swish(FileNode& file);
Status rewrite_tile(FileNode& file);
Status rewrite_top_k(FileNode& file);
Status rewrite_upsample(FileNode& file);

}  // namespace parallax
