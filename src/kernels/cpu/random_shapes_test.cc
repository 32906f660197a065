// Kernels over random sizes, next to those at which they cut: near multiples of the blocks of a
// depth, of rows and of vectors. run_kernel_tiles() watches what lies behind the scratch of a tile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

class Sizes {
 public:
  explicit Sizes(unsigned seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  /// A size of at most `most`: small, or near a multiple of a block.
  std::int64_t size(std::int64_t most) {
    constexpr std::int64_t kBlocks[] = {16, 64, 128, 256, 512, 768, 1024};
    const std::int64_t block = kBlocks[pick(0, std::ssize(kBlocks) - 1)];
    const std::int64_t near = pick(0, 2) == 0 ? pick(1, 40) : block + pick(-5, 5);
    return std::min(near, most);
  }
  bool chance() { return pick(0, 1) != 0; }

 private:
  std::mt19937 random_;
};

/// Largest number of multiply-accumulates of a case: the reference kernels compute them one by one.
constexpr std::int64_t kMostMacs = 3'000'000;

KernelRun product(Sizes& s) {
  const std::int64_t depth = s.size(1100), columns = s.size(300);
  const std::int64_t rows = std::clamp<std::int64_t>(kMostMacs / (depth * columns), 1, s.size(200));
  KernelRun run{OpKind::kMatMul, test_inputs(random_floats({rows, depth}, 1, -1, 1))};
  const bool transposed = s.chance();
  run.inputs.emplace_back(
      random_floats(transposed ? Dims{columns, depth} : Dims{depth, columns}, 2, -1, 1));
  if (transposed) run.attributes = test_attributes({{"b_perm", Ints{1, 0}}});
  if (!transposed && s.chance()) run.constants = 0b10;
  return run;
}

KernelRun attention(Sizes& s) {
  const std::int64_t keys = s.size(1100), depth = s.size(70), width = s.size(140);
  const std::int64_t most = kMostMacs / (keys * (depth + width));
  const std::int64_t queries = std::clamp<std::int64_t>(most, 1, s.size(100));
  const bool rows = s.chance();
  KernelRun run{OpKind::kFusedAttention,
                test_inputs(random_floats({queries, depth}, 1, -1, 1),
                            random_floats(rows ? Dims{keys, depth} : Dims{depth, keys}, 2, -1, 1),
                            random_floats({keys, width}, 3, -1, 1)),
                test_attributes({{"scale", 0.25F}})};
  if (rows) run.attributes.set("k_perm", Ints{1, 0});
  if (s.chance()) run.inputs.emplace_back(random_floats({queries, keys}, 4, -2, 2));
  return run;
}

KernelRun byte_product(Sizes& s) {
  const std::int64_t depth = s.size(1100), columns = s.size(300);
  const std::int64_t rows = std::clamp<std::int64_t>(kMostMacs / (depth * columns), 1, s.size(200));
  KernelRun run{OpKind::kMatMulInteger,
                test_inputs(random_integers<std::uint8_t>({rows, depth}, 1, 0, 255),
                            random_integers<std::int8_t>({depth, columns}, 2, -128, 127))};
  run.constants = 0b10;
  return run;
}

KernelRun bits_columns(Sizes& s) {
  const std::int64_t bits = 2 << s.pick(0, 2), block = 16 << s.pick(0, 4);
  const std::int64_t depth = s.size(1100), columns = s.size(300);
  const std::int64_t rows = std::clamp<std::int64_t>(kMostMacs / (depth * columns), 1, s.size(200));
  const std::int64_t blocks = (depth + block - 1) / block;
  KernelRun run{
      OpKind::kMatMulNBits,
      test_inputs(random_floats({rows, depth}, 1, -1, 1),
                  random_integers<std::uint8_t>({columns, blocks, block * bits / 8}, 2, 0, 255),
                  random_floats({columns * blocks}, 3, 0, 0.01F)),
      test_attributes({{"K", depth}, {"N", columns}, {"bits", bits}, {"block_size", block}})};
  if (s.chance())
    run.inputs.emplace_back(
        random_integers<std::uint8_t>({columns * ((blocks * bits + 7) / 8)}, 4, 0, 255));
  return run;
}

/// An image as NCHW, or NHWC if `last`.
Dims image(Sizes& s, bool last, std::int64_t channels) {
  const std::int64_t height = s.pick(1, 24), width = s.pick(1, 24);
  return last ? Dims{1, height, width, channels} : Dims{1, channels, height, width};
}

KernelRun transposed_convolution(Sizes& s) {
  const bool last = s.chance();
  const std::int64_t channels = s.pick(1, 70), filters = s.pick(1, 40);
  const std::int64_t kernel = s.pick(1, 4), stride = s.pick(1, 3);
  KernelRun run{OpKind::kConvTranspose,
                test_inputs(random_floats(image(s, last, channels), 1, -1, 1),
                            random_floats({channels, filters, kernel, kernel}, 2, -1, 1)),
                test_attributes({{"strides", Ints{stride, stride}}})};
  if (last) run.attributes.set("layout", std::string("NHWC"));
  run.constants = 0b10;
  return run;
}

KernelRun pool(Sizes& s) {
  const bool last = s.chance();
  const std::int64_t kernel = s.pick(1, 4);
  const Dims x = image(s, last, s.size(130));
  const bool fits = std::min(x[last ? 1 : 2], x[last ? 2 : 3]) >= kernel;
  const std::int64_t side = fits ? kernel : 1;
  KernelRun run{s.chance() ? OpKind::kMaxPool : OpKind::kAveragePool,
                test_inputs(random_floats(x, 1, -1, 1)),
                test_attributes({{"kernel_shape", Ints{side, side}},
                                 {"strides", Ints{s.pick(1, 3), s.pick(1, 3)}}})};
  if (last) run.attributes.set("layout", std::string("NHWC"));
  return run;
}

KernelRun along_an_axis(Sizes& s) {
  constexpr OpKind kOps[] = {OpKind::kSoftmax,   OpKind::kLogSoftmax, OpKind::kReduceSum,
                             OpKind::kReduceMax, OpKind::kReduceMean, OpKind::kReduceL2};
  const OpKind op = kOps[s.pick(0, std::ssize(kOps) - 1)];
  const Dims x = {s.pick(1, 8), s.size(300), s.size(70)};
  const std::int64_t axis = s.pick(0, 2);
  KernelRun run{op, test_inputs(random_floats(x, 1, -1, 1))};
  if (op == OpKind::kSoftmax || op == OpKind::kLogSoftmax) {
    run.attributes.set("axis", axis);
  } else {
    run.inputs.emplace_back(test_tensor<std::int64_t>({1}, {axis}));
    run.constants = 0b10;
  }
  return run;
}

KernelRun recurrent(Sizes& s) {
  const bool lstm = s.chance();
  const std::int64_t gates = lstm ? 4 : 3, state = s.size(140), width = s.size(140);
  const std::int64_t steps = s.pick(1, 5), batch = s.pick(1, 9);
  return {lstm ? OpKind::kLSTM : OpKind::kGRU,
          test_inputs(random_floats({steps, batch, width}, 1, -1, 1),
                      random_floats({1, gates * state, width}, 2, -0.1F, 0.1F),
                      random_floats({1, gates * state, state}, 3, -0.1F, 0.1F)),
          test_attributes({{"hidden_size", state}}), 1, 0b110};
}

KernelRun transpose(Sizes& s) {
  Ints perm = {0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i)
    std::swap(perm[i], perm[static_cast<std::size_t>(s.pick(0, static_cast<std::int64_t>(i)))]);
  return {OpKind::kTranspose,
          test_inputs(random_floats({s.pick(1, 9), s.pick(1, 40), s.size(70), s.pick(1, 40)}, 1)),
          test_attributes({{"perm", perm}})};
}

struct Family {
  const char* name;
  KernelRun (*make)(Sizes&);
};
void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

class RandomShapes : public testing::TestWithParam<Family> {};

TEST_P(RandomShapes, AgreeWithTheReference) {
  constexpr unsigned kCases = 40;
  for (unsigned seed = 0; seed < kCases; ++seed) {
    Sizes sizes(seed);
    const KernelRun run = GetParam().make(sizes);
    std::string shapes = "seed " + std::to_string(seed);
    for (const auto& input : run.inputs) shapes += " " + input->dims().to_string();
    SCOPED_TRACE(shapes);
    if (cpu_declines(run)) continue;
    expect_same_as_reference(run, {1e-4, 1e-4});
  }
}

INSTANTIATE_TEST_SUITE_P(Families, RandomShapes,
                         testing::Values(Family{"Product", product}, Family{"Attention", attention},
                                         Family{"ByteProduct", byte_product},
                                         Family{"BitsColumns", bits_columns},
                                         Family{"TransposedConvolution", transposed_convolution},
                                         Family{"Pool", pool}, Family{"AlongAnAxis", along_an_axis},
                                         Family{"Recurrent", recurrent},
                                         Family{"Transpose", transpose}),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace parallax
