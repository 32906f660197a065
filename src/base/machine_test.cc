// CPUs and free memory on recorded machines: testdata/<name> holds the files of /proc and /sys.
#include <gtest/gtest.h>

#include "base/cpu.h"
#include "base/free_memory.h"

namespace parallax {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Machine {
  const char* name;
  std::optional<int> cpus;
  std::optional<std::int64_t> bytes;
  const char* why;
};

void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

class Recorded : public testing::TestWithParam<Machine> {};

TEST_P(Recorded, CpusAndMemory) {
  const Machine& machine = GetParam();
  const auto root = std::filesystem::path(PX_SOURCE_DIR) / "src/base/testdata" / machine.name;
  ASSERT_TRUE(std::filesystem::is_directory(root));
  EXPECT_EQ(cpu_quota(root), machine.cpus) << machine.why;
  EXPECT_EQ(free_memory(root), machine.bytes) << machine.why;
  EXPECT_GE(usable_cpus(root), 1);
  EXPECT_LE(usable_cpus(root), machine.cpus.value_or(1 << 16));
}

INSTANTIATE_TEST_SUITE_P(
    Machines, Recorded,
    testing::Values(
        Machine{"bare", std::nullopt, 4096 * kMiB, "no control groups at all"},
        Machine{"address_space", std::nullopt, 1024 * kMiB, "RLIMIT_AS"},
        Machine{"v2_slices", 2, 768 * kMiB, "the middle group: high 1.5 GiB - (1 GiB - 256 MiB)"},
        Machine{"v2_container", 1, 0, "over its limit already"},
        Machine{"v1_docker", 3, 416 * kMiB, "the mount shows the container's own group"},
        Machine{"hybrid", 3, 256 * kMiB, "memory by version 1, CPU by version 2"},
        Machine{"outside", 2, 100000000, "pod10 is not below pod1: only the mount's top counts"},
        Machine{"garbage", std::nullopt, std::nullopt, "nothing readable"},
        Machine{".", std::nullopt, std::nullopt, "no such files"}),
    [](const auto& machine) {
      return std::string(machine.param.name) == "." ? "nothing" : machine.param.name;
    });

TEST(ThisMachine, HasCpusAndMemory) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_GT(free_memory().value_or(0), 0);
}

}  // namespace
}  // namespace parallax
