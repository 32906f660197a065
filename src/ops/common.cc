#include "ops/common.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "parallax/elements.h"

namespace parallax {

tl::unexpected<Error> fail(const InferContext& context, std::string message, ErrorCode code) {
  return tl::unexpected(context.error(std::move(message), code));
}

tl::unexpected<Error> refuse(const Node& node, std::string message, ErrorCode code) {
  return tl::unexpected(Error{Stage::kLoad, code, node.name,
                              fmt::format("{}: {}", to_string(node.op), std::move(message))});
}

Status expect_dtype(const InferContext& context, std::size_t i, DTypeSet types) {
  if (!context.has(i) || contains(types, context.inputs[i].dtype)) return {};
  return fail(context,
              fmt::format("input {} may not be {}", i, to_string(context.inputs[i].dtype)));
}

Status expect_same_dtype(const InferContext& context, std::size_t i) {
  if (!context.has(i) || !context.has(0)) return {};
  const DType wanted = context.inputs[0].dtype;
  if (context.inputs[i].dtype == wanted) return {};
  return fail(context, fmt::format("input {} is {} but input 0 is {}", i,
                                   to_string(context.inputs[i].dtype), to_string(wanted)));
}

Status expect_rank(const InferContext& context, std::size_t i, int rank) {
  if (!context.has(i) || rank_of(context.inputs[i]) == rank) return {};
  return fail(context, fmt::format("input {} must have rank {}", i, rank));
}

Status expect_one_element(const InferContext& context, std::size_t i) {
  if (!context.has(i)) return {};
  for (const Expr& dim : context.inputs[i].shape) {
    if (dim.constant().value_or(1) != 1)
      return fail(context, fmt::format("input {} must be one number", i));
  }
  return {};
}

int rank_of(const InferInput& input) { return static_cast<int>(input.shape.size()); }

Result<int> checked_axis(const InferContext& context, std::int64_t axis, int rank) {
  if (auto normal = normalize_axis(axis, rank)) return *normal;
  return fail(context, fmt::format("axis {} is outside rank {}", axis, rank));
}

Result<DType> stated_dtype(const InferContext& context, std::optional<std::int64_t> code,
                           DTypeSet types, DType fallback) {
  const auto dtype = code ? dtype_from_onnx(*code) : std::optional(fallback);
  if (dtype && contains(types, *dtype)) return *dtype;
  if (!dtype) return fail(context, fmt::format("there is no dtype {}", *code));
  return fail(context, fmt::format("the result may not be {}", to_string(*dtype)),
              ErrorCode::kUnsupported);
}

Result<std::vector<int>> normalize_axes(const InferContext& context,
                                        std::span<const std::int64_t> axes, int rank) {
  std::vector<int> normal;
  std::array<bool, Dims::kMaxRank> seen{};
  for (std::int64_t axis : axes) {
    const auto n = normalize_axis(axis, rank);
    if (!n) return fail(context, fmt::format("axis {} is outside rank {}", axis, rank));
    if (std::exchange(seen[static_cast<std::size_t>(*n)], true)) {
      return fail(context, fmt::format("axis {} appears twice", axis));
    }
    normal.push_back(*n);
  }
  return normal;
}

Result<std::optional<std::int64_t>> vector_length(const InferContext& context, std::size_t i) {
  PX_RETURN_IF_ERROR(expect_rank(context, i, 1));
  return context.inputs[i].shape[0].constant();
}

std::optional<Dims> concrete(const Shape& shape) {
  Dims dims;
  if (shape.size() > static_cast<std::size_t>(Dims::kMaxRank)) return std::nullopt;
  for (const Expr& dim : shape) {
    const auto n = dim.constant();
    if (!n) return std::nullopt;
    dims.push_back(*n);
  }
  return dims;
}

Expr product(const Shape& shape, std::size_t begin, std::size_t end) {
  Expr result = 1;
  for (std::size_t i = begin; i < end; ++i) result = result * shape[i];
  return result;
}

std::optional<Expr> unify(const Expr& a, const Expr& b) {
  if (a.overflow() || b.overflow()) return std::nullopt;
  const auto x = a.constant();
  const auto y = b.constant();
  if (x && y && *x != *y) return std::nullopt;
  return x ? a : (y ? b : a);
}

bool same_shape(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b,
                            [](const Expr& x, const Expr& y) { return unify(x, y).has_value(); });
}

Shape fresh_shape(const InferContext& context, std::size_t rank) {
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(context.fresh_symbol("dim"));
  return shape;
}

bool is_negative(const Expr& a) {
  if (auto n = a.constant()) return *n < 0;
  const auto bound = (Expr(0) - a).lower_bound();
  return bound && *bound > 0;
}

bool is_non_negative(const Expr& a) {
  const auto bound = a.lower_bound();
  return bound && *bound >= 0;
}

std::vector<InferOutput> one_output(DType dtype, Shape shape, Content content) {
  std::vector<InferOutput> outputs;
  outputs.push_back({dtype, std::move(shape), std::move(content)});
  return outputs;
}

std::optional<std::int64_t> whole_number(const Constant& constant) {
  const DType dtype = constant.dtype;
  if (!contains(kNumericTypes, dtype) || std::ssize(constant.bytes) != size_of(dtype))
    return std::nullopt;
  const auto number = read_element<double>(dtype, constant.bytes.data(), 0);
  constexpr double kLimit = 9.0e18;
  if (!(std::fabs(number) < kLimit)) return std::nullopt;
  if (contains(kFloatTypes, dtype)) return static_cast<std::int64_t>(number);
  return read_element<std::int64_t>(dtype, constant.bytes.data(), 0);
}

std::optional<std::size_t> content_size(const Shape& shape) {
  const auto dims = concrete(shape);
  const auto elements = dims ? dims->checked_elements() : std::nullopt;
  if (!elements || *elements < 0 || *elements > static_cast<std::int64_t>(kMaxContent)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(*elements);
}

std::size_t offset_of(const Dims& dims, const Dims& index) {
  std::size_t offset = 0;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    offset = offset * static_cast<std::size_t>(dims[axis]) + static_cast<std::size_t>(index[axis]);
  }
  return offset;
}

namespace {

struct ContentOperand {
  std::vector<Expr> elements;
  Dims dims;
};

/// Offset in the operand of the element that numpy broadcasting pairs with output index `index`.
std::size_t broadcast_offset(const Dims& operand, const Dims& index) {
  const int lead = index.rank() - operand.rank();
  std::size_t offset = 0;
  for (int axis = 0; axis < operand.rank(); ++axis) {
    const auto dim = static_cast<std::size_t>(operand[axis]);
    const std::size_t at = dim == 1 ? 0 : static_cast<std::size_t>(index[axis + lead]);
    offset = offset * dim + at;
  }
  return offset;
}

}  // namespace

Content elementwise_content(const InferContext& context, const Shape& shape,
                            CombineElements combine) {
  const auto size = content_size(shape);
  if (!size) return std::nullopt;
  std::vector<ContentOperand> operands;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    if (!has_content(context.inputs[i].dtype)) return std::nullopt;
  }
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    if (!context.has(i)) continue;
    auto elements = context.exprs(i);
    auto dims = concrete(context.inputs[i].shape);
    if (!elements || !dims) return std::nullopt;
    operands.push_back({*std::move(elements), *dims});
  }
  std::vector<Expr> result;
  result.reserve(*size);
  std::vector<Expr> row(operands.size());
  bool known = true;
  for_each_index(*concrete(shape), [&](const Dims& index) {
    if (!known) return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      row[i] = operands[i].elements[broadcast_offset(operands[i].dims, index)];
    }
    const auto element = combine(context, row);
    known = element.has_value();
    if (known) result.push_back(*element);
  });
  if (!known) return std::nullopt;
  return result;
}

std::int64_t saturating_elements(const Dims& dims) {
  return dims.checked_elements().value_or(std::numeric_limits<std::int64_t>::max());
}

std::int64_t macs_none(const Node&, std::span<const Dims>, std::span<const Dims>) { return 0; }

std::int64_t macs_per_output(const Node&, std::span<const Dims>, std::span<const Dims> outputs) {
  return outputs.empty() ? 0 : saturating_elements(outputs[0]);
}

std::int64_t macs_per_input(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  return inputs.empty() ? 0 : saturating_elements(inputs[0]);
}

Result<Shape> permuted_shape(const InferContext& context, std::string_view attribute,
                             std::span<const std::int64_t> perm, const Shape& shape) {
  if (perm.empty()) return shape;
  if (perm.size() != shape.size()) {
    return fail(context, fmt::format("{} is not a permutation of the axes", attribute));
  }
  PX_ASSIGN(const auto order, normalize_axes(context, perm, static_cast<int>(shape.size())));
  Shape result;
  for (const int axis : order) result.push_back(shape[static_cast<std::size_t>(axis)]);
  return result;
}

OpDef since(int opset, OpDef def) {
  def.since = opset;
  return def;
}

}  // namespace parallax
