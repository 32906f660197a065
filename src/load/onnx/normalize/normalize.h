// Rewrites operators of the operator sets 1 to 28 into the newest form, the only one that the graph
// knows: attributes that became inputs are constant inputs, renamed and removed operators become
// their successors, operators that the graph lacks what they stand for. One rule per operator that
// ever changed (normalize.cc) and per operator of another domain (microsoft.cc); an operator
// without a rule has meant the same in every set and is taken as it stands.
//
// Thread-safety: not thread-safe; one GraphWriter per graph.
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

#include "base/name_hashes.h"
#include "base/name_map.h"
#include "ir/graph.h"
#include "load/onnx/proto.h"
#include "load/onnx/structure.h"

namespace parallax {

/// The name of node `index` of a file's graph, "Conv_17" where the file gives none.
std::string onnx_node_name(const OnnxNode& node, std::size_t index);

/// True where node type `op_type` of `domain` can be loaded from operator set `opset`.
bool is_supported_operator(std::string_view domain, std::string_view op_type, std::int64_t opset);

/// True for Constant of ai.onnx.
inline bool is_constant(const OnnxNode& node) {
  return node.op_type == "Constant" && node.domain.empty();
}
/// True for SequenceMap of ai.onnx, which becomes a Loop.
inline bool is_sequence_map(const OnnxNode& node) {
  return node.op_type == "SequenceMap" && node.domain.empty();
}

/// Appends values and nodes to a graph under names that no other has.
class GraphWriter {
 public:
  /// `defined`: names of the file, which nothing else gets.
  GraphWriter(Graph& graph, const Definitions& defined) : graph_(graph), defined_(defined) {}

  /// The same for one more.
  void reserve_value_name(std::string_view name) { value_names_.taken.insert(name); }

  ValueId constant(std::string name, Constant constant);
  ValueId result(std::string name);
  /// A name that starts with `hint` and is free.
  std::string fresh_value_name(std::string_view hint);
  /// Appends the node under a unique name and makes it the producer of its outputs. Errors: as
  /// check_node for nodes of a file.
  Result<NodeId> node(Node node);
  Graph& graph() { return graph_; }

 private:
  struct Names {
    NameHashes taken;
    OwningNameMap<std::int64_t> next = {};  ///< suffix of the next name made from a taken one
  };
  static std::string make_unique(Names& names, std::string name, const Definitions& defined);

  Graph& graph_;
  const Definitions& defined_;
  Names value_names_, node_names_;
};

/// A node on its way from the file into the graph. `node` has the file's attributes and resolved
/// inputs and outputs (outputs after the first that are not read are invalid; `outputs` has them as
/// the file does); a rule turns it into the newest form and may write nodes before it.
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
  void set_input(std::size_t i, ValueId value);
  /// The constant behind input i, null where there is none.
  const Constant* constant_input(std::size_t i) const;

  /// Takes the attribute out of the node. Errors: kInvalidModel where it has another type. T: a
  /// type of AttributeValue.
  template <class T>
  Result<std::optional<T>> take(std::string_view name) {
    const AttributeValue* value = node.attributes.find(name);
    if (value == nullptr) return std::optional<T>();
    if (!std::holds_alternative<T>(*value)) return wrong_type(name);
    std::optional<T> result = std::get<T>(*value);
    node.attributes.erase(name);
    return result;
  }
  /// Makes a list of integers that used to be an attribute input i.
  Status attribute_to_input(std::string_view name, std::size_t i);
  /// Kinds of operators in messages are the file's.
  std::string_view label() const { return type.empty() ? to_string(node.op) : type; }
  ValueId constant(std::string_view name, Constant constant) {
    return writer.constant(writer.fresh_value_name(node.name + "/" + std::string(name)),
                           std::move(constant));
  }
  tl::unexpected<Error> wrong_type(std::string_view attribute) const;
  tl::unexpected<Error> refuse(std::string message) const;  ///< kUnsupported
  /// Leaves out the outputs from `first` on, first >= 1. Errors: kUnsupported with `what` where one
  /// is read.
  Status drop_outputs(std::size_t first, std::string_view what);
};

/// Kind and rewriting of a supported operator other than Constant.
struct OnnxRule {
  OpKind kind = OpKind::kIdentity;
  Status (*rewrite)(FileNode&) = nullptr;  ///< null: taken as it stands
};
/// REQUIRES: is_supported_operator.
OnnxRule onnx_rule(std::string_view domain, std::string_view op_type);

/// An operator that some operator set writes otherwise than the newest, or that the graph lacks.
struct RuleRow {
  std::string_view op_type;
  OpKind kind;  ///< kind of the node that replaces it, unless the rule sets another
  Status (*rewrite)(FileNode&);
  std::int64_t until = std::numeric_limits<std::int64_t>::max();  ///< the last set that has it
  std::int64_t since = 0;  ///< the first one; 0: as the operator of `kind`
};
/// Rules for com.microsoft, as ONNX Runtime's optimiser, quantiser and exporters write it, sorted.
std::span<const RuleRow> microsoft_rules();
/// Rules for ai.onnx.ml and ai.onnx.preview.
std::span<const RuleRow> learning_rules();
std::span<const RuleRow> preview_rules();

/// Gives each of `nodes`, Softmax, LogSoftmax and Hardmax nodes of the operator sets before 13, the
/// meaning of the newest:
/// a plain axis where that is the same, else Flatten, Softmax, Reshape. REQUIRES: shapes are
/// inferred; new nodes are not. Returns whether nodes were added.
Result<bool> expand_softmax_blocks(GraphWriter& writer, std::span<const NodeId> nodes);

/// Whether `result` has a value.
template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : tl::unexpected(result.error());
}

/// Refuses a Cast to types that are not supported, by name.
Status check_cast(const FileNode& file);

// Rules (normalize_*.cc). Each changes the node in place.
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
