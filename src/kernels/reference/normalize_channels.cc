// BatchNormalization, InstanceNormalization, GroupNormalization and LRN of [batch, channels, ...].
// Sums are taken in double precision.
#include "kernels/reference/common.h"
#include "kernels/reference/moments.h"
#include "ops/params/normalization.h"

namespace parallax {
namespace {

/// Returns element `i` of a parameter, whose type may differ from the image's.
double parameter(const KernelArgs& args, const std::array<DType, 5>& types, std::size_t input,
                 std::int64_t i) {
  return types[input] == DType::kF64 ? args.in<double>(input)[i]
                                     : static_cast<double>(args.in<float>(input)[i]);
}

/// An image as [batch, channels, plane].
struct ChannelShape {
  std::int64_t batch = 1, channels = 1, plane = 1;
  double epsilon = 0;
  std::array<DType, 5> types{};  ///< element types of the inputs

  explicit ChannelShape(const KernelRequest& request) {
    const Dims& dims = request.inputs[0].dims;
    if (dims.rank() > 0) batch = dims[0];
    if (dims.rank() > 1) channels = dims[1];
    plane = count_of(dims, std::min(2, dims.rank()), dims.rank());
    epsilon = static_cast<double>(params_of<EpsilonParams>(request.node).epsilon);
    types.fill(DType::kF32);
    for (std::size_t i = 0; i < request.inputs.size() && i < types.size(); ++i)
      types[i] = request.inputs[i].dtype;
  }
  bool empty() const { return batch == 0 || channels == 0 || plane == 0; }
  /// Returns the number of tiles for `units` units of `elements` elements each.
  static std::int64_t tiles(std::int64_t units, std::int64_t elements) {
    return tile_count(
        units, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(elements, 1), 1));
  }
};

/// y = (x - mean) * scale + bias.
template <class T>
void shift_and_scale(const T* x, std::int64_t count, double mean, double scale, double bias, T* y) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * scale + bias);
}

struct ChannelMoments {
  double mean = 0, variance = 0;
};

template <class T>
ChannelMoments moments_of_channel(const ChannelShape& shape, const T* x, std::int64_t c) {
  double sum = 0, squares = 0;
  const auto for_each = [&](auto visit) {
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      const T* plane = x + (n * shape.channels + c) * shape.plane;
      for (std::int64_t i = 0; i < shape.plane; ++i) visit(static_cast<double>(plane[i]));
    }
  };
  const auto count = static_cast<double>(shape.batch * shape.plane);
  for_each([&](double element) { sum += element; });
  for_each([&](double element) { squares += (element - sum / count) * (element - sum / count); });
  return {sum / count, squares / count};
}

void store_running(const KernelArgs& args, std::size_t output, DType dtype, std::int64_t c,
                   double value) {
  if (args.outputs.size() <= output || args.outputs[output] == nullptr) return;
  if (dtype == DType::kF64) {
    args.out<double>(output)[c] = value;
  } else {
    args.out<float>(output)[c] = static_cast<float>(value);
  }
}

/// Training mode: uses the statistics of the channel, and writes the running ones to outputs 1 and
/// 2. A channel without elements has mean and variance 0.
template <class T>
void train_channel(const ChannelShape& shape, double momentum, std::int64_t c,
                   const KernelArgs& args) {
  const ChannelMoments now =
      shape.empty() ? ChannelMoments{} : moments_of_channel(shape, args.in<T>(0), c);
  const double scale = parameter(args, shape.types, 1, c) / std::sqrt(now.variance + shape.epsilon);
  for (std::int64_t n = 0; n < shape.batch && !shape.empty(); ++n) {
    const std::int64_t at = (n * shape.channels + c) * shape.plane;
    shift_and_scale(args.in<T>(0) + at, shape.plane, now.mean, scale,
                    parameter(args, shape.types, 2, c), args.out<T>() + at);
  }
  const auto kept = [&](std::size_t input, double value) {
    return parameter(args, shape.types, input, c) * momentum + value * (1 - momentum);
  };
  store_running(args, 1, shape.types[3], c, kept(3, now.mean));
  store_running(args, 2, shape.types[4], c, kept(4, now.variance));
}

KernelResult training(const KernelRequest& request, const ChannelShape& shape) {
  const auto momentum =
      static_cast<double>(params_of<BatchNormalizationParams>(request.node).momentum);
  const std::int64_t tiles = shape.channels;
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                train_channel<T>(shape, momentum, tile, args);
                                return {};
                              });
  });
}

/// InstanceNormalization is GroupNormalization with a group for each channel.
KernelResult groups_kernel(const KernelRequest& request, std::int64_t groups) {
  const ChannelShape shape(request);
  const std::int64_t members = std::max<std::int64_t>(shape.channels / groups, 1);
  const std::int64_t count = members * shape.plane;
  const std::int64_t units = shape.empty() ? 0 : shape.batch * groups;
  // One parameter for each channel, or for each group.
  const bool per_channel = request.inputs[1].elements() == shape.channels;
  const bool bias_per_channel = request.inputs[2].elements() == shape.channels;
  const std::int64_t tiles = ChannelShape::tiles(units, count);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(units, tiles, tile);
          for (std::int64_t u = range.begin; u < range.end; ++u) {
            const std::int64_t at = u * count, group = u % groups;
            const Moments moments = moments_of(args.in<T>(0) + at, count, shape.epsilon, true);
            for (std::int64_t i = 0; i < members; ++i) {
              const std::int64_t c = group * members + i;
              const double scale = parameter(args, shape.types, 1, per_channel ? c : group);
              const double bias = parameter(args, shape.types, 2, bias_per_channel ? c : group);
              shift_and_scale(args.in<T>(0) + at + i * shape.plane, shape.plane, moments.mean,
                              moments.inverse_deviation * scale, bias,
                              args.out<T>() + at + i * shape.plane);
            }
          }
          return {};
        });
  });
}

}  // namespace

/// (x - mean) / sqrt(var + epsilon) * scale + bias per channel (axis 1; a vector has one).
KernelResult reference_batch_normalization(const KernelRequest& request) {
  ChannelShape shape(request);
  if (params_of<BatchNormalizationParams>(request.node).training_mode)
    return training(request, shape);
  const std::int64_t planes = shape.empty() ? 0 : shape.batch * shape.channels;
  const std::int64_t tiles = ChannelShape::tiles(planes, shape.plane);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(planes, tiles, tile);
          for (std::int64_t p = range.begin; p < range.end; ++p) {
            const std::int64_t c = p % shape.channels, at = p * shape.plane;
            const double deviation = std::sqrt(parameter(args, shape.types, 4, c) + shape.epsilon);
            shift_and_scale(args.in<T>(0) + at, shape.plane, parameter(args, shape.types, 3, c),
                            parameter(args, shape.types, 1, c) / deviation,
                            parameter(args, shape.types, 2, c), args.out<T>() + at);
          }
          return {};
        });
  });
}

KernelResult reference_instance_normalization(const KernelRequest& request) {
  return groups_kernel(request, std::max<std::int64_t>(request.inputs[0].dims[1], 1));
}

KernelResult reference_group_normalization(const KernelRequest& request) {
  const std::int64_t groups =
      std::max<std::int64_t>(params_of<GroupNormalizationParams>(request.node).num_groups, 1);
  if (request.inputs[0].dims[1] % groups != 0)
    return make_error(ErrorCode::kInvalidInput, "the channels are not a multiple of num_groups");
  return groups_kernel(request, groups);
}

/// A unit of work is a plane of one channel. The squares in the window of channels are summed for
/// each element again.
KernelResult reference_lrn(const KernelRequest& request) {
  const ChannelShape shape(request);
  const auto params = params_of<LrnParams>(request.node);
  const std::int64_t size = std::max<std::int64_t>(params.size, 1);
  const std::int64_t before = std::min((size - 1) / 2, shape.channels);
  const std::int64_t after = std::min(size - 1 - (size - 1) / 2, shape.channels);
  const double alpha = static_cast<double>(params.alpha) / static_cast<double>(size);
  const auto beta = static_cast<double>(params.beta);
  const auto bias = static_cast<double>(params.bias);
  const std::int64_t planes = shape.empty() ? 0 : shape.batch * shape.channels;
  const std::int64_t tiles = ChannelShape::tiles(planes, shape.plane * (before + after + 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(planes, tiles, tile);
          for (std::int64_t p = range.begin; p < range.end; ++p) {
            const std::int64_t c = p % shape.channels;
            const std::int64_t first = std::max<std::int64_t>(c - before, 0) - c;
            const std::int64_t last = std::min(c + after, shape.channels - 1) - c;
            for (std::int64_t i = p * shape.plane; i < (p + 1) * shape.plane; ++i) {
              double squares = 0;
              for (std::int64_t k = first; k <= last; ++k) {
                const auto x = static_cast<double>(args.in<T>(0)[i + k * shape.plane]);
                squares += x * x;
              }
              args.out<T>()[i] = static_cast<T>(static_cast<double>(args.in<T>(0)[i]) /
                                                std::pow(bias + alpha * squares, beta));
            }
          }
          return {};
        });
  });
}

}  // namespace parallax
