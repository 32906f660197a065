#include "load/onnx/normalize/normalize.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include "base/status.h"
#include "load/names.h"
#include "ops/op.h"

namespace parallax {
namespace {

using Row = RuleRow;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

constexpr std::array kRows = {
    Row{"Add", OpKind::kAdd, rewrite_binary},
    Row{"AffineGrid", OpKind::kIdentity, rewrite_affine_grid, kLast, 20},
    Row{"And", OpKind::kAnd, rewrite_binary},
    Row{"BatchNormalization", OpKind::kBatchNormalization, rewrite_batch_normalization},
    Row{"BlackmanWindow", OpKind::kIdentity, rewrite_blackman_window, kLast, 17},
    Row{"Cast", OpKind::kCast, rewrite_cast},
    Row{"CenterCropPad", OpKind::kIdentity, rewrite_center_crop_pad, kLast, 18},
    Row{"Clip", OpKind::kClip, rewrite_clip},
    Row{"Concat", OpKind::kConcat, rewrite_concat},
    Row{"DFT", OpKind::kDFT, rewrite_dft},
    Row{"Div", OpKind::kDiv, rewrite_binary},
    Row{"Dropout", OpKind::kDropout, rewrite_dropout},
    Row{"Equal", OpKind::kEqual, rewrite_binary},
    Row{"GRU", OpKind::kGRU, rewrite_recurrent},
    Row{"Gemm", OpKind::kGemm, rewrite_gemm},
    Row{"Greater", OpKind::kGreater, rewrite_binary},
    Row{"GridSample", OpKind::kGridSample, rewrite_grid_sample},
    Row{"GroupNormalization", OpKind::kGroupNormalization, rewrite_group_normalization},
    Row{"HammingWindow", OpKind::kIdentity, rewrite_hamming_window, kLast, 17},
    Row{"HannWindow", OpKind::kIdentity, rewrite_hann_window, kLast, 17},
    Row{"Hardmax", OpKind::kHardmax, rewrite_softmax},
    Row{"LSTM", OpKind::kLSTM, rewrite_recurrent},
    Row{"LayerNormalization", OpKind::kLayerNormalization, rewrite_layer_normalization, kLast, 1},
    Row{"Less", OpKind::kLess, rewrite_binary},
    Row{"LogSoftmax", OpKind::kLogSoftmax, rewrite_softmax},
    Row{"MaxPool", OpKind::kMaxPool, rewrite_max_pool},
    Row{"Mean", OpKind::kIdentity, rewrite_mean},
    Row{"MeanVarianceNormalization", OpKind::kIdentity, rewrite_mean_variance_normalization, kLast,
        9},
    Row{"Mul", OpKind::kMul, rewrite_binary},
    Row{"NegativeLogLikelihoodLoss", OpKind::kIdentity, rewrite_likelihood_loss, kLast, 12},
    Row{"Or", OpKind::kOr, rewrite_binary},
    Row{"PRelu", OpKind::kPRelu, rewrite_prelu},
    Row{"Pad", OpKind::kPad, rewrite_pad},
    Row{"Pow", OpKind::kPow, rewrite_binary},
    Row{"QLinearConv", OpKind::kQuantizeLinear, rewrite_qlinear_conv},
    Row{"QLinearMatMul", OpKind::kQuantizeLinear, rewrite_qlinear_matmul},
    Row{"RNN", OpKind::kRNN, rewrite_recurrent},
    Row{"Range", OpKind::kRange, rewrite_range},
    Row{"ReduceL1", OpKind::kReduceL1, rewrite_reduce},
    Row{"ReduceL2", OpKind::kReduceL2, rewrite_reduce},
    Row{"ReduceLogSum", OpKind::kReduceLogSum, rewrite_reduce},
    Row{"ReduceLogSumExp", OpKind::kReduceLogSumExp, rewrite_reduce},
    Row{"ReduceMax", OpKind::kReduceMax, rewrite_reduce},
    Row{"ReduceMean", OpKind::kReduceMean, rewrite_reduce},
    Row{"ReduceMin", OpKind::kReduceMin, rewrite_reduce},
    Row{"ReduceProd", OpKind::kReduceProd, rewrite_reduce},
    Row{"ReduceSum", OpKind::kReduceSum, rewrite_reduce_sum},
    Row{"ReduceSumSquare", OpKind::kReduceSumSquare, rewrite_reduce},
    Row{"Reshape", OpKind::kReshape, rewrite_reshape},
    Row{"Resize", OpKind::kResize, rewrite_resize},
    Row{"RoiAlign", OpKind::kRoiAlign, rewrite_roi_align},
    Row{"Scan", OpKind::kScan, nullptr, kLast, 8},
    Row{"Scatter", OpKind::kScatterElements, nullptr, 10, 9},
    Row{"SimplifiedLayerNormalization", OpKind::kRMSNormalization, nullptr, kLast, 1},
    Row{"Slice", OpKind::kSlice, rewrite_slice},
    Row{"Softmax", OpKind::kSoftmax, rewrite_softmax},
    Row{"SoftmaxCrossEntropyLoss", OpKind::kIdentity, rewrite_cross_entropy_loss, kLast, 12},
    Row{"Split", OpKind::kSplit, rewrite_split},
    Row{"Squeeze", OpKind::kSqueeze, rewrite_squeeze},
    Row{"Sub", OpKind::kSub, rewrite_binary},
    Row{"Sum", OpKind::kIdentity, rewrite_sum},
    Row{"SwiGLU", OpKind::kIdentity, rewrite_swiglu, kLast, 28},
    Row{"Swish", OpKind::kIdentity, rewrite_swish, kLast, 24},
    Row{"Tile", OpKind::kTile, rewrite_tile},
    Row{"TopK", OpKind::kTopK, rewrite_top_k},
    Row{"Unsqueeze", OpKind::kUnsqueeze, rewrite_squeeze},
    Row{"Upsample", OpKind::kResize, rewrite_upsample, 9, 1},
    Row{"Xor", OpKind::kXor, rewrite_binary},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op_type));

/// Operators of ai.onnx.ml, each the kind of its name.
constexpr std::string_view kLearning[] = {"ArrayFeatureExtractor",
                                          "Binarizer",
                                          "CastMap",
                                          "CategoryMapper",
                                          "DictVectorizer",
                                          "FeatureVectorizer",
                                          "Imputer",
                                          "LabelEncoder",
                                          "LinearClassifier",
                                          "LinearRegressor",
                                          "Normalizer",
                                          "OneHotEncoder",
                                          "SVMClassifier",
                                          "SVMRegressor",
                                          "Scaler",
                                          "TreeEnsemble",
                                          "TreeEnsembleClassifier",
                                          "TreeEnsembleRegressor",
                                          "ZipMap"};
/// Kinds that the graph has from com.microsoft.
constexpr std::string_view kMicrosoft[] = {"MatMulNBits"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const Row* find_row(std::string_view domain, std::string_view op_type) {
  std::span<const Row> rows;
  if (domain.empty()) rows = kRows;
  if (domain == "ai.onnx.ml") rows = learning_rules();
  if (domain == "ai.onnx.preview") rows = preview_rules();
  if (domain == "com.microsoft") rows = microsoft_rules();
  const auto row = std::ranges::lower_bound(rows, op_type, {}, &Row::op_type);
  return row == rows.end() || row->op_type != op_type ? nullptr : &*row;
}

/// The kind of that name in `domain`.
std::optional<OpKind> kind_of(std::string_view domain, std::string_view op_type) {
  const bool learning = contains(kLearning, op_type), microsoft = contains(kMicrosoft, op_type);
  if (learning != (domain == "ai.onnx.ml")) return std::nullopt;
  if (microsoft != (domain == "com.microsoft")) return std::nullopt;
  if (!learning && !microsoft && !domain.empty()) return std::nullopt;
  return op_from_string(op_type);
}

}  // namespace

std::string onnx_node_name(const OnnxNode& node, std::size_t index) {
  if (!node.name.empty()) return std::string(node.name);
  return fmt::format("{}_{}", node.op_type, index);
}

bool is_supported_operator(std::string_view domain, std::string_view op_type, std::int64_t opset) {
  if (op_type == "Constant" && domain.empty()) return true;
  if (op_type == "SequenceMap" && domain.empty()) return opset >= 17;
  const Row* const row = find_row(domain, op_type);
  if (row != nullptr && row->since > 0) return opset >= row->since && opset <= row->until;
  if (row != nullptr && opset > row->until) return false;
  const auto kind = row != nullptr ? row->kind : kind_of(domain, op_type);
  if (!kind) return false;
  const OpDef& def = op_def(*kind);
  return !def.internal && opset >= (domain.empty() ? def.since : 1);
}

OnnxRule onnx_rule(std::string_view domain, std::string_view op_type) {
  if (const Row* row = find_row(domain, op_type)) return {row->kind, row->rewrite};
  return {kind_of(domain, op_type).value_or(OpKind::kIdentity), nullptr};
}

/// Sets input `i`; inputs before it that the node lacks are left out.
void FileNode::set_input(std::size_t i, ValueId value) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1);
  node.inputs[i] = value;
}

const Constant* FileNode::constant_input(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto& constant = writer.graph().values[node.inputs[i]].constant;
  return constant ? &*constant : nullptr;
}

tl::unexpected<Error> FileNode::wrong_type(std::string_view attribute) const {
  return invalid_model(
      fmt::format("{}: attribute {} has the wrong type", label(), quote(attribute)), node.name);
}

tl::unexpected<Error> FileNode::refuse(std::string message) const {
  return unsupported(fmt::format("{}: {}", label(), message), node.name);
}

Status FileNode::attribute_to_input(std::string_view name, std::size_t i) {
  PX_ASSIGN(const auto list, take<std::vector<std::int64_t>>(name));
  if (!list) return {};
  if (has_input(i)) {
    return invalid_model(fmt::format("{}: {} is both an attribute and an input", label(), name),
                         node.name);
  }
  set_input(i, constant(name, make_i64(*list)));
  return {};
}

Status FileNode::drop_outputs(std::size_t first, std::string_view what) {
  for (std::size_t i = first; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) return refuse(fmt::format("{} is not supported", what));
  }
  if (node.outputs.size() > first) node.outputs.resize(first);
  return {};
}

}  // namespace parallax
