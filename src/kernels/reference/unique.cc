// Unique and Compress, whose result sizes depend on values.
#include <numeric>

#include "kernels/reference/common.h"
#include "ops/params/indexing.h"

namespace parallax {
namespace {

/// Slices along an axis: element (o, i) of slice k is that at (o * count + k) * inner + i.
struct Slices {
  Dims dims;
  int axis = -1;  ///< -1: the flattened tensor
  std::int64_t outer = 1, count = 0, inner = 1;

  explicit Slices(const KernelRequest& request) : dims(request.inputs[0].dims) {
    count = dims.elements();
    const auto stated = params_of<OptionalAxisParams>(request.node).axis;
    if (!stated) return;
    axis = positive_axis(*stated, dims.rank());
    outer = count_of(dims, 0, axis);
    count = dims[axis];
    inner = count_of(dims, axis + 1, dims.rank());
  }

  /// Dimensions of a result of `chosen` slices.
  Dims result(std::int64_t chosen) const {
    if (axis < 0) return {chosen};
    Dims result = dims;
    result[axis] = chosen;
    return result;
  }

  /// Copies slices from(k), k < chosen, of elements of `size` bytes.
  template <class From>
  void copy(const std::byte* x, std::byte* y, std::int64_t chosen, std::int64_t size,
            From from) const {
    const std::int64_t block = inner * size;
    if (block == 0) return;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t k = 0; k < chosen; ++k) {
        std::memcpy(y + (o * chosen + k) * block, x + (o * count + from(k)) * block,
                    static_cast<std::size_t>(block));
      }
    }
  }
};

/// Returns -1, 0 or 1; NaN comes after all numbers.
template <class T>
int order_of(T a, T b) {
  if (a != a || b != b) return (a != a ? 1 : 0) - (b != b ? 1 : 0);
  return a < b ? -1 : (b < a ? 1 : 0);
}

template <class T>
int order_of_slices(const Slices& slices, const T* x, std::int64_t a, std::int64_t b) {
  for (std::int64_t o = 0; o < slices.outer; ++o) {
    for (std::int64_t i = 0; i < slices.inner; ++i) {
      const T* line = x + o * slices.count * slices.inner + i;
      if (const int order = order_of(line[a * slices.inner], line[b * slices.inner])) return order;
    }
  }
  return 0;
}

/// Lists of one number per slice.
struct UniqueScratch {
  std::int64_t *order, *group, *first, *number;
  UniqueScratch(std::span<std::byte> scratch, std::int64_t n)
      : order(reinterpret_cast<std::int64_t*>(scratch.data())),
        group(order + n),
        first(group + n),
        number(first + n) {}
};

/// Assigns equal slices the same group, in ascending order, and returns the number of groups.
template <class T>
std::int64_t find_groups(const Slices& slices, const T* x, const UniqueScratch& s) {
  std::iota(s.order, s.order + slices.count, 0);
  std::sort(s.order, s.order + slices.count, [&](std::int64_t a, std::int64_t b) {
    const int order = order_of_slices(slices, x, a, b);
    return order < 0 || (order == 0 && a < b);
  });
  std::int64_t groups = 0;
  for (std::int64_t k = 0; k < slices.count; ++k) {
    if (k == 0 || order_of_slices(slices, x, s.order[k - 1], s.order[k]) != 0)
      s.first[groups++] = s.order[k];
    s.group[s.order[k]] = groups - 1;
  }
  return groups;
}

/// Numbers the groups: as they are, or by where they are met first, which `order` lists then.
void number_groups(const UniqueScratch& s, std::int64_t count, std::int64_t groups, bool sorted) {
  if (sorted) {
    std::iota(s.number, s.number + groups, 0);
    std::copy_n(s.first, groups, s.order);
    return;
  }
  std::int64_t next = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t group = s.group[k];
    if (s.first[group] != k) continue;
    s.order[next] = k;
    s.number[group] = next++;
  }
}

Status write_indices(const UniqueScratch& s, std::int64_t count, std::int64_t groups,
                     const std::array<bool, 4>& wanted, DynamicOutputs& outputs) {
  std::array<std::int64_t*, 4> y{};
  for (int i = 1; i < 4; ++i) {
    if (!wanted[static_cast<std::size_t>(i)]) continue;
    PX_ASSIGN(std::byte * bytes, outputs.allocate(i, {i == 2 ? count : groups}));
    y[static_cast<std::size_t>(i)] = reinterpret_cast<std::int64_t*>(bytes);
  }
  if (wanted[1]) std::copy_n(s.order, groups, y[1]);
  if (wanted[3]) std::fill_n(y[3], groups, 0);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t number = s.number[s.group[k]];
    if (wanted[2]) y[2][k] = number;
    if (wanted[3]) ++y[3][number];
  }
  return {};
}

}  // namespace

KernelResult reference_unique(const KernelRequest& request) {
  const Slices slices(request);
  const bool sorted = params_of<UniqueParams>(request.node).sorted;
  const std::int64_t size = size_of(request.inputs[0].dtype);
  const auto scratch = checked_mul(slices.count, 4 * 8);
  if (!scratch) return make_error(ErrorCode::kOutOfMemory, "the input is too large");
  std::array<bool, 4> wanted{};
  for (std::size_t i = 0; i < request.outputs.size(); ++i) wanted[i] = request.outputs[i].present;
  const LambdaKernelOptions options{.scratch_bytes = *scratch, .dynamic_outputs = true};
  return make_for<kAllTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t, const KernelArgs& args) -> Status {
      const UniqueScratch s(args.scratch, slices.count);
      const std::int64_t groups = find_groups(slices, args.in<T>(0), s);
      number_groups(s, slices.count, groups, sorted);
      if (wanted[0]) {
        PX_ASSIGN(std::byte * y, args.dynamic->allocate(0, slices.result(groups)));
        slices.copy(args.inputs[0], y, groups, size, [&](std::int64_t k) { return s.order[k]; });
      }
      return write_indices(s, slices.count, groups, wanted, *args.dynamic);
    });
  });
}

/// A condition may be shorter than the axis it selects from: the rest is not selected.
KernelResult reference_compress(const KernelRequest& request) {
  const Slices slices(request);
  const std::int64_t length = request.inputs[1].elements();
  const std::int64_t size = size_of(request.inputs[0].dtype);
  const auto scratch = checked_mul(std::min(length, slices.count), 8);
  if (!scratch) return make_error(ErrorCode::kOutOfMemory, "the condition is too long");
  const LambdaKernelOptions options{
      .scratch_bytes = *scratch, .byte_inputs = 0b11, .dynamic_outputs = true};
  return make_lambda_kernel(options, [=](std::int64_t, const KernelArgs& args) -> Status {
    auto* chosen = reinterpret_cast<std::int64_t*>(args.scratch.data());
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < length; ++k) {
      if (!load_element<BoolByte>(args.inputs[1], k)) continue;
      if (k >= slices.count) {
        return run_error(ErrorCode::kOutOfRange, "the condition chooses what is not there");
      }
      chosen[count++] = k;
    }
    PX_ASSIGN(std::byte * y, args.dynamic->allocate(0, slices.result(count)));
    slices.copy(args.inputs[0], y, count, size, [&](std::int64_t k) { return chosen[k]; });
    return {};
  });
}

}  // namespace parallax
