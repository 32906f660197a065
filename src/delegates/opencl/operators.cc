#include "delegates/opencl/operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "delegates/opencl/emit/emitters.h"
#include "ops/op.h"

namespace parallax::opencl {
namespace {

constexpr int kMaxDims = Dims::kMaxRank;

std::vector<OperatorRow> make_rows() {
  using enum KernelId;
#define PX_CL_KERNELS(...) \
  { __VA_ARGS__ }
#define PX_CL_FLOAT_MOVES move_16, move_32, move_64, move_128
#define PX_CL_MOVES PX_CL_KERNELS(move_8, PX_CL_FLOAT_MOVES)
#define PX_CL_PICKS PX_CL_KERNELS(pick_8, pick_16, pick_32, pick_64, move_8, PX_CL_FLOAT_MOVES)
#define PX_CL_OP(op, types, max_rank, emit, ...) \
  {OpKind::k##op, types, max_rank, &emit, __VA_ARGS__},
  return {
#include "delegates/opencl/operators.def"
  };
#undef PX_CL_PICKS
#undef PX_CL_MOVES
#undef PX_CL_FLOAT_MOVES
#undef PX_CL_KERNELS
}
const std::vector<OperatorRow>& operator_rows() {
  static const std::vector<OperatorRow> kRows = make_rows();
  return kRows;
}

/// A condition on an attribute of an operator, in the form of profiles.
struct StatedLimit {
  OpKind op;
  std::string_view attribute, limit;
};
constexpr std::string_view kPlanar = "one_of = [\"NCHW\"]";
constexpr StatedLimit kLimits[] = {
    {OpKind::kConv, "layout", kPlanar},
    {OpKind::kMaxPool, "layout", kPlanar},
    {OpKind::kAveragePool, "layout", kPlanar},
    {OpKind::kGlobalAveragePool, "layout", kPlanar},
    {OpKind::kResize, "layout", kPlanar},
    {OpKind::kBatchNormalization, "training_mode", "max = 0"},
    {OpKind::kResize, "mode", "one_of = [\"nearest\", \"linear\"]"},
    {OpKind::kResize, "antialias", "max = 0"},
    {OpKind::kResize, "keep_aspect_ratio_policy", "one_of = [\"stretch\"]"},
    {OpKind::kResize, "coordinate_transformation_mode",
     "one_of = [\"half_pixel\", \"half_pixel_symmetric\", \"pytorch_half_pixel\", "
     "\"align_corners\", \"asymmetric\"]"},
};

struct Claim {
  DTypeSet types = 0;  ///< types of inputs and outputs
  int max_rank = kMaxDims;
};
std::optional<Claim> claim_of(OpKind op) {
  if (const OperatorRow* row = operator_row(op)) return Claim{row->types, row->max_rank};
  const DTypeSet types = elementwise_types(op);
  if (types == 0) return std::nullopt;
  const bool reads_bools = gives_bools(op) || op == OpKind::kWhere;
  return Claim{types | (reads_bools ? kBools : 0), kMaxDims};
}

std::string names_of(DTypeSet types) {
  std::string names;
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (!contains(types, static_cast<DType>(i))) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", kDTypes[i].text);
  }
  return names;
}

Status check_tensor(const Value& value, const Claim& claim) {
  if (!contains(claim.types, value.dtype))
    return not_covered(fmt::format("'{}' is {}", value.name, to_string(value.dtype)));
  if (static_cast<int>(value.shape.size()) > claim.max_rank)
    return not_covered(fmt::format("'{}' has more than {} dimensions", value.name, claim.max_rank));
  return {};
}

}  // namespace

const OperatorRow* operator_row(OpKind op) {
  const auto& rows = operator_rows();
  const auto found = std::ranges::find(rows, op, &OperatorRow::op);
  return found == rows.end() ? nullptr : &*found;
}

Status check_node_covered(const Graph& graph, const Node& node) {
  const auto claim = claim_of(node.op);
  if (!claim) return not_covered(fmt::format("opencl has no {}", to_string(node.op)));
  if (node.inputs.empty() || !node.inputs[0].valid() || node.outputs.empty() ||
      !node.outputs[0].valid())
    return not_covered("a node without its first input or output");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid() || op_def(node.op).decides_shape(i)) continue;
    if (auto checked = check_tensor(graph.values[node.inputs[i]], *claim); !checked) return checked;
  }
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    if (auto checked = check_tensor(graph.values[output], *claim); !checked) return checked;
  }
  return {};
}

std::string profile_text(const StatedRates& rates) {
  std::string list, limits;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<OpKind>(i);
    const auto claim = claim_of(op);
    if (!claim) continue;
    list += fmt::format("  \"{}\",\n", to_string(op));
    limits +=
        fmt::format("[delegate.limits.{}]\ndtypes = [{}]\n", to_string(op), names_of(claim->types));
    if (claim->max_rank != kMaxDims) limits += fmt::format("max_rank = {}\n", claim->max_rank);
    for (const StatedLimit& limit : kLimits) {
      if (limit.op == op)
        limits += fmt::format("[delegate.limits.{}.attributes.{}]\n{}\n", to_string(op),
                              limit.attribute, limit.limit);
    }
  }
  return fmt::format(
      "name = \"opencl\"\n[delegate]\nname = \"opencl\"\nlaunch_seconds = {:e}\n"
      "macs_per_second = {:e}\nbytes_per_second = {:e}\ncpu_macs_per_second = {:e}\n"
      "memory_bytes = {}\ndynamic_shapes = true\ndtypes = [\"f32\"]\nmax_rank = {}\noperators = "
      "[\n{}]\n{}",
      rates.launch_seconds, rates.macs_per_second, rates.bytes_per_second,
      rates.cpu_macs_per_second, rates.memory_bytes, kMaxDims, list, limits);
}

}  // namespace parallax::opencl
