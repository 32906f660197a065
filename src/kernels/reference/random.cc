// RandomUniform, RandomNormal, Bernoulli, Multinomial, Dropout. Element i of a result is made of
// the generator's i-th number alone, so it is the same on any number of threads and in each run.
#include <bit>
#include <numbers>
#include <variant>

#include "kernels/reference/common.h"
#include "kernels/reference/philox.h"
#include "ops/params/random.h"

namespace parallax {
namespace {

/// Returns the bits of the attribute `seed`, or a hash of the node's name, so that two nodes
/// without seeds differ.
std::uint64_t seed_of(const Node& node) {
  if (node.op == OpKind::kDropout) {
    if (const auto seed = params_of<DropoutParams>(node).seed)
      return static_cast<std::uint64_t>(*seed);
  } else if (const auto seed = params_of<RandomParams>(node).seed) {
    return std::bit_cast<std::uint32_t>(*seed);
  }
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : node.name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

/// Returns number `i` of a uniform sequence in [0, 1), with as many bits as T has digits.
template <class T>
T uniform_at(std::uint64_t seed, std::int64_t i) {
  const auto bits = philox(static_cast<std::uint64_t>(i), seed);
  constexpr int kDigits = std::numeric_limits<T>::digits;
  const std::uint64_t all = std::uint64_t{bits[0]} << 32 | bits[1];
  return std::ldexp(static_cast<T>(all >> (64 - kDigits)), -kDigits);
}

/// Returns number `i` of a standard normal sequence, by the Box-Muller transform.
double normal_at(std::uint64_t seed, std::int64_t i) {
  const auto bits = philox(static_cast<std::uint64_t>(i), seed);
  const double radius = std::sqrt(-2 * std::log(std::ldexp(static_cast<double>(bits[0]) + 1, -32)));
  return radius * std::cos(2 * std::numbers::pi * std::ldexp(static_cast<double>(bits[1]), -32));
}

/// Writes y[i] = element(i); no input is read.
template <class T, class Element>
KernelResult draw(const KernelRequest& request, Element element) {
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 8);
  return make_lambda_kernel({.tiles = tiles, .unused_inputs = ~0U},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(count, tiles, tile);
                              for (std::int64_t i = range.begin; i < range.end; ++i)
                                args.out<T>()[i] = element(i);
                              return {};
                            });
}

/// Returns the class at which the running sum of probabilities exceeds `share` of their total.
template <class T>
std::int64_t choose_class(const T* logits, std::int64_t classes, double share) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t k = 0; k < classes; ++k)
    largest = std::max(largest, static_cast<double>(logits[k]));
  const auto weight = [&](std::int64_t k) {
    return std::exp(static_cast<double>(logits[k]) - largest);
  };
  for (std::int64_t k = 0; k < classes; ++k) sum += weight(k);
  double passed = 0;
  for (std::int64_t k = 0; k + 1 < classes; ++k) {
    passed += weight(k);
    if (passed > share * sum) return k;
  }
  return classes - 1;
}

/// Mode and ratio of a Dropout.
struct Drop {
  double ratio = 0.5;
  bool training = false;
};

Drop drop_of(const KernelArgs& args, const TensorDesc& ratio, bool has_mode) {
  Drop drop;
  drop.training = has_mode && load_element<BoolByte>(args.inputs[2], 0);
  if (ratio.present) {
    drop.ratio = ratio.dtype == DType::kF64
                     ? load_element<double>(args.inputs[1], 0)
                     : static_cast<double>(load_element<float>(args.inputs[1], 0));
  }
  return drop;
}

}  // namespace

/// RandomUniform and RandomUniformLike.
KernelResult reference_random_uniform(const KernelRequest& request) {
  const std::uint64_t seed = seed_of(request.node);
  const auto params = params_of<UniformParams>(request.node);
  const float low = params.low, high = params.high;
  return make_for<kFloatTypes>(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return draw<T>(request, [=](std::int64_t i) {
      return T{low} + (T{high} - T{low}) * uniform_at<T>(seed, i);
    });
  });
}

/// RandomNormal and RandomNormalLike.
KernelResult reference_random_normal(const KernelRequest& request) {
  const std::uint64_t seed = seed_of(request.node);
  const auto params = params_of<NormalParams>(request.node);
  const auto mean = static_cast<double>(params.mean), scale = static_cast<double>(params.scale);
  return make_for<kFloatTypes>(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return draw<T>(
        request, [=](std::int64_t i) { return static_cast<T>(mean + scale * normal_at(seed, i)); });
  });
}

KernelResult reference_bernoulli(const KernelRequest& request) {
  const std::uint64_t seed = seed_of(request.node);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 8);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto from) {
    using T = typename decltype(from)::type;
    return make_for<kAllTypes>(request.outputs[0].dtype, [&](auto to) -> KernelResult {
      using Y = typename decltype(to)::type;
      return make_lambda_kernel(
          {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
            const TileRange range = tile_range(count, tiles, tile);
            for (std::int64_t i = range.begin; i < range.end; ++i) {
              const bool one = uniform_at<double>(seed, i) < static_cast<double>(args.in<T>(0)[i]);
              args.out<Y>()[i] = convert<Y>(one ? 1 : 0);
            }
            return {};
          });
    });
  });
}

KernelResult reference_multinomial(const KernelRequest& request) {
  const std::uint64_t seed = seed_of(request.node);
  const std::int64_t classes = request.inputs[0].dims[1], samples = request.outputs[0].dims[1];
  const std::int64_t count = request.outputs[0].elements();
  if (classes < 1 && count > 0) {
    return make_error(ErrorCode::kInvalidInput, "there is no class to choose from");
  }
  const std::int64_t tiles = tile_count(
      count, std::max<std::int64_t>(kElementsPerTile / 16 / std::max<std::int64_t>(classes, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto from) {
    using T = typename decltype(from)::type;
    return make_for<kIndexTypes>(request.outputs[0].dtype, [&](auto to) -> KernelResult {
      using Y = typename decltype(to)::type;
      return make_lambda_kernel(
          {.tiles = tiles}, [=](std::int64_t tile, const KernelArgs& args) -> Status {
            const TileRange range = tile_range(count, tiles, tile);
            for (std::int64_t i = range.begin; i < range.end; ++i) {
              args.out<Y>()[i] = static_cast<Y>(choose_class(args.in<T>(0) + i / samples * classes,
                                                             classes, uniform_at<double>(seed, i)));
            }
            return {};
          });
    });
  });
}

/// Output 1, if present, is the mask of elements that are kept.
KernelResult reference_dropout(const KernelRequest& request) {
  const std::uint64_t seed = seed_of(request.node);
  const TensorDesc ratio = request.has(1) ? request.inputs[1] : TensorDesc{};
  const bool has_mode = request.has(2);
  const std::int64_t count = request.inputs[0].elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 8);
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b110},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const Drop drop = drop_of(args, ratio, has_mode);
          if (drop.training && !(drop.ratio >= 0 && drop.ratio <= 1)) {
            return run_error(ErrorCode::kInvalidInput, "ratio is not in [0, 1]");
          }
          const T scale = static_cast<T>(1 / (1 - drop.ratio));
          const TileRange range = tile_range(count, tiles, tile);
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            const bool stays = !drop.training || uniform_at<double>(seed, i) >= drop.ratio;
            const T x = args.in<T>(0)[i];
            if (args.outputs[0] != nullptr)
              args.out<T>()[i] = !stays ? T{0} : drop.training ? x * scale : x;
            if (args.outputs.size() > 1 && args.outputs[1] != nullptr)
              args.out<BoolByte>(1)[i] = BoolByte(stays);
          }
          return {};
        });
  });
}

}  // namespace parallax
