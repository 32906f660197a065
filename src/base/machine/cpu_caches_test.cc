#include "base/machine/cpu_caches.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace parallax {
namespace {

namespace fs = std::filesystem;

/// The files of one cache of the first CPU; a file whose text is empty is not there.
struct CacheFiles {
  std::string level, type, size, cpus = "0", ways = "";
};

class CpuCachesTest : public testing::Test {
 protected:
  CpuCachesTest() {
    root_ = fs::path(testing::TempDir()) / ("parallax_caches_" + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  ~CpuCachesTest() override { fs::remove_all(root_); }

  CpuCaches caches(const std::vector<CacheFiles>& list, long (*ask)(int) = nothing) {
    fs::remove_all(root_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const fs::path folder =
          root_ / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(i));
      fs::create_directories(folder);
      const CacheFiles& files = list[i];
      for (const auto& [name, text] : {std::pair{"level", files.level},
                                       {"type", files.type},
                                       {"size", files.size},
                                       {"shared_cpu_list", files.cpus},
                                       {"ways_of_associativity", files.ways}})
        if (!text.empty()) std::ofstream(folder / name) << text << '\n';
    }
    return cpu_caches(root_, ask);
  }

  static long nothing(int) { return 0; }

  fs::path root_;
};

constexpr std::int64_t kKiB = 1 << 10;

TEST_F(CpuCachesTest, OfMachines) {
  EXPECT_EQ(caches({{"1", "Data", "32K", "0", "8"},
                    {"1", "Instruction", "64K", "0", "2"},
                    {"2", "Unified", "1024K", "0", "8"},
                    {"3", "Unified", "32768K", "0-1", "16"}}),
            CpuCaches{})
      << "Zen 4";
  EXPECT_EQ(caches({{"1", "Data", "48K", "0-1", "12"},
                    {"1", "Instruction", "32K", "0-1", "8"},
                    {"2", "Unified", "2048K", "0-1", "16"},
                    {"3", "Unified", "107520K", "0-111", "15"}}),
            (CpuCaches{48 * kKiB, 4 * kKiB, 2048 * kKiB, 107520 * kKiB}))
      << "two threads share a core's caches";
  EXPECT_EQ(caches({{"1", "Data", "32K", "0", "4"},
                    {"1", "Instruction", "32K", "0", "2"},
                    {"2", "Unified", "1024K", "0-3", "16"}}),
            (CpuCaches{32 * kKiB, 8 * kKiB, 256 * kKiB, 1024 * kKiB}))
      << "four cores share a second level, which is the last";
}

TEST_F(CpuCachesTest, WhatNoFileSaysTheSystemIsAsked) {
  const auto ask = [](int name) -> long {
    if (name == _SC_LEVEL1_DCACHE_SIZE) return 64 * kKiB;
    if (name == _SC_LEVEL2_CACHE_SIZE) return 512 * kKiB;
    return name == _SC_LEVEL3_CACHE_SIZE ? 8192 * kKiB : -1;
  };
  EXPECT_EQ(caches({}, ask), (CpuCaches{64 * kKiB, 4 * kKiB, 512 * kKiB, 8192 * kKiB}));
  EXPECT_EQ(caches({{"1", "Data", "128K"}}, ask).l1, 128 * kKiB);
  EXPECT_EQ(caches({{"1", "Data", "128K"}}, ask).l2, 512 * kKiB);
  EXPECT_EQ(caches({}), CpuCaches{}) << "nothing is known";
  EXPECT_EQ(caches({}, [](int) -> long { return -1; }), CpuCaches{});
}

TEST_F(CpuCachesTest, NumbersThatMakeNoSenseAreBroughtNear) {
  const CpuCaches usual;
  const auto l1 = [&](const char* size, const char* cpus, const char* ways) {
    return caches({{"1", "Data", size, cpus, ways}, {"2", "Unified", "1024K", "0"}});
  };
  EXPECT_EQ(l1("9223372036854775807K", "0", "8").l1, usual.l1 * 1024);
  EXPECT_EQ(l1("1K", "0", "8").l1, usual.l1 / 16);
  EXPECT_EQ(l1("-4K", "0", "8").l1, usual.l1);
  EXPECT_EQ(l1("word", "0", "8").l1, usual.l1);
  EXPECT_EQ(l1("32K", "0", "9223372036854775807").l1_way, usual.l1_way / 16);
  EXPECT_EQ(l1("32K", "0", "-1").l1_way, usual.l1_way);
  for (const char* const cpus :
       {"", "x", "3-1", "-1", "0-99999999999", "0,", "9223372036854775807"})
    EXPECT_EQ(l1("32K", cpus, "8").l2, usual.l2) << cpus;
  const auto l2 = [&](const char* cpus) {
    return caches({{"1", "Data", "32K"}, {"2", "Unified", "1024K", cpus}}).l2;
  };
  EXPECT_EQ(l2("0-3"), 256 * kKiB);
  EXPECT_EQ(l2("0,4-6"), 256 * kKiB);
  EXPECT_EQ(l2("0-65535"), usual.l2 / 16);
  EXPECT_EQ(caches({{"99", "Unified", "8K"}}).last, usual.l2);
}

TEST(CpuCaches, OfThisMachineAreThere) {
  const CpuCaches caches = cpu_caches();
  EXPECT_GT(caches.l1, 0);
  EXPECT_GT(caches.l1_way, 0);
  EXPECT_LE(caches.l1_way, caches.l1);
  EXPECT_GT(caches.l2, 0);
  EXPECT_GT(caches.last, 0);
}

}  // namespace
}  // namespace parallax
