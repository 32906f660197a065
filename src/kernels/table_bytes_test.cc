// Kernels whose memory grows with their node say so.
#include "kernels/table_bytes.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <set>

#include "kernels/kernel_test_util.h"

namespace parallax {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kAllocatorTells = false;
#else
constexpr bool kAllocatorTells = true;
#endif

std::int64_t allocated() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

constexpr std::int64_t kMany = 3000;
/// A kernel without its tables, and what the allocator adds: a fifth of the smallest table here.
constexpr std::int64_t kBeside = 4096;

KernelRun many_inputs(OpKind op) {
  KernelRun run{op, {}};
  if (op == OpKind::kConcat) run.attributes = test_attributes({{"axis", std::int64_t{0}}});
  for (std::int64_t i = 0; i < kMany; ++i) run.inputs.emplace_back(test_tensor<float>({1}, {1}));
  return run;
}

KernelRun many_outputs() {
  KernelRun run{OpKind::kSplit, test_inputs(test_tensor<float>({kMany}, std::vector<float>(kMany))),
                test_attributes({{"num_outputs", kMany}})};
  run.outputs = kMany;
  return run;
}

KernelRun stretched() {
  KernelRun run{OpKind::kResize,
                test_inputs(test_tensor<float>({1, 1, kMany, 1}, std::vector<float>(kMany)),
                            std::nullopt, test_tensor<float>({4}, {1, 1, 2, 2})),
                test_attributes({{"mode", std::string("linear")}})};
  run.constants = 0b100;
  return run;
}

TEST(TableBytes, CountWhatAKernelHolds) {
  if (!kAllocatorTells) GTEST_SKIP() << "a sanitizer's allocator does not tell";
  // A large block in pages of its own would count its last page as a whole.
  mallopt(M_MMAP_MAX, 0);
  // Kernels that hold a number for each input, output or row.
  std::set<std::string> with_tables;
  for (const KernelRun& run : {many_inputs(OpKind::kConcat), many_inputs(OpKind::kMax),
                               many_inputs(OpKind::kMin), many_outputs(), stretched()}) {
    for (const KernelLibrary library : {KernelLibrary::kReference, KernelLibrary::kCpu}) {
      const std::string name = std::string(to_string(run.op)) +
                               (library == KernelLibrary::kReference ? " of reference" : " of cpu");
      bool taken = false;
      const auto measured = [&](const KernelRequest& request) {
        const std::int64_t before = allocated();
        auto kernel = test_detail::make_of(request, library);
        const std::int64_t held = allocated() - before;
        taken = kernel.has_value();
        if (taken) {
          const std::int64_t counted = (*kernel)->table_bytes();
          EXPECT_LT(std::abs(held - counted), kBeside)
              << name << ": " << held << ", not " << counted;
          if (counted > 0) with_tables.insert(name);
        }
        return kernel;
      };
      const auto outcome = run_kernel_tiles(run, measured);
      EXPECT_EQ(outcome.has_value(), taken) << name << ": " << outcome.error().to_string();
    }
  }
  EXPECT_EQ(with_tables,
            (std::set<std::string>{"Concat of reference", "Concat of cpu", "Max of reference",
                                   "Min of reference", "Split of reference", "Split of cpu",
                                   "Resize of cpu"}));
}

}  // namespace
}  // namespace parallax
