#include "planning/plan_cache.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "bind/footprint.h"
#include "ir/text/text.h"
#include "ops/infer.h"

namespace parallax {
namespace {

std::shared_ptr<GraphVariants> forms_of(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) throw std::runtime_error(graph.error().to_string());
  if (auto status = infer_graph(*graph); !status)
    throw std::runtime_error(status.error().to_string());
  return std::make_shared<GraphVariants>(*std::move(graph));
}

std::shared_ptr<GraphVariants> small_graph(int chains) {
  std::string text = "symbols n\ninput x f32 [n, 8]\ns = Relu(x)\n";
  std::string sum = "s";
  for (int i = 0; i < chains; ++i) {
    const std::string n = std::to_string(i);
    std::string x = "s";
    for (const char* op : {"Exp", "Neg", "Tanh", "Sqrt", "Abs", "Erf", "Sigmoid", "Relu"}) {
      text += x + op + n + " = " + op + "(" + x + (x == "s" ? "" : n) + ")\n";
      x += op;
    }
    text += "d" + n + " = Add(" + sum + ", " + x + n + ")\n";
    sum = "d" + n;
  }
  return forms_of(text + "output " + sum);
}

/// A model with kernels whose tables grow with the binding, and others that might have such tables.
std::shared_ptr<GraphVariants> images() {
  return forms_of(R"(
    symbols n
    input x f32 [1, 4, n, n]
    const k f32 [4] = [1, 1, 2, 2]
    const p i64 [8] = [0, 0, 1, 2, 0, 0, 3, 4]
    const i i64 [2] = [2, 1]
    const t i64 [1] = [2]
    const a i64 [1] = [1]
    r1 = Resize(x, _, k) {mode = "linear"}
    r2 = Resize(x, _, k)
    d = MaxPool(x) {kernel_shape = [3, 3]}
    e = Pad(x, p)
    f = Gather(x, i) {axis = 1}
    g = Transpose(x) {perm = [0, 1, 3, 2]}
    h = Concat(x, g) {axis = 1}
    j = ReduceMean(x, a)
    l = Softmax(x)
    m = MatMul(x, x)
    o, q = TopK(x, t)
    output r1, r2, d, e, f, h, j, l, m, o, q)");
}

Binding binding_of(std::int64_t n) { return {{n}}; }

TEST(PlanCache, ChecksAShapeAgainWhereItsElementsDependOnTheBinding) {
  // All dims are the same for every n, the pads are not: 40 rows are cut off 16 for n = 3.
  const auto context = forms_of(R"(
    symbols n
    input x f32 [0, 16]
    input b f32 [n]
    const zero i64 [1] = [0]
    const one i64 [1] = [1]
    const twenty i64 [1] = [20]
    size = Shape(b)
    less = Sub(one, size)
    before = Mul(less, twenty)
    more = Sub(size, one)
    after = Mul(more, twenty)
    pads = Concat(zero, before, zero, after) {axis = 0}
    y = Pad(x, pads) @the_pad
    output y)");
  for (const bool other_first : {false, true}) {
    PlanCache cache(context, {});
    if (other_first) {
      EXPECT_TRUE(cache.get(binding_of(1), {}));
    }
    const auto program = cache.get(binding_of(3), {});
    ASSERT_FALSE(program) << other_first;
    EXPECT_EQ(program.error().node, "the_pad");
  }
}

TEST(PlanCache, ForgetsTheLeastRecentlyUsedBeyondItsBytes) {
  const auto context = small_graph(4);
  PlanCache probe(context, {.threads = 2});
  ASSERT_TRUE(probe.get(binding_of(1), {}));
  const std::int64_t one = probe.bytes();
  ASSERT_GT(one, 0);
  EXPECT_EQ(probe.spare_bytes(), 0);

  PlanCache cache(context, {.threads = 2, .bytes = 3 * one + one / 2});
  std::vector<std::shared_ptr<const Program>> programs;
  for (std::int64_t n = 0; n < 4; ++n) programs.push_back(*cache.get(binding_of(n), {}));
  EXPECT_EQ(cache.bindings(), 4);  // the latest and three others
  EXPECT_EQ(*cache.get(binding_of(0), {}), programs[0]);
  ASSERT_TRUE(cache.get(binding_of(4), {}));
  EXPECT_EQ(cache.bindings(), 4);
  EXPECT_EQ(*cache.get(binding_of(0), {}), programs[0]);
  EXPECT_NE(*cache.get(binding_of(1), {}), programs[1]);  // was the oldest
  EXPECT_LE(cache.spare_bytes(), 3 * one + one / 2);

  PlanCache::Forgotten forgotten;
  cache.keep_within(one, forgotten);
  EXPECT_EQ(cache.bindings(), 2);
  EXPECT_LE(cache.spare_bytes(), one);
  cache.keep_within(0, forgotten);
  EXPECT_EQ(cache.bindings(), 1);  // the latest is never evicted
  EXPECT_EQ(cache.spare_bytes(), 0);
  EXPECT_GT(cache.bytes(), 0);
  EXPECT_LE(cache.bytes(), one);
  cache.keep_within(0, forgotten);
  EXPECT_EQ(cache.bindings(), 1);
}

TEST(PlanCache, OnePlanIsKeptHoweverSmallTheLimit) {
  PlanCache cache(small_graph(2), {.threads = 2, .bytes = 0});
  for (std::int64_t n = 0; n < 10; ++n) {
    const auto first = cache.get(binding_of(n), {});
    ASSERT_TRUE(first);
    EXPECT_EQ(*cache.get(binding_of(n), {}), *first);
    EXPECT_EQ(cache.bindings(), 1);
  }
}

TEST(PlanCache, APlanForWhatMemoryAllows) {
  PlanCache cache(small_graph(4), {.threads = 2});
  const auto roomy = cache.get(binding_of(1000), {});
  ASSERT_TRUE(roomy);
  ASSERT_GE((*roomy)->plan.max_branches, 2);
  const auto alone = cache.get(binding_of(1000), {std::nullopt, false});
  ASSERT_TRUE(alone);
  EXPECT_EQ((*alone)->plan.max_branches, 1);
  EXPECT_LT((*alone)->bytes, (*roomy)->bytes);
  const auto tight = cache.get(binding_of(1000), {(*alone)->bytes, true});
  ASSERT_TRUE(tight);
  EXPECT_LE((*tight)->bytes, (*alone)->bytes);
  EXPECT_EQ(*cache.get(binding_of(1000), {}), *roomy);
  for (const bool parallel : {false, true}) {
    const auto none = cache.get(binding_of(1000), {(*alone)->bytes - 1, parallel});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kBudgetExceeded);
    EXPECT_NE(none.error().message.find(": 1 bytes missing"), std::string::npos)
        << none.error().message;
  }
  const auto least = cache.shrink(binding_of(1000));
  ASSERT_TRUE(least);
  EXPECT_EQ(*cache.get(binding_of(1000), {}), *least);
}

TEST(PlanCache, AShortageIsNotForEver) {
  PlanCache cache(small_graph(4), {.threads = 2});
  const auto roomy = cache.get(binding_of(1000), {});
  ASSERT_TRUE(roomy);
  const auto shrink = [&] {
    const auto least = cache.shrink(binding_of(1000));
    return least && (*least)->bytes < (*roomy)->bytes;
  };
  /// Counts the runs until the larger plan is used again; reports in between do not count.
  const auto pause = [&] {
    int runs = 0;
    while (runs < 5000 && *cache.get(binding_of(1000), {}) != *roomy) {
      ++runs;
      EXPECT_TRUE(cache.get(binding_of(1000), {}, true));
    }
    return runs;
  };
  ASSERT_TRUE(shrink());
  EXPECT_EQ(pause(), PlanCache::kFirstPause);
  // A pause that follows immediately is longer, up to a limit.
  for (int expected = 2 * PlanCache::kFirstPause; expected <= PlanCache::kLongestPause;
       expected *= 2) {
    ASSERT_TRUE(shrink());
    EXPECT_EQ(pause(), expected);
  }
  ASSERT_TRUE(shrink());
  EXPECT_EQ(pause(), PlanCache::kLongestPause);
  // After many runs a pause counts as the first one again.
  for (int run = 0; run < PlanCache::kLongestPause; ++run)
    EXPECT_EQ(*cache.get(binding_of(1000), {}), *roomy);
  ASSERT_TRUE(shrink());
  EXPECT_EQ(pause(), PlanCache::kFirstPause);
}

TEST(PlanCache, ExplainsAPlanWhenItIsAskedTo) {
  PlanCache cache(small_graph(4), {.threads = 2});
  const auto first = cache.get(binding_of(1000), {});
  const auto quick = cache.get(binding_of(900), {});
  ASSERT_TRUE(first && quick);
  EXPECT_TRUE((*first)->plan.explained);
  EXPECT_FALSE((*quick)->plan.explained);
  const auto full = cache.get(binding_of(900), {}, true);
  ASSERT_TRUE(full);
  const Plan& plan = (*full)->plan;
  EXPECT_TRUE(plan.explained);
  EXPECT_EQ(plan.concurrency.size(), (*full)->compiled().context->branches.branches.size());
  EXPECT_GE(plan.figures.naive, plan.figures.greedy);
  EXPECT_EQ(plan.offsets.offset, (*quick)->plan.offsets.offset);
  EXPECT_EQ(*cache.get(binding_of(900), {}), *full);
}

TEST(PlanCache, BindingsShareTheKernelsThatTheyDoNotChange) {
  auto graph = parse_graph(R"(
    symbols n
    input x f32 [n, 8]
    input w f32 [4, 8]
    a = Relu(x)
    b = Exp(w)
    c = Exp(b)
    output a, c)");
  ASSERT_TRUE(graph);
  ASSERT_TRUE(infer_graph(*graph));
  PlanCache cache(std::make_shared<GraphVariants>(*std::move(graph)), {.threads = 2});
  const auto first = cache.get(binding_of(3), {});
  const auto second = cache.get(binding_of(5), {});
  ASSERT_TRUE(first && second);
  const auto kernel = [](const auto& program, std::int32_t node) {
    return (*program)->compiled().nodes[NodeId{node}].code.kernel;
  };
  EXPECT_NE(kernel(first, 0), kernel(second, 0));
  EXPECT_EQ(kernel(first, 1), kernel(second, 1));
  EXPECT_EQ(kernel(first, 1), kernel(first, 2));  // equivalent nodes
}

TEST(PlanCache, AFailedPlanCountsToo) {
  // Two dimensions that must be equal are not.
  const auto forms = forms_of(R"(
    symbols n m
    input x f32 [n]
    input y f32 [m]
    z = MatMul(x, y)
    output z)");
  PlanCache cache(forms, {.threads = 2, .bytes = 1000});
  for (std::int64_t n = 2; n < 100; ++n) ASSERT_FALSE(cache.get({{n, n + 1}}, {}));
  EXPECT_LE(cache.spare_bytes(), 1000);
  EXPECT_LT(cache.bindings(), 20);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kAllocatorTells = false;
#else
constexpr bool kAllocatorTells = true;
#endif

double allocated() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

TEST(PlanCache, PacksNothingBeforeBind) {
  const auto forms = forms_of(R"(
    symbols n
    input x f32 [n, 64]
    const w f32 [64, 64] = fill 1
    y = MatMul(x, w)
    output y)");
  PlanCache cache(forms, {});
  const auto program = cache.get(binding_of(40), {}, true);
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_FALSE((*program)->bound->done);
  EXPECT_EQ(cache.times().pack_ms, 0);
  EXPECT_GE(forms->plain()->packed.total_bytes(), 64 * 64 * 4) << "known before";
  // Another binding reuses kernels of the first, whose weights are not packed either.
  const auto like = cache.get(binding_of(41), {});
  ASSERT_TRUE(like);
  ASSERT_TRUE(cache.bind(**like));
  EXPECT_TRUE((*like)->bound->done);
  EXPECT_FALSE((*program)->bound->done);
  EXPECT_GT(cache.times().pack_ms, 0);
}

TEST(Footprint, IsWhatTheAllocatorGives) {
  if (!kAllocatorTells) GTEST_SKIP() << "a sanitizer's allocator does not tell";
  for (const auto& [what, forms] : {std::pair("10 chains", small_graph(10)),
                                    {"100 chains", small_graph(100)},
                                    {"images", images()}}) {
    PlanCache cache(forms, {.threads = 2, .bytes = std::int64_t{1} << 30});
    for (std::int64_t n = 1; n < 4; ++n) {
      const auto made = cache.get(binding_of(100 * n), {});
      ASSERT_TRUE(made) << what << ": " << made.error().to_string();
    }
    const double before = allocated();
    const std::int64_t counted = cache.bytes();
    for (std::int64_t n = 4; n < 24; ++n) ASSERT_TRUE(cache.get(binding_of(100 * n), {}));
    const double real = allocated() - before;
    const auto estimate = static_cast<double>(cache.bytes() - counted);
    EXPECT_GT(estimate, real / 1.5) << what;
    EXPECT_LT(estimate, real * 1.5) << what;
  }
}

TEST(Footprint, CountsConvolutions) {
  // Channels first, because no pass has changed the graph.
  const auto forms = forms_of(R"(
    symbols n
    input x f32 [1, 4, n, n]
    const w f32 [4, 4, 3, 3] = fill 1
    y = Conv(x, w) {pads = [1, 1, 1, 1]}
    output y)");
  PlanCache cache(forms, {.threads = 2, .bytes = std::int64_t{1} << 30});
  for (std::int64_t n = 1; n < 4; ++n) ASSERT_TRUE(cache.get(binding_of(100 * n), {}));
  const double before = allocated();
  const std::int64_t counted = cache.bytes();
  for (std::int64_t n = 4; n < 24; ++n) ASSERT_TRUE(cache.get(binding_of(100 * n), {}));
  if (!kAllocatorTells) GTEST_SKIP() << "a sanitizer's allocator does not tell";
  EXPECT_GT(4 * static_cast<double>(cache.bytes() - counted), allocated() - before);
}

TEST(Footprint, TablesOfKernelsAreForgottenToo) {
  const auto forms = forms_of(R"(
    symbols n
    input x f32 [1, 1, n, 4]
    const k f32 [4] = [1, 1, 2, 2]
    y = Resize(x, _, k) {mode = "linear"}
    output y)");
  PlanCache cache(forms, {.threads = 2});
  const double before = allocated();
  for (std::int64_t n = 1; n <= 1000; ++n) {
    ASSERT_TRUE(cache.get(binding_of(1000 + n), {}));
    ASSERT_LE(cache.spare_bytes(), kPlanCacheBytes);
  }
  EXPECT_LT(cache.bindings(), 600);  // 32 to 64 KB each
  EXPECT_GT(cache.bindings(), 200);
  if (kAllocatorTells) {
    EXPECT_LT(allocated() - before, 1.5 * static_cast<double>(cache.bytes()));
  }
}

}  // namespace
}  // namespace parallax
