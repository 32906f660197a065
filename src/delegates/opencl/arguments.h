// Arguments of kernels, with the layout that kernels/*.cl declares: a struct NAMEArgument is called
// NAME_t there. Only 32-bit numbers, so that host and device agree on the layout. Thread-safety:
// plain values.
//
// Emitters fill them while a region is bound. Sizes and strides count elements; axes of windows are
// right-aligned: with fewer than three spatial axes the first ones have size 1.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace parallax::opencl {

/// A tensor: two arguments of a kernel, the buffer and the index of the first element in it.
struct TensorArgument {
  std::int32_t place = -1;  ///< index in the binding's list of places; -1: the kernel does not
                            ///< access it
  /// Elements from the start of the place. Kernels get a 64-bit index: this plus the offset of the
  /// place.
  std::int64_t first = 0;
  std::int64_t element_bytes = 1;
};

/// An index space of up to 8 axes, over which a kernel iterates. `count`: all elements. `chunks`:
/// work-groups per row if rows have groups of their own; else 0. Unused dims are 1.
struct SpaceArgument {
  std::array<std::int32_t, 8> dims{};  ///< fastest first
  std::int32_t rank = 0, chunks = 0, count = 0;
};
/// Strides of one operand in a space, in elements, in the order of SpaceArgument::dims.
struct StridesArgument {
  std::array<std::int32_t, 8> at{};
};
/// An activation function: a code of kernels/common.cl, and its parameters. 0: the identity.
/// `alpha` is for Silu; `low` and `high` are for Clip.
struct ActivationArgument {
  std::int32_t op = 0;
  float alpha = 0, low = 0, high = 0;
};
/// The steps after a product: alpha * sum + beta * c, then the activation. `has_c`: 0 or 1. `c_row`
/// and `c_column`: strides of `c`; 0 repeats it along that axis.
struct ResultArgument {
  float alpha = 0, beta = 0;
  std::int32_t has_c = 0, c_row = 0, c_column = 0;
  ActivationArgument then;
};
/// A batched matrix product: sizes, strides in elements, up to four batch dimensions. The result is
/// m x n, sums have k terms. `a_batch` and `b_batch` are strides over `batch`, fastest first; 0
/// shares an operand. `batches` is the product of `batch`.
struct ProductArgument {
  std::int32_t m = 0, n = 0, k = 0, a_row = 0, a_column = 0, b_row = 0, b_column = 0, batches = 0;
  std::array<std::int32_t, 4> batch{1, 1, 1, 1}, a_batch{}, b_batch{};
};
/// A pooling window over up to three spatial axes. `pad` is the padding before the first element,
/// `pad_end` that after the last.
struct WindowArgument {
  std::array<std::int32_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      dilation{1, 1, 1}, pad{}, pad_end{};
};
/// A convolution over up to three spatial axes, in NCHW layout. `channels` and `filters` are those
/// of one group; `in`, `out`, `kernel` and the others as in WindowArgument.
struct ConvolutionArgument {
  std::array<std::int32_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      dilation{1, 1, 1}, pad{};
  std::int32_t channels = 0, filters = 0, groups = 1, batches = 0;
};

/// The layout of one operand of attention: strides over batches, fastest first, then of its
/// matrices.
struct MatrixArgument {
  std::array<std::int32_t, 6> batch{};
  std::int32_t row = 0, column = 0;
};
/// Fused attention; `mask` and `choice` are used if `masked` and `choosing` are not 0. `depth`:
/// length of a query and of a key; `width`: of a value and of a result. `batches` is the product of
/// `dims`, which are fastest first. The attributes are those of FusedAttentionParams: `scale`, the
/// `fill` of chosen scores, and flags that are 0 or 1.
struct AttentionArgument {
  std::int32_t queries = 0, keys = 0, depth = 0, width = 0, batches = 0;
  std::array<std::int32_t, 6> dims{1, 1, 1, 1, 1, 1};
  MatrixArgument q, k, v, y, mask, choice;
  float scale = 1, fill = 0;
  std::int32_t masked = 0, choosing = 0, fill_where = 0, fill_last = 0, nan_is_zero = 0;
};

/// Any argument of a kernel. The order of the alternatives matches kArgumentLetters. A
/// TensorArgument becomes two arguments of the kernel, every other alternative one.
using Argument = std::variant<TensorArgument, std::int32_t, float, SpaceArgument, StridesArgument,
                              ResultArgument, ProductArgument, ConvolutionArgument, WindowArgument,
                              AttentionArgument>;

/// The letter of each alternative of Argument in KernelSpec::signature.
inline constexpr char kArgumentLetters[] = "pifSTRPCWA";
static_assert(std::variant_size_v<Argument> + 1 == sizeof(kArgumentLetters));

}  // namespace parallax::opencl
