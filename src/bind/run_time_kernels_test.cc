#include <gtest/gtest.h>

#include "bind/run_time_kernels.h"

namespace parallax {
namespace {

BoundKernel kernel_of(std::int64_t table_bytes) {
  BoundKernel kernel;
  kernel.code.kernel = make_lambda_kernel(
      {.table_bytes = table_bytes}, [](std::int64_t, const KernelArgs&) -> Status { return {}; });
  return kernel;
}

RunTimeKernels::Key key_of(std::int64_t size) { return {NodeId{1}, {{size, 2}, {size}}}; }

TEST(RunTimeKernels, ForgetsTheLeastRecentlyUsed) {
  RunTimeKernels kernels;
  const auto first = kernels.insert(key_of(0), kernel_of(0));
  EXPECT_EQ(kernels.insert(key_of(0), kernel_of(0)), first);
  const auto capacity = static_cast<std::int64_t>(RunTimeKernels::kCapacity);
  for (std::int64_t i = 1; i < capacity; ++i) kernels.insert(key_of(i), kernel_of(0));
  EXPECT_EQ(kernels.find(key_of(0)), first);
  kernels.insert(key_of(capacity), kernel_of(0));
  EXPECT_EQ(kernels.size(), RunTimeKernels::kCapacity);
  EXPECT_EQ(kernels.find(key_of(0)), first);
  EXPECT_EQ(kernels.find(key_of(1)), nullptr);
  EXPECT_EQ(kernels.find({NodeId{2}, key_of(0).second}), nullptr);
}

TEST(RunTimeKernels, HoldsSoManyBytesOfTables) {
  RunTimeKernels kernels;
  constexpr std::int64_t kBytes = RunTimeKernels::kTableBytes / 10;
  for (std::int64_t i = 0; i < 100; ++i) {
    const auto made = kernels.insert(key_of(i), kernel_of(kBytes));
    EXPECT_EQ(kernels.find(key_of(i)), made);
    EXPECT_LE(kernels.table_bytes(), RunTimeKernels::kTableBytes);
  }
  EXPECT_EQ(kernels.size(), 10U);
  EXPECT_EQ(kernels.table_bytes(), 10 * kBytes);
  kernels.insert(key_of(1000), kernel_of(2 * RunTimeKernels::kTableBytes));
  EXPECT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels.table_bytes(), 2 * RunTimeKernels::kTableBytes);
}

}  // namespace
}  // namespace parallax
