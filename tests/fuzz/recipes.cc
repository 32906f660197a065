#include "recipes.h"

#include <algorithm>
#include <array>

namespace parallax::fuzz {
namespace {

constexpr std::array kRows = {
    RecipeRow{OpKind::kArgMax, propose_arg_max},
    RecipeRow{OpKind::kArgMin, propose_arg_max},
    RecipeRow{OpKind::kAveragePool, propose_pool},
    RecipeRow{OpKind::kBatchNormalization, propose_batch_normalization},
    RecipeRow{OpKind::kBernoulli, propose_random},
    RecipeRow{OpKind::kBitShift, propose_bit_shift},
    RecipeRow{OpKind::kBitwiseAnd, propose_bitwise},
    RecipeRow{OpKind::kBitwiseNot, propose_bitwise},
    RecipeRow{OpKind::kBitwiseOr, propose_bitwise},
    RecipeRow{OpKind::kBitwiseXor, propose_bitwise},
    RecipeRow{OpKind::kCast, propose_cast},
    RecipeRow{OpKind::kClip, propose_clip},
    RecipeRow{OpKind::kCol2Im, propose_col2im},
    RecipeRow{OpKind::kCompress, propose_compress},
    RecipeRow{OpKind::kConcat, propose_concat},
    RecipeRow{OpKind::kConstantOfShape, propose_constant_of_shape},
    RecipeRow{OpKind::kConv, propose_conv},
    RecipeRow{OpKind::kCumProd, propose_cumulative},
    RecipeRow{OpKind::kCumSum, propose_cumulative},
    RecipeRow{OpKind::kDepthToSpace, propose_space_blocks},
    RecipeRow{OpKind::kDropout, propose_dropout},
    RecipeRow{OpKind::kExpand, propose_expand},
    RecipeRow{OpKind::kEyeLike, propose_eye_like},
    RecipeRow{OpKind::kFlatten, propose_flatten},
    RecipeRow{OpKind::kGather, propose_gather},
    RecipeRow{OpKind::kGatherElements, propose_gather_elements},
    RecipeRow{OpKind::kGatherND, propose_gather_nd},
    RecipeRow{OpKind::kGemm, propose_gemm},
    RecipeRow{OpKind::kGlobalAveragePool, propose_global_pool},
    RecipeRow{OpKind::kHardmax, propose_softmax},
    RecipeRow{OpKind::kIf, propose_if},
    RecipeRow{OpKind::kLayerNormalization, propose_layer_normalization},
    RecipeRow{OpKind::kLogSoftmax, propose_softmax},
    RecipeRow{OpKind::kLoop, propose_loop},
    RecipeRow{OpKind::kMatMul, propose_matmul},
    RecipeRow{OpKind::kMaxPool, propose_pool},
    RecipeRow{OpKind::kMod, propose_mod},
    RecipeRow{OpKind::kMultinomial, propose_random},
    RecipeRow{OpKind::kNonMaxSuppression, propose_non_max_suppression},
    RecipeRow{OpKind::kNonZero, propose_non_zero},
    RecipeRow{OpKind::kOneHot, propose_one_hot},
    RecipeRow{OpKind::kPad, propose_pad},
    RecipeRow{OpKind::kPow, propose_pow},
    RecipeRow{OpKind::kRMSNormalization, propose_layer_normalization},
    RecipeRow{OpKind::kRandomNormal, propose_random},
    RecipeRow{OpKind::kRandomNormalLike, propose_random},
    RecipeRow{OpKind::kRandomUniform, propose_random},
    RecipeRow{OpKind::kRandomUniformLike, propose_random},
    RecipeRow{OpKind::kRange, propose_range},
    RecipeRow{OpKind::kReduceL1, propose_reduce},
    RecipeRow{OpKind::kReduceL2, propose_reduce},
    RecipeRow{OpKind::kReduceLogSum, propose_reduce},
    RecipeRow{OpKind::kReduceLogSumExp, propose_reduce},
    RecipeRow{OpKind::kReduceMax, propose_reduce},
    RecipeRow{OpKind::kReduceMean, propose_reduce},
    RecipeRow{OpKind::kReduceMin, propose_reduce},
    RecipeRow{OpKind::kReduceProd, propose_reduce},
    RecipeRow{OpKind::kReduceSum, propose_reduce},
    RecipeRow{OpKind::kReduceSumSquare, propose_reduce},
    RecipeRow{OpKind::kReshape, propose_reshape},
    RecipeRow{OpKind::kResize, propose_resize},
    RecipeRow{OpKind::kReverseSequence, propose_reverse_sequence},
    RecipeRow{OpKind::kScan, propose_scan},
    RecipeRow{OpKind::kScatterElements, propose_scatter_elements},
    RecipeRow{OpKind::kScatterND, propose_scatter_nd},
    RecipeRow{OpKind::kShape, propose_shape},
    RecipeRow{OpKind::kSlice, propose_slice},
    RecipeRow{OpKind::kSoftmax, propose_softmax},
    RecipeRow{OpKind::kSpaceToDepth, propose_space_blocks},
    RecipeRow{OpKind::kSplit, propose_split},
    RecipeRow{OpKind::kSqueeze, propose_squeeze},
    RecipeRow{OpKind::kTensorScatter, propose_tensor_scatter},
    RecipeRow{OpKind::kTile, propose_tile},
    RecipeRow{OpKind::kTopK, propose_top_k},
    RecipeRow{OpKind::kTranspose, propose_transpose},
    RecipeRow{OpKind::kTrilu, propose_trilu},
    RecipeRow{OpKind::kUnique, propose_unique},
    RecipeRow{OpKind::kUnsqueeze, propose_unsqueeze},
    RecipeRow{OpKind::kWhere, propose_where},
};

AttributeValue random_attribute(Generator& g, AttributeType type) {
  Random& random = g.random();
  switch (type) {
    case AttributeType::kInt:
      return random.between(-1, 2);
    case AttributeType::kFloat:
      return static_cast<float>(random.unit());
    case AttributeType::kString:
      return std::string(random.pick(std::array{"none", "tanh", "constant"}));
    case AttributeType::kInts: {
      std::vector<std::int64_t> list(random.below(4));
      for (std::int64_t& number : list) number = random.between(-1, 3);
      return list;
    }
    case AttributeType::kFloats:
      return std::vector<float>(random.below(4), 1.0F);
    case AttributeType::kTensor:
      return g.random_constant(DType::kF32, Dims{1});
    case AttributeType::kStrings:
      return std::vector<std::string>(random.below(3), "a");
  }
  return std::int64_t{0};
}

/// What unary functions and comparisons of any type take: mostly numbers, bools for those that need
/// them.
std::string any_tensor(Generator& g) {
  return g.random().chance(15) ? g.tensor(DType::kBool, 0, 4) : g.numbers(0, 4);
}

}  // namespace

bool propose(Generator& generator, OpKind op) {
  const auto row = std::ranges::find(kRows, op, &RecipeRow::op);
  return row == kRows.end() ? propose_generic(generator, op) : row->propose(generator, op);
}

bool propose_generic(Generator& g, OpKind op) {
  Random& random = g.random();
  const OpDef& def = op_def(op);
  CaseNode node{op, {}, {any_tensor(g)}, {}, {}};
  const bool logic =
      op == OpKind::kAnd || op == OpKind::kOr || op == OpKind::kXor || op == OpKind::kNot;
  if (logic) node.inputs[0] = g.tensor(DType::kBool, 0, 4);
  const int least = std::max(def.min_inputs, 1);
  const int most = (def.max_inputs < 0 ? least + 2 : def.max_inputs) - def.internal_inputs;
  const auto inputs = static_cast<std::size_t>(random.between(least, std::max(least, most)));
  while (node.inputs.size() < inputs)
    node.inputs.push_back(g.partner(node.inputs[0], g.dtype(node.inputs[0])));
  for (const AttributeSpec& spec : def.attributes) {
    if (spec.from != NodeOrigin::kFile || !random.chance(30)) continue;
    node.attributes.set(std::string(spec.name), random_attribute(g, spec.type));
  }
  node.outputs.resize(static_cast<std::size_t>(std::max(def.min_outputs, 1)));
  return g.add(node);
}

bool propose_cast(Generator& g, OpKind op) {
  static const std::vector<std::int64_t> kCodes = [] {
    std::vector<std::int64_t> codes;
    for (const DType type :
         {DType::kF32, DType::kU8, DType::kI8, DType::kI32, DType::kI64, DType::kBool})
      codes.push_back(info_of(type).onnx);
    return codes;
  }();
  const std::string x = any_tensor(g);
  const std::int64_t code = g.random().pick(kCodes);
  // The standard leaves open what becomes of a float that the type does not hold.
  const bool open = g.dtype(x) == DType::kF32 && code != 1 && code != 9;
  if (open && !g.special() && !g.fits_byte(x)) return false;
  Attributes to;
  to.set("to", code);
  return !g.add(op, {x}, std::move(to)).empty();
}

bool propose_clip(Generator& g, OpKind op) {
  const std::string x = g.numbers(0, 4);
  const DType dtype = g.dtype(x);
  std::vector<std::string> inputs = {x};
  for (int bound = 0; bound < 2; ++bound) {
    const bool given = g.random().chance(75);
    inputs.push_back(
        given ? (g.random().chance(60) ? g.constant(dtype, Dims{}) : g.tensor(dtype, 0, 0))
              : std::string());
  }
  return !g.add(op, std::move(inputs)).empty();
}

bool propose_non_zero(Generator& g, OpKind op) {
  const int least = g.special() ? 0 : 1;  // ONNX Runtime does not follow the standard on scalars
  const std::string x =
      g.random().chance(30) ? g.tensor(DType::kBool, least, 4) : g.numbers(least, 4);
  return !g.add(op, {x}).empty();
}

bool propose_pow(Generator& g, OpKind op) {
  const std::string x = g.tensor(g.random().chance(80) ? DType::kF32 : DType::kI64, 0, 4);
  static constexpr std::array kExponents = {2.0F, 3.0F, 0.5F, -1.0F, 1.0F, 0.0F};
  const std::string exponent = g.random().chance(70)
                                   ? g.floats({g.random().pick(kExponents)}, Dims{})
                                   : g.partner(x, g.dtype(x));
  return !g.add(op, {x, exponent}).empty();
}

bool propose_mod(Generator& g, OpKind op) {
  const std::string x = g.numbers(0, 4);
  Attributes attributes;
  if (g.dtype(x) == DType::kF32 || g.random().chance(30)) attributes.set("fmod", std::int64_t{1});
  return !g.add(op, {x, g.partner(x, g.dtype(x))}, std::move(attributes)).empty();
}

bool propose_where(Generator& g, OpKind op) {
  const std::string x = any_tensor(g);
  const std::string condition = g.partner(x, DType::kBool);
  return !g.add(op, {condition, x, g.partner(x, g.dtype(x))}).empty();
}

}  // namespace parallax::fuzz
