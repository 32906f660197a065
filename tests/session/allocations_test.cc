// What happens when memory runs out, at any allocation of loading, making a session, running and
// destroying: a typed error, nothing lost, and the same session gives the same bits afterwards.
#include "session/allocations_test_util.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "parallax/session.h"
#include "session/memory_account.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

// The linker puts these in the place of the library's calls; budget_test.cc has two more.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void __real_free(void* memory);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);

void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return parallax::allocation_fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  return parallax::allocation_fails() ? nullptr : __real_calloc(count, bytes);
}
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (!parallax::allocation_fails()) return __real_mmap(at, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

std::atomic<std::int64_t> calls_of_new{0};
std::atomic<bool> armed{false}, failed{false};
std::atomic<parallax::Failures> kind{parallax::Failures::kOne};
std::atomic<std::int64_t> left{0};

struct Stranger : std::exception {
  const char* what() const noexcept override { return parallax::kStrange; }
};

void* allocated(std::size_t bytes, std::size_t alignment) {
  calls_of_new.fetch_add(1);
  if (parallax::allocation_fails()) {
    if (kind == parallax::Failures::kStranger) throw Stranger();
    throw std::bad_alloc();
  }
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(std::max<std::size_t>(bytes, 1))
          : __real_aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocated(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment));
}
// For std::stable_sort, which does with less where there is none.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocated(bytes, alignof(std::max_align_t));
  } catch (const std::exception&) {
    return nullptr;
  }
}
// Not the free() that budget_test.cc counts.
[[gnu::noinline]] void operator delete(void* memory) noexcept { __real_free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { __real_free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  __real_free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  __real_free(memory);
}

namespace parallax {

std::int64_t news() { return calls_of_new.load(); }

FailingAllocations::FailingAllocations(std::int64_t nth, Failures failures) {
  left = nth;
  failed = false;
  kind = failures;
  armed = true;
}
FailingAllocations::~FailingAllocations() { armed = false; }
bool FailingAllocations::any_failed() { return failed.load(); }

bool allocation_fails() {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const std::int64_t before = left.fetch_sub(1);
  if (before > 1 || (before < 1 && kind != Failures::kAllFromThere)) return false;
  failed = true;
  return true;
}

namespace {

namespace fs = std::filesystem;

/// Branches, products, data-dependent sizes, a loop and a resize.
constexpr std::string_view kAllSorts = R"(
    symbols n
    input x f32 [n, 8]
    const w f32 [8, 8] = fill 0.5
    const m i64 [] = [3]
    const k f32 [2] = [1, 2]
    s = Relu(x)
    a1 = Exp(s)
    a2 = MatMul(a1, w)
    b1 = Tanh(s)
    b2 = Abs(b1)
    sum = Add(a2, b2)
    found = NonZero(s)
    turned = Transpose(found)
    picked = GatherND(sum, turned)
    wide = Resize(sum, _, k)
    looped = Loop(m, _, sum)
    body
      outer_symbols n
      input i i64 []
      input go bool []
      input v f32 [n, 8]
      const yes bool [] = [1]
      u = Neg(v)
      output yes, u
    end
    output looped, picked, wide)";

struct Case {
  const char* name;
  std::function<Result<Model>()> load;
  std::string input;
  Dims dims;
  SessionOptions options;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

Tensor input_of(const Case& one) {
  Tensor x = *Tensor::allocate(DType::kF32, one.dims);
  for (std::int64_t i = 0; i < one.dims.elements(); ++i)
    x.mutable_view().as<float>()[i] = static_cast<float>(i % 13) - 5;
  return x;
}

Result<std::vector<Tensor>> run(const Case& one, Session& session, const Tensor& x) {
  const NamedInput input{one.input, x.view()};
  return session.run({&input, 1});
}

fs::path cache_folder();

class OutOfMemory : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!Session::supports(GetParam().options.precision)) GTEST_SKIP() << "this CPU has no bf16";
  }
  static void TearDownTestSuite() { fs::remove_all(cache_folder()); }
};

TEST_P(OutOfMemory, Loading) {
  with_failures("loading", 100, [&](std::int64_t nth, Failures failures) {
    std::optional<Result<Model>> model;
    {
      const FailingAllocations failing(nth, failures);
      model.emplace(GetParam().load());
    }
    return error_of(*std::move(model));
  });
}

TEST_P(OutOfMemory, MakingASession) {
  const auto model = GetParam().load();
  ASSERT_TRUE(model);
  with_failures("making a session", 1000, [&](std::int64_t nth, Failures failures) {
    std::optional<Result<Session>> session;
    {
      const FailingAllocations failing(nth, failures);
      session.emplace(Session::create(*model, GetParam().options));
    }
    return error_of(*std::move(session));
  });
}

TEST_P(OutOfMemory, RunningAndDestroying) {
  const Case& one = GetParam();
  const Tensor x = input_of(one);
  const auto expected = [&] {
    auto session = Session::create(*one.load(), one.options);
    return *run(one, *session, x);
  }();
  with_failures("running", 30, [&](std::int64_t nth, Failures failures) {
    auto model = one.load();
    RuntimeOptions options;
    options.threads = std::max(one.options.threads, 1);
    options.account = *make_memory_account();
    auto session = Session::create(*model, one.options, *Runtime::create(options));
    std::optional<Result<std::vector<Tensor>>> outputs;
    bool any_failed = false;
    {
      const FailingAllocations failing(nth, failures);
      outputs.emplace(run(one, *session, x));
      any_failed = FailingAllocations::any_failed();
    }
    const auto again = run(one, *session, x);
    EXPECT_TRUE(again && same_bits(*again, expected)) << "after allocation " << nth;
    EXPECT_EQ(options.account->memory.busy_bytes(), 0) << "after allocation " << nth;
    if (*outputs) {
      EXPECT_TRUE(same_bits(**outputs, expected)) << "allocation " << nth;
    }
    std::optional<Error> error = error_of(*std::move(outputs));
    {
      const FailingAllocations none(1, Failures::kAllFromThere);
      { const Session last = *std::move(session); }
      { const Model last = *std::move(model); }
    }
    // So that with_failures() sees what the run did.
    const FailingAllocations seen(1, Failures::kOne);
    if (any_failed) (void)allocation_fails();
    return error;
  });
}

/// Loads the digits; all that is not the library's is made before.
std::function<Result<Model>()> load_digits(const std::string& cache = "") {
  RuntimeOptions options;
  options.cache = cache;
  return [runtime = *Runtime::create(options), path = digits_file()] {
    return Model::load(path, {}, runtime);
  };
}

fs::path cache_folder() {
  return fs::path(testing::TempDir()) / ("memory" + std::to_string(::getpid()));
}

Result<Model> all_sorts() {
  try {
    auto graph = parse_graph(kAllSorts);
    if (!graph) return tl::unexpected(std::move(graph).error());
    if (auto status = infer_graph(*graph); !status)
      return tl::unexpected(std::move(status).error());
    return Model::Impl::make(*std::move(graph), {});
  } catch (const std::bad_alloc&) {  // what Model::load() does
    return tl::unexpected(Error{Stage::kLoad, ErrorCode::kOutOfMemory, {}, "out of memory"});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, OutOfMemory,
    testing::Values(
        Case{"Digits", load_digits(), "image", {2, 1, 8, 8}, {.threads = 1}},
        Case{"DigitsOnThreads", load_digits(), "image", {2, 1, 8, 8}, {.threads = 3}},
        Case{"DigitsInBf16",
             load_digits(),
             "image",
             {2, 1, 8, 8},
             {.threads = 2, .precision = Precision::kBf16}},
        Case{"DigitsFromCache",
             load_digits(cache_folder().string()),
             "image",
             {2, 1, 8, 8},
             {.threads = 2}},
        // All that writing needs is made, and then there is no such folder.
        Case{"DigitsWithoutFolder",
             load_digits("/proc/none"),
             "image",
             {2, 1, 8, 8},
             {.threads = 2}},
        Case{"AllSorts", all_sorts, "x", {30, 8}, {.threads = 2}},
        Case{"AllSortsInABudget",
             all_sorts,
             "x",
             {30, 8},
             {.threads = 2, .budget = MemoryBudget::of_bytes(std::int64_t{1} << 20)}},
        Case{"AllSortsInLayers",
             all_sorts,
             "x",
             {3000, 8},
             {.scheduler = Scheduler::kLayers, .threads = 3, .budget = MemoryBudget::automatic()}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace parallax
