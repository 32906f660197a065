// The budget is a promise: what arenas really take, counted where they are allocated, over the five
// models, in a process that has little memory, and for sessions that share an account.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/address_limit_test_util.h"
#include "base/machine/memory_probe.h"
#include "base/status.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "planning/plan_cache.h"
#include "session/allocations_test_util.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

// RunMemory allocates with posix_memalign, and nothing else that is made after weights are packed;
// the linker puts these in its place.
namespace {
std::mutex counted_mutex;
std::map<void*, std::int64_t> counted;  // guarded by counted_mutex
std::int64_t counted_bytes = 0, most_counted_bytes = 0;
std::atomic<bool> counting{false};
}  // namespace

extern "C" {
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes);
void __real_free(void* memory);
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  if (parallax::allocation_fails()) return ENOMEM;
  const int code = __real_posix_memalign(memory, alignment, bytes);
  if (code == 0 && counting) {
    const std::lock_guard lock(counted_mutex);
    counted[*memory] = static_cast<std::int64_t>(bytes);
    counted_bytes += static_cast<std::int64_t>(bytes);
    most_counted_bytes = std::max(most_counted_bytes, counted_bytes);
  }
  return code;
}
void __wrap_free(void* memory) {
  if (counting) {
    const std::lock_guard lock(counted_mutex);
    if (const auto found = counted.find(memory); found != counted.end()) {
      counted_bytes -= found->second;
      counted.erase(found);
    }
  }
  __real_free(memory);
}
}

namespace parallax {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Counts what arenas take while it lives.
class ArenaCount {
 public:
  ArenaCount() {
    const std::lock_guard lock(counted_mutex);
    counted_bytes = most_counted_bytes = 0;
    counted.clear();
    counting = true;
  }
  ~ArenaCount() { counting = false; }
  std::int64_t most() const {
    const std::lock_guard lock(counted_mutex);
    return most_counted_bytes;
  }
};

constexpr std::string_view kBranches = R"(
    symbols seq
    input x f32 [seq, 64]
    s = Relu(x)
    a1 = Exp(s)
    a2 = Neg(a1)
    a3 = Sigmoid(a2)
    b1 = Tanh(s)
    b2 = Abs(b1)
    b3 = Sqrt(b2)
    y = Add(a3, b3)
    output y)";

/// Inputs as the command line tool makes them up: floats in [0, 1), integers 1 to 9, all true.
struct ModelInputs {
  ModelInputs(const Session& session, const Model& model, std::int64_t batch, std::int64_t other) {
    std::vector<DimValue> dims;
    for (const std::string& name : model.symbols())
      dims.push_back({name, name == "batch" ? batch : other});
    const auto shapes = session.input_dims(dims);
    if (!shapes) throw std::runtime_error(shapes.error().to_string());
    std::mt19937 random(7);
    for (std::size_t i = 0; i < shapes->size(); ++i) {
      const TensorInfo& info = model.inputs()[i];
      tensors.push_back(*Tensor::allocate(info.dtype, (*shapes)[i]));
      const MutableTensorView view = tensors.back().mutable_view();
      for (std::int64_t k = 0; k < view.dims.elements(); ++k) {
        if (info.dtype == DType::kF32)
          view.as<float>()[k] = static_cast<float>(random() % 1000) / 1000;
        if (info.dtype == DType::kI64)
          view.as<std::int64_t>()[k] = 1 + static_cast<int>(random() % 9);
        if (info.dtype == DType::kI32)
          view.as<std::int32_t>()[k] = 1 + static_cast<int>(random() % 9);
        if (info.dtype == DType::kBool) view.as<bool>()[k] = true;
      }
      views.push_back({info.name, tensors.back().view()});
    }
  }
  std::vector<Tensor> tensors;
  std::vector<NamedInput> views;
};

class Zoo : public testing::TestWithParam<const char*> {};

TEST_P(Zoo, NeverTakesMoreThanItsBudget) {
  if (kSanitized) GTEST_SKIP() << "takes minutes under a sanitizer";
  const fs::path file = unpacked(GetParam());
  if (file.empty()) GTEST_SKIP() << "xz is needed to unpack the model";
  const auto model = Model::load(file);
  ASSERT_TRUE(model) << model.error().to_string();
  const auto session_of = [&](MemoryBudget budget) {
    return *Session::create(*model, {.threads = 2, .budget = std::move(budget)});
  };
  auto roomy = session_of({});
  const ModelInputs inputs(roomy, *model, 1, 7);
  const auto expected = roomy.run(inputs.views);
  ASSERT_TRUE(expected) << expected.error().to_string();
  const std::int64_t all = roomy.peak_arena_bytes();

  // Ten steps from one byte too few for the sequential plan to what the free choice takes.
  auto none = session_of(MemoryBudget::of_bytes(0));
  const auto refused = none.run(inputs.views);
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().code, ErrorCode::kBudgetExceeded);
  std::int64_t least = 0;
  ASSERT_EQ(std::sscanf(refused.error().message.c_str(), "needs %ld bytes", &least), 1)
      << refused.error().message;
  ASSERT_LE(least, all);
  auto short_of_one = session_of(MemoryBudget::of_bytes(least - 1));
  const auto missing = short_of_one.run(inputs.views);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, testing::HasSubstr(": 1 bytes missing"));
  EXPECT_EQ(short_of_one.peak_arena_bytes(), 0);
  for (int step = 0; step < 10; ++step) {
    const std::int64_t bytes = least + (all - least) * step / 9;
    const ArenaCount count;
    auto session = session_of(MemoryBudget::of_bytes(bytes));
    const auto outputs = session.run(inputs.views);
    ASSERT_TRUE(outputs) << bytes << ": " << outputs.error().to_string();
    EXPECT_TRUE(same_bits(*outputs, *expected)) << bytes;
    EXPECT_LE(session.peak_arena_bytes(), bytes);
    EXPECT_LE(count.most(), bytes) << "really allocated";
    EXPECT_EQ(count.most(), session.peak_arena_bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Zoo, testing::ValuesIn(kZoo),
                         [](const auto& model) { return std::string(model.param); });

TEST(Budget, KeptPlansCountAgainstIt) {
  const Model model = unchained_model_of(kBranches);
  std::map<std::int64_t, std::int64_t> arena;
  std::int64_t plan = 0, later = 0;  // those after the first lack what only reports read
  for (std::int64_t seq = 190; seq <= 200; ++seq) {
    auto roomy = *Session::create(model, {.threads = 2});
    ASSERT_TRUE(roomy.run(ModelInputs(roomy, model, 1, seq).views));
    arena[seq] = roomy.peak_arena_bytes();
    plan = Planner(roomy).cache_bytes();
    ASSERT_TRUE(roomy.run(ModelInputs(roomy, model, 1, seq - 1).views));
    later = Planner(roomy).cache_bytes() - plan;
  }
  // Room for the largest arena and two and a half plans beside the one in use.
  const std::int64_t bytes = arena[200] + plan * 5 / 2;
  auto session = *Session::create(model, {.threads = 2, .budget = MemoryBudget::of_bytes(bytes)});
  for (const int repeat : {0, 1}) {
    for (std::int64_t seq = 190; seq <= 200; ++seq) {
      ASSERT_TRUE(session.run(ModelInputs(session, model, 1, seq).views)) << repeat;
      EXPECT_LE(arena[seq] + Planner(session).cache_bytes() - plan, bytes) << seq;
    }
    EXPECT_GE(Planner(session).cache_bytes(), later * 3) << "two are kept beside the latest";
  }
  EXPECT_LE(session.peak_arena_bytes(), bytes);
  // No room for plans at all: one is kept.
  auto tight =
      *Session::create(model, {.threads = 2, .budget = MemoryBudget::of_bytes(arena[190])});
  for (int i = 0; i < 3; ++i) {
    for (const std::int64_t seq : {190, 150})
      ASSERT_TRUE(tight.run(ModelInputs(tight, model, 1, seq).views));
    ASSERT_TRUE(tight.run(ModelInputs(tight, model, 1, 190).views));
    EXPECT_LE(Planner(tight).cache_bytes(), plan);
  }
}

TEST(Budget, SessionsShareAnAccountWithoutDeadlock) {
  const Model model = unchained_model_of(kBranches);
  const Model growing = unchained_model_of(R"(
    symbols seq
    input x f32 [seq, 64]
    found = NonZero(x)
    y = Neg(found)
    output y)");
  auto roomy = *Session::create(model, {.threads = 2});
  ASSERT_TRUE(roomy.run(ModelInputs(roomy, model, 1, 300).views));
  const std::int64_t bytes = roomy.peak_arena_bytes() * 3 / 2 + 500'000;
  RuntimeOptions options{.threads = 2};
  options.account = *make_memory_account();
  const auto session_of = [&](const Model& of) {
    return *Session::create(of, {.threads = 2, .budget = MemoryBudget::of_bytes(bytes)},
                            *Runtime::create(options));
  };
  Session sessions[] = {session_of(model), session_of(model), session_of(growing)};
  std::atomic<int> wrong{0}, done{0};
  std::vector<std::thread> threads;
  const ArenaCount count;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      Session& session = sessions[t % 3];
      for (int i = 0; i < 40; ++i) {
        const ModelInputs inputs(session, t % 3 == 2 ? growing : model, 1,
                                 1 + (i * 37 + t * 11) % 300);
        const auto outputs = session.run(inputs.views);
        outputs ? ++done : ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, 240);
  for (const Session& session : sessions) EXPECT_LE(session.peak_arena_bytes(), bytes);
  EXPECT_LE(count.most(), bytes);
}

TEST(Budget, SessionsUnderAutoShareTheProcess) {
  const Model model = unchained_model_of(kBranches);
  const auto make = [&] {
    return *Session::create(model, {.threads = 1, .budget = MemoryBudget::automatic()});
  };
  auto one = make(), other = make();
  ASSERT_TRUE(one.run(ModelInputs(one, model, 1, 100).views));
  EXPECT_GT(one.peak_arena_bytes(), 0);
  EXPECT_EQ(one.peak_arena_bytes(), other.peak_arena_bytes());
}

/// Runs in a process of its own that may take `bytes` more of address space; 0 where all is well.
int under_address_limit(std::int64_t bytes, std::int64_t rows, bool fits) {
  const Model model = unchained_model_of(kBranches);
  auto session = *Session::create(model, {.threads = 1, .budget = MemoryBudget::automatic()});
  const ModelInputs inputs(session, model, 1, rows);
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages;
  const auto most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  const std::int64_t free = MemoryProbe().read().free.value_or(-1);
  if (free < 0 || free > bytes) return 3;
  std::vector<Tensor> outputs;
  const auto result = session.run(inputs.views);
  if (result.has_value() != fits) {
    std::fprintf(stderr, "%s\n", result ? "ran" : result.error().to_string().c_str());
    return 4;
  }
  if (session.peak_arena_bytes() > free * 6 / 10) return 5;
  if (fits) return 0;
  return result.error().code == ErrorCode::kBudgetExceeded &&
                 result.error().message.find(" missing") != std::string::npos
             ? 0
             : 6;
}

TEST(BudgetDeathTest, HoldsUnderALimitOfTheAddressSpace) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space for itself";
  if (!keeps_address_limits()) GTEST_SKIP() << kNoAddressLimits;
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  constexpr std::int64_t kMiB = 1 << 20;
  // 64 floats a row, two or three tensors alive at once, and the output beside them.
  EXPECT_EXIT(std::exit(under_address_limit(256 * kMiB, 40'000, true)), testing::ExitedWithCode(0),
              "");
  EXPECT_EXIT(std::exit(under_address_limit(64 * kMiB, 120'000, false)), testing::ExitedWithCode(0),
              "");
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Soak, RandomShapesKeepResidentMemoryBelowACeiling) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  const auto model = Model::load(digits_file());
  ASSERT_TRUE(model);
  auto session = *Session::create(*model, {.threads = 1});
  std::vector<ModelInputs> inputs;
  for (std::int64_t batch = 1; batch <= 16; ++batch)
    inputs.emplace_back(session, *model, batch, batch);
  std::mt19937 random(11);
  std::int64_t at_start = 0, most = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(session.run(inputs[random() % inputs.size()].views));
    if (i == 1000) at_start = resident_bytes();
    if (i > 1000 && i % 500 == 0) most = std::max(most, resident_bytes());
  }
  EXPECT_LT(most - at_start, std::int64_t{8} << 20);
  EXPECT_LE(Planner(session).cache_bytes(), 2 * kPlanCacheBytes);
}

}  // namespace
}  // namespace parallax
