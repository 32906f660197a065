// Operators that ONNX Runtime's optimiser fuses: activations, biases, residuals, transposes,
// layouts.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/microsoft.h"

namespace parallax {
namespace {

/// `x` behind the activation of that name, which may be empty.
ValueId activated(Rewriting& to, ValueId x, const std::string& name, std::vector<float> parameters,
                  bool with_alpha) {
  const auto parameter = [&](std::size_t i, float fallback) {
    return with_alpha && i < parameters.size() ? parameters[i] : fallback;
  };
  if (name.empty()) return x;
  if (name == "Relu") return to.op(OpKind::kRelu, {x});
  if (name == "Tanh") return to.op(OpKind::kTanh, {x});
  if (name == "Sigmoid") return to.op(OpKind::kSigmoid, {x});
  if (name == "LeakyRelu")
    return to.op(OpKind::kLeakyRelu, {x}, attributes_of({{"alpha", parameter(0, 0.01F)}}));
  if (name == "HardSigmoid") {
    return to.op(OpKind::kHardSigmoid, {x},
                 attributes_of({{"alpha", parameter(0, 0.2F)}, {"beta", parameter(1, 0.5F)}}));
  }
  if (name == "Clip" && parameters.size() == 2) {
    return to.op(OpKind::kClip, {x, to.number(parameters[0], x), to.number(parameters[1], x)});
  }
  to.refuse(fmt::format("activation {} is not supported", quote(name)));
  return x;
}

/// Conv, a residual and an activation; `x` and the residual of the layout NCHW.
ValueId fused_conv(Rewriting& to, ValueId x, ValueId residual) {
  const std::string activation = to.take_string("activation", "");
  auto parameters = to.take<std::vector<float>>("activation_params", {});
  ValueId y = to.op(OpKind::kConv, {x, to.need(1), to.in(2)}, to.take_all());
  if (residual.valid()) y = to.add(y, residual);
  return activated(to, y, activation, std::move(parameters), true);
}

std::vector<std::int64_t> in_order(int rank) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(std::max(rank, 0)));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

/// An operand with its first axis behind the axes of the batch, then with its last two swapped.
ValueId turned_operand(Rewriting& to, ValueId x, bool batch, bool last) {
  if (!batch && !last) return x;
  auto perm = in_order(to.rank(x));
  if (perm.size() < 2) return x;
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return to.transpose(x, std::move(perm));
}

Attributes tanh_gelu() { return attributes_of({{"approximate", std::string("tanh")}}); }

/// The sum of input, skip and bias, which is output 3 as well.
ValueId skip_sum(Rewriting& to, std::size_t bias) {
  ValueId sum = to.add(to.need(0), to.need(1));
  if (to.has(bias)) sum = to.add(sum, to.in(bias));
  to.output(3, sum);
  return sum;
}

Attributes last_axis(float epsilon) { return with_axis(-1, {{"epsilon", epsilon}}); }

constexpr float kSkipEpsilon = 1e-12F;

}  // namespace

ValueId to_nchw(Rewriting& to, ValueId images) {
  auto perm = in_order(to.rank(images));
  if (perm.size() > 2) std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return to.transpose(images, std::move(perm));
}

ValueId to_nhwc(Rewriting& to, ValueId images) {
  auto perm = in_order(to.rank(images));
  if (perm.size() > 2) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return to.transpose(images, std::move(perm));
}

Status rewrite_ms_fused_conv(FileNode& file) {
  Rewriting to(file);
  to.result(fused_conv(to, to.need(0), to.in(3)));
  return to.finish();
}

Status rewrite_ms_nhwc_conv(FileNode& file) {
  Rewriting to(file);
  const ValueId residual = to.has(3) ? to_nchw(to, to.in(3)) : ValueId{};
  to.result(to_nhwc(to, fused_conv(to, to_nchw(to, to.need(0)), residual)));
  return to.finish();
}

Status rewrite_ms_nhwc_max_pool(FileNode& file) {
  Rewriting to(file);
  const ValueId x = to_nchw(to, to.need(0));
  to.result(to_nhwc(to, to.op(OpKind::kMaxPool, {x}, to.take_all())));
  return to.finish();
}

Status rewrite_ms_fused_gemm(FileNode& file) {
  Rewriting to(file);
  const std::string activation = to.take_string("activation", "");
  const bool given = file.node.attributes.find("activation_alpha") != nullptr;
  const float alpha = to.take_float("activation_alpha", 0);
  const float beta = to.take_float("activation_beta", 0);
  to.take_float("activation_gamma", 0);
  const ValueId y = to.op(OpKind::kGemm, {to.need(0), to.need(1), to.in(2)}, to.take_all());
  to.result(activated(to, y, activation, {alpha, beta}, given));
  return to.finish();
}

Status rewrite_ms_fused_matmul(FileNode& file) {
  Rewriting to(file);
  const float alpha = to.take_float("alpha", 1);
  const bool batch_a = to.take_int("transBatchA", 0) != 0, last_a = to.take_int("transA", 0) != 0;
  const bool batch_b = to.take_int("transBatchB", 0) != 0, last_b = to.take_int("transB", 0) != 0;
  const ValueId a = turned_operand(to, to.need(0), batch_a, last_a);
  const ValueId b = turned_operand(to, to.need(1), batch_b, last_b);
  if (alpha == 1) {
    to.result(OpKind::kMatMul, {a, b});
  } else {
    const ValueId product = to.op(OpKind::kMatMul, {a, b});
    to.result(OpKind::kMul, {product, to.number(alpha, product)});
  }
  return to.finish();
}

Status rewrite_ms_bias_gelu(FileNode& file) {
  Rewriting to(file);
  to.result(OpKind::kGelu, {to.add(to.need(0), to.need(1))});
  return to.finish();
}

Status rewrite_ms_fast_gelu(FileNode& file) {
  Rewriting to(file);
  const ValueId x = to.need(0);
  to.result(OpKind::kGelu, {to.has(1) ? to.add(x, to.in(1)) : x}, tanh_gelu());
  return to.finish();
}

Status rewrite_ms_quick_gelu(FileNode& file) {
  Rewriting to(file);
  const float alpha = to.take_float("alpha", 1.702F);
  const ValueId x = to.need(0);
  to.result(OpKind::kMul, {x, to.op(OpKind::kSigmoid, {to.mul(x, alpha)})});
  return to.finish();
}

Status rewrite_ms_simplified_layer_normalization(FileNode& file) {
  Rewriting to(file);
  to.result(OpKind::kRMSNormalization, {to.need(0), to.need(1)}, to.take_all());
  return to.finish();
}

Status rewrite_ms_skip_layer_normalization(FileNode& file) {
  Rewriting to(file);
  const float epsilon = to.take_float("epsilon", kSkipEpsilon);
  const ValueId sum = skip_sum(to, 4);
  to.result(OpKind::kLayerNormalization, {sum, to.need(2), to.in(3)}, last_axis(epsilon));
  return to.finish();
}

Status rewrite_ms_skip_simplified_layer_normalization(FileNode& file) {
  Rewriting to(file);
  const float epsilon = to.take_float("epsilon", kSkipEpsilon);
  const ValueId sum = skip_sum(to, 3);
  to.result(OpKind::kRMSNormalization, {sum, to.need(2)}, last_axis(epsilon));
  return to.finish();
}

Status rewrite_ms_embed_layer_normalization(FileNode& file) {
  Rewriting to(file);
  const float epsilon = to.take_float("epsilon", kSkipEpsilon);
  to.take_int("mask_index_type", 0);
  const ValueId ids = to.need(0), positions = to.need(3);
  ValueId sum = to.op(OpKind::kGather, {to.need(2), ids});
  if (to.has(8)) {
    sum = to.add(sum, to.op(OpKind::kGather, {positions, to.in(8)}));
  } else {
    sum =
        to.add(sum, to.op(OpKind::kSlice, {positions, to.ints({0}), to.dim(ids, 1), to.ints({0})}));
  }
  if (to.has(1)) sum = to.add(sum, to.op(OpKind::kGather, {to.need(4), to.in(1)}));
  if (to.reads_output(1)) {
    const ValueId mask = to.has(7) ? to.in(7) : to.mul(ids, 0);
    to.output(1, OpKind::kCast, {to.reduce(OpKind::kReduceSum, mask, {1}, false)},
              attributes_of({{"to", std::int64_t{info_of(DType::kI32).onnx}}}));
  }
  to.output(2, sum);
  to.result(OpKind::kLayerNormalization, {sum, to.need(5), to.in(6)}, last_axis(epsilon));
  return to.finish();
}

/// The interpolations have the names that ONNX gave them first.
Status rewrite_ms_grid_sample(FileNode& file) {
  Rewriting to(file);
  std::string mode = to.take_string("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  Attributes attributes = to.take_all();
  attributes.set("mode", mode);
  to.result(OpKind::kGridSample, {to.need(0), to.need(1)}, std::move(attributes));
  return to.finish();
}

Status rewrite_ms_pad(FileNode& file) {
  Rewriting to(file);
  const ValueId pads = to.reshape(to.need(1), {-1});
  to.result(OpKind::kPad, {to.need(0), pads, to.in(2)}, to.take_all());
  return to.finish();
}

/// Values in the order in which they come, where each of the input is among them, how many.
Status rewrite_ms_unique(FileNode& file) {
  auto& outputs = file.node.outputs;
  outputs.resize(3);
  outputs.insert(outputs.begin() + 1, ValueId{});
  while (!outputs.back().valid()) outputs.pop_back();
  file.node.op = OpKind::kUnique;
  file.node.attributes.set("sorted", std::int64_t{0});
  return {};
}

}  // namespace parallax
