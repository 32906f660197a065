// Tests CPUs and free memory on recorded machines: testdata/<name> has the files of /proc and /sys.
#include <gtest/gtest.h>

#include <fstream>

#include "base/machine/cpu.h"
#include "base/machine/memory_probe.h"

namespace parallax {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Machine {
  const char* name;
  std::optional<int> cpus;
  std::optional<std::int64_t> bytes;
  const char* why;
  MemoryPressure pressure = MemoryPressure::kNone;
};

void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

class Recorded : public testing::TestWithParam<Machine> {};

TEST_P(Recorded, CpusAndMemory) {
  const Machine& machine = GetParam();
  const auto root =
      std::filesystem::path(PX_SOURCE_DIR) / "src/base/machine/testdata" / machine.name;
  ASSERT_TRUE(std::filesystem::is_directory(root));
  EXPECT_EQ(cpu_quota(root), machine.cpus) << machine.why;
  MemoryProbe probe(root);
  EXPECT_EQ(probe.read(), (MemoryState{machine.bytes, machine.pressure})) << machine.why;
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
        Machine{"psi_some", std::nullopt, 1024 * kMiB, "some 12.5 % of the system, full 3 %",
                MemoryPressure::kSome},
        Machine{"psi_stalled", std::nullopt, 512 * kMiB,
                "a group above stands still for 25 %, the system does not",
                MemoryPressure::kStalled},
        Machine{"psi_calm", std::nullopt, 1024 * kMiB, "below both thresholds; 9.99 is not 10"},
        Machine{"garbage", std::nullopt, std::nullopt, "nothing readable"},
        Machine{".", std::nullopt, std::nullopt, "no such files"}),
    [](const auto& machine) {
      return std::string(machine.param.name) == "." ? "nothing" : machine.param.name;
    });

TEST(MemoryProbe, FollowsAProcessThatMoves) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "parallax_moving";
  fs::remove_all(root);
  const auto write = [&](const char* path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  write("proc/self/mountinfo", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/a/memory.max", "1000");
  write("sys/fs/cgroup/a/memory.current", "100");
  write("sys/fs/cgroup/b/memory.max", "500");
  write("sys/fs/cgroup/b/memory.current", "100");
  write("proc/self/cgroup", "0::/a\n");
  MemoryProbe probe(root);
  EXPECT_EQ(probe.read().free, 900);
  write("sys/fs/cgroup/a/memory.current", "1100");
  EXPECT_EQ(probe.read().free, 0);
  write("proc/self/cgroup", "0::/b\n");
  EXPECT_EQ(probe.read().free, 400);
  fs::remove_all(root);
}

TEST(ThisMachine, HasCpusAndMemory) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_GT(MemoryProbe().read().free.value_or(0), 0);
}

}  // namespace
}  // namespace parallax
