// Forms that went before operator set 9: broadcasting by attributes, shapes and sizes as
// attributes, types by name, training and inference told apart by an attribute.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

/// `b` with dimensions of 1 behind its last one, so that its first lies on axis `axis` of `a`.
ValueId aligned(Rewriting& to, ValueId a, ValueId b, std::int64_t axis) {
  const int rank = to.rank(a), own = to.rank(b);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis + own > rank) {
    to.invalid(fmt::format("axis {} is out of range", axis));
    return b;
  }
  std::vector<std::int64_t> axes;
  for (std::int64_t i = own; i < rank - axis; ++i) axes.push_back(i);
  return axes.empty() ? b : to.unsqueeze(b, axes);
}

}  // namespace

/// Before 7 the second operand was broadcast on request, from an axis on.
Status rewrite_binary(FileNode& file) {
  if (file.opset >= 7) return {};
  PX_ASSIGN(const auto broadcast, file.take<std::int64_t>("broadcast"));
  PX_ASSIGN(const auto axis, file.take<std::int64_t>(param_name(&AxisParams<0>::axis)));
  if (!axis || broadcast.value_or(0) == 0) return {};
  Rewriting to(file);
  const ValueId a = to.need(0), b = to.need(1);
  const ValueId fitting = aligned(to, a, b, *axis);
  to.result(file.node.op, {a, fitting}, to.take_all());
  return to.finish();
}

Status rewrite_gemm(FileNode& file) {
  return file.opset < 7 ? status_of(file.take<std::int64_t>("broadcast")) : Status();
}

/// Before 7 a slope of one dimension had an element for each channel.
Status rewrite_prelu(FileNode& file) {
  if (file.opset >= 7) return {};
  Rewriting to(file);
  const ValueId x = to.need(0);
  ValueId slope = to.need(1);
  if (to.rank(x) > 2 && to.rank(slope) == 1 && to.dimension(slope, 0) != 1)
    slope = aligned(to, x, slope, 1);
  to.result(OpKind::kPRelu, {x, slope});
  return to.finish();
}

Status rewrite_reshape(FileNode& file) {
  return file.opset < 5 ? file.attribute_to_input("shape", 1) : Status();
}

/// Before 4 the axis had a default.
Status rewrite_concat(FileNode& file) {
  if (file.opset < 4 && !params_of<OptionalAxisParams>(file.node).axis)
    set_param(file.node.attributes, &AxisParams<0>::axis, 1);
  return {};
}

/// Before 6 one axis was repeated.
Status rewrite_tile(FileNode& file) {
  if (file.opset >= 6) return {};
  Rewriting to(file);
  const ValueId x = to.need(0), tiles = to.need(1);
  const Constant* const axis = to.constant(to.need(2));
  const auto known = axis == nullptr ? std::nullopt : integers(*axis, 1);
  const int rank = to.rank(x);
  if (!known || known->size() != 1 || known->front() < 0 || known->front() >= rank) {
    to.refuse("the axis must be a constant in range");
    return to.finish();
  }
  std::vector<ValueId> repeats;
  for (int i = 0; i < rank; ++i) {
    const bool repeated = i == known->front();
    repeats.push_back(repeated ? to.reshape(to.cast_to(tiles, DType::kI64), {1}) : to.ints({1}));
  }
  to.result(OpKind::kTile, {x, to.concat(std::move(repeats), 0)});
  return to.finish();
}

/// Before 6 the type was a name.
Status rewrite_cast(FileNode& file) {
  if (file.opset >= 6) return check_cast(file);
  PX_ASSIGN(auto name, file.take<std::string>("to"));
  if (!name) return invalid_model("Cast: attribute 'to' is missing", file.node.name);
  std::ranges::transform(*name, name->begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  if (*name == "float" || *name == "double") *name = *name == "float" ? "float32" : "float64";
  const auto* const type = std::ranges::find(kDTypes, *name, &DTypeInfo::numpy);
  if (type == kDTypes.end())
    return invalid_model(fmt::format("Cast: unknown type {}", quote(*name)), file.node.name);
  file.node.attributes.set("to", std::int64_t{type->onnx});
  return check_cast(file);
}

}  // namespace parallax
