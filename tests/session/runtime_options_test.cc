// What a runtime does with its options: messages, page policy, the user's allocator and pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "parallax/session.h"
#include "run/pool/users_pool_test_util.h"
#include "session/branches_test_util.h"
#include "session/session_test_util.h"
#include "session/threads_test_util.h"
#include "session/zoo_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// Images for the digits.
struct Images {
  Images() : x(*Tensor::allocate(DType::kF32, {64, 1, 8, 8})) {
    for (std::int64_t i = 0; i < 64 * 64; ++i)
      x.mutable_view().as<float>()[i] = static_cast<float>(i % 17);
  }
  NamedInput input() const { return {"image", x.view()}; }
  std::vector<std::byte> run(Session& session) const {
    const NamedInput input = this->input();
    return bits_of(session.run({&input, 1}));
  }
  /// Of the digits on `options`.
  std::vector<std::byte> run(const RuntimeOptions& options) const {
    const auto model = Model::load(digits_file(), {}, *Runtime::create(options));
    if (!model) return {};
    Session session = *Session::create(*model);
    return run(session);
  }
  Tensor x;
};

class Messages {
 public:
  Log log() {
    return [this](LogLevel level, std::string_view text) {
      const MutexLock lock(mutex_);
      (level == LogLevel::kWarning ? warnings_ : infos_) += std::string(text) + "\n";
    };
  }
  std::string warnings() const {
    const MutexLock lock(mutex_);
    return warnings_;
  }
  std::string infos() const {
    const MutexLock lock(mutex_);
    return infos_;
  }

 private:
  mutable Mutex mutex_;
  std::string warnings_ PX_GUARDED_BY(mutex_), infos_ PX_GUARDED_BY(mutex_);
};

TEST(RuntimeOptions, TheLogGetsProblemsOfTheCache) {
  const Images images;
  Messages messages;
  RuntimeOptions options;
  options.cache = "/proc/none";
  options.log = messages.log();
  const Model model = *Model::load(digits_file(), {}, *Runtime::create(options));
  EXPECT_EQ(messages.warnings(), "");
  Session session = *Session::create(model);
  ASSERT_FALSE(images.run(session).empty());
  EXPECT_THAT(messages.warnings(), HasSubstr("cannot write"));
  EXPECT_EQ(messages.warnings(), model.cache().problem + "\n");
}

TEST(RuntimeOptions, TheLogIsToldOfARuntimeThatNobodyMade) {
  Messages messages;
  RuntimeOptions options{.threads = 2};
  options.log = messages.log();
  const Model model = *Model::load(digits_file(), {}, *Runtime::create(options));
  const Session same = *Session::create(model, {.threads = 2});
  EXPECT_EQ(messages.infos(), "");
  const Session more = *Session::create(model, {.threads = 3});
  EXPECT_EQ(more.threads(), 3);
  EXPECT_THAT(messages.infos(), HasSubstr("a session of 3 threads"));
  EXPECT_EQ(messages.warnings(), "");
}

TEST(RuntimeOptions, ALogThatThrowsIsHarmless) {
  const Images images;
  RuntimeOptions options;
  options.cache = "/proc/none";
  options.log = [](LogLevel, std::string_view) { throw 1; };
  EXPECT_EQ(images.run(options), images.run(RuntimeOptions{}));
}

TEST(RuntimeOptions, PagesChangeNoBits) {
  const Images images;
  const auto expected = images.run(RuntimeOptions{});
  ASSERT_FALSE(expected.empty());
  for (const bool large : {false, true}) {
    for (const bool prefault : {false, true}) {
      RuntimeOptions options;
      options.pages = {large, prefault};
      EXPECT_EQ(images.run(options), expected);
    }
  }
}

/// Counts what it gives; fills it, as memory of the user's may hold anything.
class CountingAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    void* memory = nullptr;
    if (empty || ::posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
    std::memset(memory, 0xA5, bytes);
    const MutexLock lock(mutex_);
    given_[memory] = {bytes, alignment};
    ++count_;
    return memory;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    const MutexLock lock(mutex_);
    const auto found = given_.find(memory);
    if (found == given_.end() || found->second != std::pair(bytes, alignment)) ++wrong;
    given_.erase(memory);
    std::free(memory);
  }
  int count() const {
    const MutexLock lock(mutex_);
    return count_;
  }
  std::size_t taken() const {
    const MutexLock lock(mutex_);
    return given_.size();
  }
  std::atomic<bool> empty{false};
  std::atomic<int> wrong{0};

 private:
  mutable Mutex mutex_;
  std::map<void*, std::pair<std::size_t, std::size_t>> given_ PX_GUARDED_BY(mutex_);
  int count_ PX_GUARDED_BY(mutex_) = 0;
};

TEST(RuntimeOptions, TheUsersAllocatorHasActivationsAndPackedWeights) {
  const Images images;
  const auto allocator = std::make_shared<CountingAllocator>();
  RuntimeOptions options;
  options.allocator = allocator;
  {
    const Model model = *Model::load(digits_file(), {}, *Runtime::create(options));
    Session session = *Session::create(model);
    EXPECT_EQ(images.run(session), images.run(RuntimeOptions{}));
    EXPECT_EQ(allocator->count(), 2) << "packed weights, the block of a run";
    EXPECT_FALSE(images.run(session).empty());
    EXPECT_EQ(allocator->count(), 2) << "a run like an earlier one";
    EXPECT_EQ(allocator->taken(), 2U);
  }
  EXPECT_EQ(allocator->taken(), 0U);
  EXPECT_EQ(allocator->wrong, 0);
  allocator->empty = true;
  const Model model = *Model::load(digits_file(), {}, *Runtime::create(options));
  Session session = *Session::create(model);
  const NamedInput input = images.input();
  const auto outputs = session.run({&input, 1});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::kOutOfMemory);
  allocator->empty = false;
  EXPECT_FALSE(images.run(session).empty());
}

/// Sizes that only running tells.
TEST(RuntimeOptions, TheUsersAllocatorHasTensorsOfRunTimeSize) {
  const Model model = model_of(R"(
    symbols seq
    input x f32 [seq, 64]
    found = NonZero(x)
    pairs = Neg(found)
    y = Abs(pairs)
    output y)");
  const auto allocator = std::make_shared<CountingAllocator>();
  RuntimeOptions options;
  options.allocator = allocator;
  {
    Session session = *Session::create(model, {.threads = 1}, *Runtime::create(options));
    Tensor ones = *Tensor::allocate(DType::kF32, {100, 64});
    std::fill_n(ones.mutable_view().as<float>(), 6400, 1.F);
    const NamedInput input{"x", ones.view()};
    ASSERT_TRUE(session.run({&input, 1}));
    EXPECT_GT(allocator->count(), 1);
  }
  EXPECT_EQ(allocator->taken(), 0U);
  EXPECT_EQ(allocator->wrong, 0);
}

TEST(RuntimeOptions, TheUsersPoolHasAllThreads) {
  const Images images;
  const auto expected = images.run(RuntimeOptions{});
  const auto pool = std::make_shared<UsersPool>(2);
  const std::ptrdiff_t before = threads_now();
  {
    RuntimeOptions options{.threads = 3};
    options.pool = pool;
    const Model model = *Model::load(digits_file(), {}, *Runtime::create(options));
    Session session = *Session::create(model);
    EXPECT_EQ(session.threads(), 3);
    for (int round = 0; round < 20; ++round) ASSERT_EQ(images.run(session), expected);
    const int submitted = pool->submitted;
    auto later = session.run_async({images.input()});
    ASSERT_TRUE(later) << later.error().to_string();
    EXPECT_EQ(bits_of(later->get()), expected);
    EXPECT_GT(pool->submitted, submitted);
    EXPECT_LE(threads_now(), before);
    pool->refuses = true;
    const auto refused = session.run_async({images.input()});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(images.run(session), expected) << "on the caller's thread";
  }
}

}  // namespace
}  // namespace parallax
