// Helpers of the operators in ops/: refusals, checks of dtypes and attributes, arithmetic on
// dimensions, known elements ("content") and counts of multiply-accumulates. Pure functions; only
// ops/ includes this. Errors: those of fail(), with kInvalidModel unless another code is named.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/saturating.h"
#include "base/status.h"
#include "ir/dtype_sets.h"
#include "ops/defs.h"

namespace parallax {

/// Floats and the integers of 32 and 64 bits, with and without sign.
inline constexpr DTypeSet kSumTypes =
    kFloatTypes | (kNumericTypes & dtypes_where([](const DTypeInfo& t) { return t.bits >= 32; }));

/// Returns the Error context.error(), which names the node and the shapes of its inputs.
tl::unexpected<Error> fail(const InferContext& context, std::string message,
                           ErrorCode code = ErrorCode::kInvalidModel);

/// Returns an Error if there is no context: `message` after the operator's name, at the node.
tl::unexpected<Error> refuse(const Node& node, std::string message,
                             ErrorCode code = ErrorCode::kInvalidModel);

/// Refuses input i if its dtype is not in `types`. Accepts absent inputs.
Status expect_dtype(const InferContext& context, std::size_t i, DTypeSet types);
/// Refuses input i if its dtype is not that of input 0. Accepts absent inputs.
Status expect_same_dtype(const InferContext& context, std::size_t i);
/// Refuses input i if it is present and its rank is not `rank`.
Status expect_rank(const InferContext& context, std::size_t i, int rank);
/// Refuses input i if it is present and certainly does not have exactly one element. Accepts any
/// rank: models write 1x1 where the standard wants a scalar, and ONNX Runtime accepts it.
Status expect_one_element(const InferContext& context, std::size_t i);

/// Returns the number of dimensions; 0 for an input that is left out.
int rank_of(const InferInput& input);
/// Returns an axis made non-negative; refuses one outside [-rank, rank).
Result<int> checked_axis(const InferContext& context, std::int64_t axis, int rank);
/// Returns the dtype of ONNX's number `code`, or `fallback` if there is no code; either must be in
/// `types`, otherwise kUnsupported. A number of no dtype is kInvalidModel.
Result<DType> stated_dtype(const InferContext& context, std::optional<std::int64_t> code,
                           DTypeSet types, DType fallback);
/// Returns axes made non-negative; refuses those out of range and repeated ones.
Result<std::vector<int>> normalize_axes(const InferContext& context,
                                        std::span<const std::int64_t> axes, int rank);
/// Returns `shape` with its axes in the order of `perm`, the value of `attribute`; unchanged if
/// `perm` is empty. Refuses all but permutations.
Result<Shape> permuted_shape(const InferContext& context, std::string_view attribute,
                             std::span<const std::int64_t> perm, const Shape& shape);
/// Returns the length of input i, nullopt if it is not fixed. REQUIRES: present. Refuses rank != 1.
Result<std::optional<std::int64_t>> vector_length(const InferContext& context, std::size_t i);

/// Returns the dimensions; nullopt unless all are numbers, at most Dims::kMaxRank.
std::optional<Dims> concrete(const Shape& shape);
/// Returns the product of dimensions [begin, end); 1 for an empty range.
Expr product(const Shape& shape, std::size_t begin, std::size_t end);
/// Returns the number of elements as an expression; it may overflow (Expr::overflow()).
inline Expr product(const Shape& shape) { return product(shape, 0, shape.size()); }
/// Returns one of two dimensions that must be equal, a number rather than an expression; nullopt if
/// they certainly differ or one overflows.
std::optional<Expr> unify(const Expr& a, const Expr& b);
/// Returns whether unify() finds all dimensions of two shapes of one rank.
bool same_shape(const Shape& a, const Shape& b);
/// Returns `rank` new symbols, for dimensions that become known during a run.
Shape fresh_shape(const InferContext& context, std::size_t rank);
/// Return whether `a` is known to be < 0 (>= 0) for all values of its symbols. False for an
/// expression of either sign, so that a refusal needs is_negative() and never !is_non_negative().
bool is_negative(const Expr& a);
bool is_non_negative(const Expr& a);

/// Returns the result of inference for one output, a tensor.
std::vector<InferOutput> one_output(DType dtype, Shape shape, Content content = {});

/// Returns the single number of a constant, truncated to an integer; nullopt if it is NaN or does
/// not fit, and if the constant has several.
std::optional<std::int64_t> whole_number(const Constant& constant);

/// Returns whether content can hold elements of this type.
inline bool has_content(DType dtype) { return contains(kContentTypes, dtype); }
/// Returns the number of elements; nullopt if it is not known or exceeds kMaxContent.
std::optional<std::size_t> content_size(const Shape& shape);

/// Combines one element of each present input; nullopt if the result is not known.
using CombineElements = std::optional<Expr> (*)(const InferContext&, std::span<const Expr>);
/// Returns the content of an elementwise output of this shape; nullopt if an element is not known.
Content elementwise_content(const InferContext& context, const Shape& shape,
                            CombineElements combine);

/// Calls visit(index) for every index of a tensor of `dims`, row-major; once for rank 0.
template <class Visit>
void for_each_index(const Dims& dims, Visit visit) {
  for (std::int64_t dim : dims) {
    if (dim <= 0) return;
  }
  Dims index;
  for (int axis = 0; axis < dims.rank(); ++axis) index.push_back(0);
  while (true) {
    visit(static_cast<const Dims&>(index));
    int axis = dims.rank() - 1;
    while (axis >= 0 && ++index[axis] == dims[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}
/// Returns the row-major offset, in elements, of `index` in a tensor of `dims`.
std::size_t offset_of(const Dims& dims, const Dims& index);

/// Returns the number of elements; the largest int64 instead of an overflow.
std::int64_t saturating_elements(const Dims& dims);
/// OpDef::macs of operators that move data, that do one step for each element of output 0, and for
/// each element of input 0.
std::int64_t macs_none(const Node&, std::span<const Dims>, std::span<const Dims>);
std::int64_t macs_per_output(const Node&, std::span<const Dims>, std::span<const Dims> outputs);
std::int64_t macs_per_input(const Node&, std::span<const Dims> inputs, std::span<const Dims>);

/// Returns `def` of an operator that ONNX has since operator set `opset`.
OpDef since(int opset, OpDef def);

}  // namespace parallax
