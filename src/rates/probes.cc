#include "rates/probes.h"

#include <fmt/core.h>

#include <array>

#include "base/status.h"
#include "bind/evaluate.h"
#include "device/support.h"
#include "ir/text/text.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"

namespace parallax {
namespace {

constexpr std::string_view kAttention = R"(
    t = Transpose(x) {perm = [0, 1, 3, 2]}
    s = MatMul(x, t)
    p = Softmax(s) {axis = -1}
    y = MatMul(p, x))";
constexpr std::string_view kPool = "y = MaxPool(x) {kernel_shape = [2, 2], strides = [2, 2]}";
constexpr std::string_view kHeads = "y = Transpose(x) {perm = [0, 2, 1, 3]}";
constexpr std::string_view kRows = "const axes i64 [1] = [-1]\ny = ReduceMean(x, axes)";

constexpr std::array kProbes = {
    Probe{WorkKind::kElementwise, "64, 4096", "y = Add(x, x)", true},
    Probe{WorkKind::kElementwise, "64, 4096", "y = Relu(x)", true},
    Probe{WorkKind::kElementwise, "64, 4096", "y = Neg(x)", true},
    Probe{WorkKind::kConvolution, "1, 64, 40, 40",
          "const w f32 [64, 64, 3, 3] = fill 0.01\ny = Conv(x, w) {pads = [1, 1, 1, 1]}", true},
    Probe{WorkKind::kPointwise, "1, 96, 40, 40",
          "const w f32 [96, 96, 1, 1] = fill 0.01\ny = Conv(x, w)", true},
    Probe{WorkKind::kProduct, "64, 512", "const w f32 [512, 512] = fill 0.01\ny = MatMul(x, w)",
          true},
    Probe{WorkKind::kAttention, "1, 8, 128, 64", kAttention, true},
    Probe{WorkKind::kDepthwise, "1, 128, 48, 48",
          "const w f32 [128, 1, 3, 3] = fill 0.1\n"
          "y = Conv(x, w) {group = 128, pads = [1, 1, 1, 1]}",
          true},
    Probe{WorkKind::kSoftmax, "256, 512", "y = Softmax(x) {axis = -1}", true},
    Probe{WorkKind::kNormalization, "256, 512",
          "const g f32 [512] = fill 1\nconst b f32 [512] = fill 0\n"
          "y = LayerNormalization(x, g, b) {axis = -1}",
          true},
    Probe{WorkKind::kFunction, "64, 4096", "y = Sigmoid(x)", true},
    Probe{WorkKind::kFunction, "64, 4096", "y = Exp(x)", true},
    Probe{WorkKind::kMovement, "1, 128, 16, 64", kHeads, true},
    Probe{WorkKind::kPool, "1, 64, 80, 80", kPool, true},
    Probe{WorkKind::kReduction, "512, 512", kRows, true},
    Probe{WorkKind::kElementwise, "4096", "y = Add(x, x)"},
    Probe{WorkKind::kElementwise, "4096", "y = Relu(x)"},
    Probe{WorkKind::kElementwise, "4096", "y = Neg(x)"},
    Probe{WorkKind::kConvolution, "1, 32, 16, 16",
          "const w f32 [32, 32, 3, 3] = fill 0.01\ny = Conv(x, w) {pads = [1, 1, 1, 1]}"},
    Probe{WorkKind::kPointwise, "1, 64, 16, 16",
          "const w f32 [64, 64, 1, 1] = fill 0.01\ny = Conv(x, w)"},
    Probe{WorkKind::kProduct, "16, 256", "const w f32 [256, 256] = fill 0.01\ny = MatMul(x, w)"},
    Probe{WorkKind::kAttention, "1, 4, 32, 32", kAttention},
    Probe{WorkKind::kDepthwise, "1, 64, 16, 16",
          "const w f32 [64, 1, 3, 3] = fill 0.1\n"
          "y = Conv(x, w) {group = 64, pads = [1, 1, 1, 1]}"},
    Probe{WorkKind::kSoftmax, "64, 64", "y = Softmax(x) {axis = -1}"},
    Probe{WorkKind::kNormalization, "16, 512",
          "const g f32 [512] = fill 1\nconst b f32 [512] = fill 0\n"
          "y = LayerNormalization(x, g, b) {axis = -1}"},
    Probe{WorkKind::kFunction, "4096", "y = Sigmoid(x)"},
    Probe{WorkKind::kFunction, "4096", "y = Exp(x)"},
    Probe{WorkKind::kMovement, "1, 32, 8, 32", kHeads},
    Probe{WorkKind::kPool, "1, 32, 16, 16", kPool},
    Probe{WorkKind::kReduction, "64, 128", kRows},
};

Result<Graph> graph_of_text(const std::string& text) {
  PX_ASSIGN(Graph graph, parse_graph(text));
  PX_RETURN_IF_ERROR(infer_graph(graph));
  return graph;
}

}  // namespace

std::span<const Probe> all_probes() { return kProbes; }

Result<Graph> probe_graph(const Probe& probe) {
  return graph_of_text(fmt::format("input x f32 [{}]\n{}\noutput y\n", probe.dims, probe.text));
}

Result<SurroundedProbe> surrounded_probe(const Probe& probe, const Delegate& delegate) {
  SurroundedProbe result;
  PX_ASSIGN(result.graph,
            graph_of_text(fmt::format("input given f32 [{}]\nx = Neg(given) @before\n{}\n"
                                      "z = Neg(y) @behind\noutput z\n",
                                      probe.dims, probe.text)));
  const auto& has = delegate.operators;
  PX_RETURN_IF_ERROR(
      fuse_for([&](OpKind op) { return has.contains(op); }, result.graph, {evaluate_node}));
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(result.graph, Binding{}));
  result.runs = true;
  for (const NodeId node : result.graph.nodes.ids()) {
    const std::string& name = result.graph.nodes[node].name;
    const bool outside = name == "before" || name == "behind";
    result.region_of.push_back(outside ? RegionId{} : RegionId{0});
    if (outside) continue;
    const Support support = check_support(result.graph, shapes, node, delegate);
    result.runs = result.runs && support.reason == CpuReason::kNone;
  }
  return result;
}

}  // namespace parallax
