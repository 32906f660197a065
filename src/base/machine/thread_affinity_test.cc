#include "base/machine/thread_affinity.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace parallax {
namespace {

cpu_set_t cpus_of(pthread_t thread) {
  cpu_set_t cpus;
  EXPECT_EQ(::pthread_getaffinity_np(thread, sizeof(cpus), &cpus), 0);
  return cpus;
}

void restrict_to(pthread_t thread, int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  ASSERT_EQ(::pthread_setaffinity_np(thread, sizeof(cpus), &cpus), 0);
}

int cpu_of(const cpu_set_t& cpus, int number) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &cpus) && number-- == 0) return cpu;
  return -1;
}

/// A sleeping thread, and a caller that is moved from CPU to CPU.
class ThreadAffinityTest : public testing::Test {
 protected:
  ThreadAffinityTest() : sleeper_([this] { end_.get_future().wait(); }) {}
  ~ThreadAffinityTest() override {
    end_.set_value();
    sleeper_.join();
  }
  pthread_t sleeper() { return sleeper_.native_handle(); }
  /// Calls avoid_this_cpu() on a thread that may use this CPU only.
  static void avoid(ThreadAffinity& affinity, int cpu) {
    std::thread([&] {
      restrict_to(::pthread_self(), cpu);
      affinity.avoid_this_cpu();
    }).join();
  }
  bool may_use(int cpu) {
    const cpu_set_t cpus = cpus_of(sleeper());
    return CPU_ISSET(static_cast<std::size_t>(cpu), &cpus);
  }

 private:
  std::promise<void> end_;
  std::thread sleeper_;
};

TEST_F(ThreadAffinityTest, ExcludesTheCallersCpuUntilItIsRestored) {
  const cpu_set_t all = cpus_of(sleeper());
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  const int first = cpu_of(all, 0), second = cpu_of(all, 1);
  ThreadAffinity affinity(sleeper());
  affinity.restore();
  for (const int avoided : {first, second}) {
    avoid(affinity, avoided);
    EXPECT_FALSE(may_use(avoided));
    EXPECT_TRUE(may_use(avoided == first ? second : first));
    avoid(affinity, avoided == first ? second : first);  // one exclusion at a time
    EXPECT_FALSE(may_use(avoided));
    affinity.restore();
    const cpu_set_t restored = cpus_of(sleeper());
    EXPECT_NE(CPU_EQUAL(&restored, &all), 0);
  }
}

TEST_F(ThreadAffinityTest, RespectsCpusThatOthersSet) {
  const cpu_set_t all = cpus_of(sleeper());
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU";
  const int first = cpu_of(all, 0), second = cpu_of(all, 1);
  ThreadAffinity affinity(sleeper());
  avoid(affinity, first);
  restrict_to(sleeper(), first);
  affinity.restore();
  EXPECT_TRUE(may_use(first));
  EXPECT_FALSE(may_use(second));
}

TEST_F(ThreadAffinityTest, LeavesAThreadOfOneCpuAlone) {
  const cpu_set_t all = cpus_of(sleeper());
  const int first = cpu_of(all, 0);
  restrict_to(sleeper(), first);
  ThreadAffinity affinity(sleeper());
  avoid(affinity, first);
  EXPECT_TRUE(may_use(first));
  affinity.restore();
  EXPECT_TRUE(may_use(first));
}

}  // namespace
}  // namespace parallax
