// Einsum: for each element of the result a sum of products over all labels that it lacks.
#include "ops/einsum.h"

#include <vector>

#include "kernels/reference/common.h"
#include "kernels/table_bytes.h"

namespace parallax {
namespace {

/// An axis of the space of output elements or summed products, and the stride of each input along
/// it: 0 if the input does not depend on it.
struct EinsumAxis {
  std::int64_t size = 1;
  std::vector<std::int64_t> strides;
};
struct EinsumSpace {
  std::vector<EinsumAxis> output, summed;
  std::int64_t terms = 1;  ///< products that each sum adds
  std::size_t inputs = 0;
};

/// Adds to `axis` the size and the stride in input i of `label`; repeated labels walk the diagonal.
void add_strides(const EinsumTerm& term, const Dims& dims, int label, std::size_t i,
                 EinsumAxis& axis) {
  std::int64_t stride = 1;
  for (int at = dims.rank() - 1; at >= 0; --at) {
    if (term[static_cast<std::size_t>(at)] == label) {
      if (dims[at] != 1) axis.strides[i] += stride;
      if (axis.size == 1) axis.size = dims[at];
    }
    stride *= dims[at];
  }
}

EinsumSpace einsum_space(const EinsumEquation& equation, std::span<const TensorDesc> inputs) {
  const auto axis_of = [&](int label) {
    EinsumAxis axis{1, std::vector<std::int64_t>(inputs.size(), 0)};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      add_strides(equation.inputs[i], inputs[i].dims, label, i, axis);
    return axis;
  };
  EinsumSpace space;
  space.inputs = inputs.size();
  for (const int label : equation.output) space.output.push_back(axis_of(label));
  for (const int label : equation.summed()) {
    space.summed.push_back(axis_of(label));
    space.terms = checked_mul(space.terms, space.summed.back().size)
                      .value_or(std::numeric_limits<std::int64_t>::max());
  }
  return space;
}

/// Adds to the offset of each input that of `index`, a row-major position in the space of `axes`.
void move_to(const std::vector<EinsumAxis>& axes, std::int64_t index, std::int64_t* offsets) {
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::int64_t at = index % axes[a].size;
    index /= axes[a].size;
    for (std::size_t i = 0; i < axes[a].strides.size(); ++i) offsets[i] += at * axes[a].strides[i];
  }
}

/// Sums of floats are taken in double, those of integers wrap.
template <class T>
using EinsumSum = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <class T>
T einsum_element(const EinsumSpace& space, std::int64_t index, const KernelArgs& args) {
  // Offsets of the sum's place, then counters of the summed axes.
  auto* const offsets = reinterpret_cast<std::int64_t*>(args.scratch.data());
  std::int64_t* const at = offsets + space.inputs;
  std::fill_n(offsets, space.inputs + space.summed.size(), 0);
  move_to(space.output, index, offsets);
  EinsumSum<T> sum{0};
  for (std::int64_t term = 0; term < space.terms; ++term) {
    EinsumSum<T> product{1};
    for (std::size_t i = 0; i < space.inputs; ++i)
      product = wrap_mul(product, static_cast<EinsumSum<T>>(args.in<T>(i)[offsets[i]]));
    sum = wrap_add(sum, product);
    for (std::size_t a = space.summed.size(); a-- > 0;) {
      const EinsumAxis& axis = space.summed[a];
      const bool more = ++at[a] < axis.size;
      for (std::size_t i = 0; i < space.inputs; ++i)
        offsets[i] += axis.strides[i] * (more ? 1 : 1 - axis.size);
      if (more) break;
      at[a] = 0;
    }
  }
  return static_cast<T>(sum);
}

std::int64_t table_bytes_of(const EinsumSpace& space) {
  const std::int64_t axes = static_cast<std::int64_t>(space.output.size() + space.summed.size());
  return axes * static_cast<std::int64_t>(sizeof(EinsumAxis) + space.inputs * sizeof(std::int64_t));
}

}  // namespace

KernelResult reference_einsum(const KernelRequest& request) {
  PX_RETURN_IF_ERROR(require_all_inputs(request));
  std::vector<int> ranks;
  for (const TensorDesc& input : request.inputs) ranks.push_back(input.dims.rank());
  PX_ASSIGN(const EinsumEquation equation, einsum_equation(request.node, ranks));
  EinsumSpace space = einsum_space(equation, request.inputs);
  const std::int64_t units = request.outputs[0].elements();
  const std::int64_t work = std::max<std::int64_t>(space.terms, 1);
  const std::int64_t tiles = tile_count(units, std::max<std::int64_t>(kMacsPerTile / work, 1));
  LambdaKernelOptions options;
  options.tiles = tiles;
  options.scratch_bytes =
      static_cast<std::int64_t>((space.inputs + space.summed.size()) * sizeof(std::int64_t));
  options.table_bytes = table_bytes_of(space);
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        options,
        [=, space = std::move(space)](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(units, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end; ++u)
            args.out<T>()[u] = einsum_element<T>(space, u, args);
          return {};
        });
  });
}

}  // namespace parallax
