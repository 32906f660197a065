// Arguments of kernels, laid out as kernels/*.cl declares them: what is called NAME_t there. 32-bit
// numbers only, so that host and device agree on where each lies. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace parallax::opencl {

/// A tensor: two arguments, the buffer and the index of the first element in it.
struct TensorArgument {
  std::int32_t place = -1;  ///< of a binding's list; -1: none, the kernel does not touch it
  std::int64_t first = 0;   ///< elements, from where the place begins
  std::int64_t element_bytes = 1;
};

struct SpaceArgument {
  std::array<std::int32_t, 8> dims{};  ///< fastest first
  std::int32_t rank = 0, chunks = 0, count = 0;
};
struct StridesArgument {
  std::array<std::int32_t, 8> at{};
};
struct ActivationArgument {
  std::int32_t op = 0;
  float alpha = 0, low = 0, high = 0;
};
struct ResultArgument {
  float alpha = 0, beta = 0;
  std::int32_t has_c = 0, c_row = 0, c_column = 0;
  ActivationArgument then;
};
struct ProductArgument {
  std::int32_t m = 0, n = 0, k = 0, a_row = 0, a_column = 0, b_row = 0, b_column = 0, batches = 0;
  std::array<std::int32_t, 4> batch{1, 1, 1, 1}, a_batch{}, b_batch{};
};
struct WindowArgument {
  std::array<std::int32_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      dilation{1, 1, 1}, pad{}, pad_end{};
};
struct ConvolutionArgument {
  std::array<std::int32_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      dilation{1, 1, 1}, pad{};
  std::int32_t channels = 0, filters = 0, groups = 1, batches = 0;
};

/// How an operand of attention lies: strides over batches, fastest first, then over its matrices.
struct MatrixArgument {
  std::array<std::int32_t, 6> batch{};
  std::int32_t row = 0, column = 0;
};
struct AttentionArgument {
  std::int32_t queries = 0, keys = 0, depth = 0, width = 0, batches = 0;
  std::array<std::int32_t, 6> dims{1, 1, 1, 1, 1, 1};
  MatrixArgument q, k, v, y, mask, choice;
  float scale = 1, fill = 0;
  std::int32_t masked = 0, choosing = 0, fill_where = 0, fill_last = 0, nan_is_zero = 0;
};

using Argument = std::variant<TensorArgument, std::int32_t, float, SpaceArgument, StridesArgument,
                              ResultArgument, ProductArgument, ConvolutionArgument, WindowArgument,
                              AttentionArgument>;

/// The letter of each alternative in KernelSpec::signature.
inline constexpr char kArgumentLetters[] = "pifSTRPCWA";
static_assert(std::variant_size_v<Argument> + 1 == sizeof(kArgumentLetters));

}  // namespace parallax::opencl
