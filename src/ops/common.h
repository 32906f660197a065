// Helpers of the operator families of ops/: refusals, dtype and attribute checks, dimension
// arithmetic, shape-value ("content") helpers and counts of multiply-accumulates. Pure functions;
// only ops/ includes this.
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

/// An early return with an Error of the context.
tl::unexpected<Error> fail(const InferContext& context, std::string message,
                           ErrorCode code = ErrorCode::kInvalidModel);

/// The same without one: `message` behind the operator's name, at the node.
tl::unexpected<Error> refuse(const Node& node, std::string message,
                             ErrorCode code = ErrorCode::kInvalidModel);

/// Refuses input i where its dtype is not in `types`. Absent inputs pass.
Status expect_dtype(const InferContext& context, std::size_t i, DTypeSet types);
/// Refuses input i where its dtype is not that of input 0. Absent inputs pass.
Status expect_same_dtype(const InferContext& context, std::size_t i);
/// Refuses input i where it is present and its rank is not `rank`.
Status expect_rank(const InferContext& context, std::size_t i, int rank);
/// Refuses input i where it is present and certainly has not exactly one element. Its rank may be
/// any: models write 1x1 where the standard wants a scalar, and ONNX Runtime takes it.
Status expect_one_element(const InferContext& context, std::size_t i);

int rank_of(const InferInput& input);
/// An axis in [-rank, rank) made non-negative.
Result<int> checked_axis(const InferContext& context, std::int64_t axis, int rank);
/// The element type with ONNX's number `code`, `fallback` without one. Refuses others than `types`.
Result<DType> stated_dtype(const InferContext& context, std::optional<std::int64_t> code,
                           DTypeSet types, DType fallback);
/// Axes made non-negative; refuses those out of range and repeated ones.
Result<std::vector<int>> normalize_axes(const InferContext& context,
                                        std::span<const std::int64_t> axes, int rank);
/// `shape` with its axes in the order of `perm`, the value of `attribute`; empty: as they are.
/// Refuses what is no permutation.
Result<Shape> permuted_shape(const InferContext& context, std::string_view attribute,
                             std::span<const std::int64_t> perm, const Shape& shape);
/// The number of elements of the one-dimensional input i; nothing where it is not fixed.
Result<std::optional<std::int64_t>> vector_length(const InferContext& context, std::size_t i);

/// The dimensions where all are numbers (rank <= Dims::kMaxRank).
std::optional<Dims> concrete(const Shape& shape);
/// Product of dimensions [begin, end).
Expr product(const Shape& shape, std::size_t begin, std::size_t end);
inline Expr product(const Shape& shape) { return product(shape, 0, shape.size()); }
/// The one of two dimensions that must agree: the number where one is a number; nothing where they
/// certainly differ or left 63 bits.
std::optional<Expr> unify(const Expr& a, const Expr& b);
/// `rank` dimensions that only running can tell.
Shape fresh_shape(const InferContext& context, std::size_t rank);
/// True where `a` < 0 (`a` >= 0) for all values of its symbols.
bool is_negative(const Expr& a);
bool is_non_negative(const Expr& a);

/// A result with one output.
std::vector<InferOutput> one_output(DType dtype, Shape shape, Content content = {});

/// Returns the single number of a constant, truncated to an integer; nullopt if it is NaN or does
/// not fit, or if the constant has several.
std::optional<std::int64_t> whole_number(const Constant& constant);

/// True for the element types that content covers.
inline bool has_content(DType dtype) { return contains(kContentTypes, dtype); }
/// Number of elements of `shape` where it is known and at most kMaxContent.
std::optional<std::size_t> content_size(const Shape& shape);

/// Combines one element of each input; nothing where the result is not known.
using CombineElements = std::optional<Expr> (*)(const InferContext&, std::span<const Expr>);
/// Content of an elementwise operator whose broadcast output shape is `shape`.
Content elementwise_content(const InferContext& context, const Shape& shape,
                            CombineElements combine);

/// Calls visit(index) for every index of a tensor of `dims`, row-major.
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
/// Row-major offset of `index` in a tensor of `dims`.
std::size_t offset_of(const Dims& dims, const Dims& index);

/// The largest int64 instead of an overflow.
std::int64_t saturating_elements(const Dims& dims);
/// OpDef::macs of operators that move data, that do one step per output element, and that do one
/// per element of input 0.
std::int64_t macs_none(const Node&, std::span<const Dims>, std::span<const Dims>);
std::int64_t macs_per_output(const Node&, std::span<const Dims>, std::span<const Dims> outputs);
std::int64_t macs_per_input(const Node&, std::span<const Dims> inputs, std::span<const Dims>);

/// `def` of an operator that ONNX has since operator set `opset`.
OpDef since(int opset, OpDef def);

}  // namespace parallax
