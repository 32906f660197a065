// Operators of two (Where: three) tensors with broadcasting: f32 arithmetic through Highway,
// integer arithmetic, comparisons and Where through loops that compilers vectorise.
#include <type_traits>

#include "ir/dtype_sets.h"
#include "kernels/cpu/elementwise/functions.h"
#include "kernels/cpu/elementwise/strided_loop.h"
#include "kernels/cpu/tiles.h"

namespace parallax {

std::optional<BinaryFunction> binary_function(OpKind op) {
  switch (op) {
    case OpKind::kAdd:
      return BinaryFunction::kAdd;
    case OpKind::kSub:
      return BinaryFunction::kSub;
    case OpKind::kMul:
      return BinaryFunction::kMul;
    case OpKind::kDiv:
      return BinaryFunction::kDiv;
    case OpKind::kMin:
      return BinaryFunction::kMin;
    case OpKind::kMax:
      return BinaryFunction::kMax;
    case OpKind::kPRelu:
      return BinaryFunction::kPRelu;
    default:
      return std::nullopt;
  }
}

namespace {

using Offsets = StridedLoop::Offsets;

/// A kernel that calls body(args, output offset, input offsets, rows, columns) for blocks.
template <class Body>
Result<std::unique_ptr<Kernel>> block_kernel(const KernelRequest& request, const Body& make_body) {
  std::vector<Dims> dims;
  for (const TensorDesc& input : request.inputs) dims.push_back(input.dims);
  const StridedLoop loop = broadcast_loop(request.outputs[0].dims, dims);
  LambdaKernelOptions options;
  options.tiles = count_tiles(loop.elements(), kTileElements);
  return tiled_kernel(
      options,
      [loop, tiles = options.tiles, body = make_body(loop)](std::int64_t tile,
                                                            const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(loop.elements(), tiles, tile, kTileGranule);
        loop.for_each_block(begin, end,
                            [&](std::int64_t at, const Offsets& offsets, std::int64_t rows,
                                std::int64_t columns) { body(args, at, offsets, rows, columns); });
        return {};
      });
}

Result<std::unique_ptr<Kernel>> float_kernel(const KernelRequest& request, BinaryFunction f) {
  return block_kernel(request, [f](const StridedLoop& loop) {
    return [f, row = loop.row_strides(), column = loop.column_strides()](
               const KernelArgs& args, std::int64_t at, const Offsets& offsets, std::int64_t rows,
               std::int64_t columns) {
      BinaryRows block;
      block.a = args.in<float>(0) + offsets[0];
      block.b = args.in<float>(1) + offsets[1];
      block.y = args.out<float>() + at;
      block.a_stride = row[0];
      block.b_stride = row[1];
      block.a_scalar = column[0] == 0;
      block.b_scalar = column[1] == 0;
      block.rows = to_size(rows);
      block.columns = to_size(columns);
      apply_binary(f, block);
    };
  });
}

/// y[c] = f(a[c], b[c]) for each row; strides of columns are 0 or 1.
template <class In, class Out, class F>
Result<std::unique_ptr<Kernel>> plain_kernel(const KernelRequest& request, F f) {
  return block_kernel(request, [f](const StridedLoop& loop) {
    return [f, row = loop.row_strides(), column = loop.column_strides()](
               const KernelArgs& args, std::int64_t at, const Offsets& offsets, std::int64_t rows,
               std::int64_t columns) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const In* a = args.in<In>(0) + offsets[0] + r * row[0];
        const In* b = args.in<In>(1) + offsets[1] + r * row[1];
        Out* y = args.out<Out>() + at + r * columns;
        if (column[0] != 0 && column[1] != 0) {
          for (std::int64_t c = 0; c < columns; ++c) y[c] = f(a[c], b[c]);
        } else if (column[0] != 0) {
          for (std::int64_t c = 0; c < columns; ++c) y[c] = f(a[c], *b);
        } else if (column[1] != 0) {
          for (std::int64_t c = 0; c < columns; ++c) y[c] = f(*a, b[c]);
        } else {
          for (std::int64_t c = 0; c < columns; ++c) y[c] = f(*a, *b);
        }
      }
    };
  });
}

/// Two's complement arithmetic that wraps.
template <class T>
Result<std::unique_ptr<Kernel>> integer_kernel(const KernelRequest& request) {
  using U = std::make_unsigned_t<T>;
  switch (request.node.op) {
    case OpKind::kAdd:
      return plain_kernel<T, T>(
          request, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    case OpKind::kSub:
      return plain_kernel<T, T>(
          request, [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); });
    case OpKind::kMul:
      return plain_kernel<T, T>(
          request, [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    default:
      return not_covered();
  }
}

template <class T>
Result<std::unique_ptr<Kernel>> comparison_kernel(const KernelRequest& request) {
  switch (request.node.op) {
    case OpKind::kEqual:
      return plain_kernel<T, bool>(request, [](T a, T b) { return a == b; });
    case OpKind::kLess:
      return plain_kernel<T, bool>(request, [](T a, T b) { return a < b; });
    case OpKind::kLessOrEqual:
      return plain_kernel<T, bool>(request, [](T a, T b) { return a <= b; });
    case OpKind::kGreater:
      return plain_kernel<T, bool>(request, [](T a, T b) { return a > b; });
    case OpKind::kGreaterOrEqual:
      return plain_kernel<T, bool>(request, [](T a, T b) { return a >= b; });
    default:
      return not_covered();
  }
}

/// Creates the kernel of the operator Where for elements of the size of U, of any dtype.
template <class U>
Result<std::unique_ptr<Kernel>> where_kernel(const KernelRequest& request) {
  return block_kernel(request, [](const StridedLoop& loop) {
    return [row = loop.row_strides(), column = loop.column_strides()](
               const KernelArgs& args, std::int64_t at, const Offsets& offsets, std::int64_t rows,
               std::int64_t columns) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto* condition = args.in<std::uint8_t>(0) + offsets[0] + r * row[0];
        const U* a = args.in<U>(1) + offsets[1] + r * row[1];
        const U* b = args.in<U>(2) + offsets[2] + r * row[2];
        U* y = args.out<U>() + at + r * columns;
        for (std::int64_t c = 0; c < columns; ++c) {
          // Both are read, so that the loop has no branch.
          const U yes = a[c * column[1]], no = b[c * column[2]];
          y[c] = condition[c * column[0]] != 0 ? yes : no;
        }
      }
    };
  });
}

constexpr DTypeSet kBinaryTypes = dtype_bit(DType::kF32) | kIndexTypes;

}  // namespace

/// Creates the kernels of Add, Sub, Mul, Div, Min, Max, PRelu of two f32; Add, Sub, Mul of two i32
/// or i64.
Result<std::unique_ptr<Kernel>> cpu_binary(const KernelRequest& request) {
  if (request.inputs.size() != 2) return not_covered();
  return dispatch<kBinaryTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<T, float>) {
      const auto f = binary_function(request.node.op);
      return f ? float_kernel(request, *f) : not_covered();
    } else {
      return integer_kernel<T>(request);
    }
  });
}

/// Creates the kernels of Equal, Less, LessOrEqual, Greater, GreaterOrEqual of two f32, i32 or i64.
Result<std::unique_ptr<Kernel>> cpu_comparison(const KernelRequest& request) {
  return dispatch<kBinaryTypes>(request.inputs[0].dtype, [&](auto type) {
    return comparison_kernel<typename decltype(type)::type>(request);
  });
}

/// Creates the kernel of the operator Where for any dtype.
Result<std::unique_ptr<Kernel>> cpu_where(const KernelRequest& request) {
  switch (size_of(request.outputs[0].dtype)) {
    case 1:
      return where_kernel<std::uint8_t>(request);
    case 2:
      return where_kernel<std::uint16_t>(request);
    case 4:
      return where_kernel<std::uint32_t>(request);
    case 8:
      return where_kernel<std::uint64_t>(request);
    default:
      return not_covered();
  }
}

}  // namespace parallax
