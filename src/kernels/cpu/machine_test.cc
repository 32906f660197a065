// Kernels on machines with other caches than this one.
#include "kernels/cpu/machine.h"

#include <set>
#include <string>

#include "kernels/cpu/convolution/convolution_test_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Machine, HasTheThresholdsThatWereMeasuredOnOne) {
  const Machine zen4(CpuCaches{});
  EXPECT_EQ(zen4.near_weights(), 6144);
  EXPECT_EQ(zen4.near_panel(), 4096);
  EXPECT_EQ(zen4.near_scores(), 96 * 64);
  EXPECT_EQ(zen4.set_distance(), 1024);
  EXPECT_EQ(zen4.kept_weights(), 65536);
  EXPECT_EQ(zen4.window(), 49152);
  EXPECT_EQ(zen4.most_window(), 196608);
  EXPECT_EQ(zen4.results(), 65536);
  EXPECT_EQ(zen4.turned_window(), 65536);
  EXPECT_EQ(zen4.columns(), 36864);
  EXPECT_EQ(zen4.winograd_squares(), 176 * 1024);
  EXPECT_EQ(zen4.block_depth(), 768);
  EXPECT_EQ(zen4.packed_product_rows(), 98304);
  EXPECT_EQ(zen4.copied_product_rows(), 65536);
  EXPECT_EQ(zen4.scores(), 144 * 256);
  EXPECT_EQ(zen4.window_scores(), 32768);
  EXPECT_EQ(zen4.rounded_head(), 1 << 19);
}

TEST(Machine, CountsCachesBetweenBounds) {
  const Machine small(CpuCaches{1, 1, 1, 1});
  const Machine large(CpuCaches{1LL << 40, 1LL << 40, 1LL << 40, 1LL << 40});
  EXPECT_EQ(small.near_weights() * 8, large.near_weights());
  EXPECT_EQ(small.window() * 32, large.window());
  EXPECT_GT(small.set_distance(), 0);
  EXPECT_GT(small.block_depth(), 64);
}

struct Row {
  std::string name;
  KernelRun run;
};

/// Returns a node for each kernel that depends on the machine, large enough to be cut differently
/// on one of the machines below.
std::vector<Row> rows() {
  std::vector<Row> list;
  for (const ConvolutionCase& c :
       {ConvolutionCase{"window", {1, 19, 33, 64}, 40, {3, 3}, {1, 1, 1, 1}, {2, 2}},
        ConvolutionCase{"columns", {1, 9, 7, 160}, 40, {3, 3}, {1, 1, 1, 1}, {2, 2}},
        ConvolutionCase{"deep columns", {1, 5, 5, 1100}, 24, {3, 3}, {1, 1, 1, 1}, {2, 2}},
        ConvolutionCase{"Winograd", {1, 14, 27, 67}, 70, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"small groups", {1, 9, 31, 64}, 64, {3, 3}, {1, 1, 1, 1}, {}, {}, 32},
        ConvolutionCase{"large groups", {1, 9, 31, 96}, 96, {3, 3}, {1, 1, 1, 1}, {}, {}, 2}})
    list.push_back({c.name, convolution_run(c, true, "Relu")});
  const auto planes = [&](std::string name, const Dims& x, const Dims& w, std::int64_t pad,
                          std::int64_t group) {
    KernelRun run{OpKind::kConv,
                  test_inputs(random_floats(x, 1, -1, 1), random_floats(w, 2, -1, 1))};
    run.attributes = test_attributes({{"pads", Ints(4, pad)}, {"group", group}});
    run.constants = 0b10;
    list.push_back({std::move(name), std::move(run)});
  };
  planes("planes", {1, 40, 32, 32}, {48, 40, 3, 3}, 1, 1);
  planes("planes in place", {1, 96, 32, 32}, {64, 96, 1, 1}, 0, 1);
  planes("turned", {1, 24, 40, 40}, {24, 1, 7, 7}, 3, 24);
  for (const bool constant : {true, false})
    list.push_back({constant ? "constant product" : "computed product",
                    {OpKind::kMatMul,
                     test_inputs(random_floats({190, 900}, 1), random_floats({900, 100}, 2)),
                     {},
                     1,
                     constant ? 0b10U : 0}});
  for (const std::int64_t queries : {3, 77}) {
    KernelRun run{OpKind::kFusedAttention, test_inputs(random_floats({2, queries, 21}, 1, -1, 1),
                                                       random_floats({2, 1200, 21}, 2, -1, 1),
                                                       random_floats({2, 1200, 37}, 3, -1, 1))};
    run.attributes.set("k_perm", Ints{0, 2, 1});
    list.push_back({queries < 4 ? "attention in blocks" : "attention in lanes", std::move(run)});
  }
  return list;
}

const std::vector<CpuCaches> kMachines = {{1, 1, 1, 1},                           // least
                                          {48 << 10, 4 << 10, 2 << 20, 8 << 20},  // more
                                          {1 << 20, 1 << 20, 1 << 30, 1 << 30}};  // most

TEST(Machine, EveryOneAgreesWithReference) {
  int cut_otherwise = 0;
  for (const auto& [name, run] : rows()) {
    SCOPED_TRACE(name);
    const auto want = run_kernel(run, KernelLibrary::kReference);
    ASSERT_TRUE(want) << want.error().to_string();
    std::set<std::int64_t> tiles;
    for (const CpuCaches& caches : kMachines) {
      SCOPED_TRACE(caches.l2);
      const Machine machine(caches);
      const auto make = [&](KernelRequest request) {
        request.machine = &machine;
        return test_detail::make_of(request, KernelLibrary::kCpu);
      };
      const auto got = run_kernel_tiles(run, make);
      ASSERT_TRUE(got) << got.error().to_string();
      expect_close(got->outputs[0], (*want)[0], {1e-4, 1e-4});
      tiles.insert(got->tiles);
    }
    if (tiles.size() > 1) ++cut_otherwise;
  }
  EXPECT_GE(cut_otherwise, 3) << "what is compared here is the same on every machine";
}

}  // namespace
}  // namespace parallax
