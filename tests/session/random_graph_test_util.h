// For tests: random graphs of operators whose results have the same bits everywhere, and inputs for
// them.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/session.h"

namespace parallax {

inline constexpr std::int64_t kStressColumns = 32;

inline bool stress_runs_are_set() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
  return std::getenv("PARALLAX_STRESS_RUNS") != nullptr;
}

/// PARALLAX_STRESS_RUNS, which `make nightly` sets.
inline int stress_runs() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
  const char* const text = std::getenv("PARALLAX_STRESS_RUNS");
  return text == nullptr ? 600 : std::max(1, std::atoi(text));
}

/// What `v0` is: the input, or rows of it, as many as it has elements that are not zero.
inline std::string stress_input(bool run_time_sizes) {
  if (!run_time_sizes)
    return fmt::format("symbols n\ninput v0 f32 [n, {}]\ninput c bool []\n", kStressColumns);
  return fmt::format(R"(symbols n
input x f32 [n, {}]
const axis i64 [] = [0]
found = NonZero(x)
rows = Gather(found, axis)
v0 = Gather(x, rows)
)",
                     kStressColumns);
}

/// A graph of operators whose results have the same bits everywhere, the delegate has half of them,
/// and of If and Loop with bodies like it, where running does not tell sizes. All values have one
/// shape.
class RandomGraph {
 public:
  RandomGraph(std::minstd_rand& random, bool run_time_sizes)
      : random_(random), run_time_sizes_(run_time_sizes) {}

  std::string text() {
    std::vector<std::string> seen = {"v0"};
    const std::string nodes = chain(seen, 4 + below(14), 0);
    return stress_input(run_time_sizes_) + nodes +
           fmt::format("output {}, {}\n", seen.back(), seen[seen.size() / 2]);
  }

 private:
  static constexpr std::string_view kShape = "f32 [n, 32]";
  static_assert(kStressColumns == 32);

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  const std::string& any(const std::vector<std::string>& seen) {
    return seen[static_cast<std::size_t>(below(static_cast<int>(seen.size())))];
  }

  std::string chain(std::vector<std::string>& seen, int nodes, int depth) {
    std::string text;
    for (int i = 0; i < nodes; ++i) {
      // Deep graphs more often than wide ones, so that regions have more than a node.
      const std::string x = below(3) == 0 ? any(seen) : seen.back(), y = any(seen);
      const std::string made = fmt::format("v{}", ++count_);
      const int kind = below(depth < 2 && !run_time_sizes_ ? 12 : 10);
      if (kind < 5) {
        const char* const one[] = {"Relu", "Neg", "Abs"};
        text += fmt::format("{0} = {1}({2}) @n{0}\n", made, one[below(3)], x);
      } else if (kind < 10) {
        const char* const two[] = {"Add", "Add", "Sub", "Max", "Min"};
        text += fmt::format("{0} = {1}({2}, {3}) @n{0}\n", made, two[below(5)], x, y);
      } else if (kind == 10) {
        text += fmt::format("{0} = If(c; {1}, {2}, c) @n{0}\n{3}{4}", made, x, y, body(depth, ""),
                            body(depth, ""));
      } else {
        text += fmt::format(
            "const trips_{0} i64 [] = [{1}]\n{0} = Loop(trips_{0}, _, {2}; {3}, c) @n{0}\n{4}",
            made, 1 + below(3), x, y, body(depth, "input i i64 []\ninput go bool []\n"));
      }
      seen.push_back(made);
    }
    return text;
  }

  /// The body of an If, or that of a Loop, which has `counters`.
  std::string body(int depth, std::string_view counters) {
    const std::string a = fmt::format("v{}", ++count_), b = fmt::format("v{}", ++count_);
    std::vector<std::string> seen = {a, b};
    const std::string nodes = chain(seen, 1 + below(5), depth + 1);
    return fmt::format(
        "body\nouter_symbols n\n{0}input {1} {2}\ninput {3} {2}\ninput c bool []\n{4}output "
        "{5}{6}\n"
        "end\n",
        counters, a, kShape, b, nodes, counters.empty() ? "" : "go, ", seen.back());
  }

  std::minstd_rand& random_;
  const bool run_time_sizes_;
  int count_ = 0;
};

/// Numbers for such a graph. `rows` of them, of which run-time sizes keep some or none.
class RandomInput {
 public:
  RandomInput(std::minstd_rand& random, bool run_time_sizes, std::int64_t rows)
      : x(static_cast<std::size_t>(rows * kStressColumns)),
        run_time_sizes_(run_time_sizes),
        condition_{static_cast<unsigned char>(random() % 2)} {
    const unsigned zeros = run_time_sizes ? 2 + random() % 40 : 0;
    for (float& number : x)
      number =
          zeros > 0 && random() % 41 < zeros ? 0 : static_cast<float>(random() % 1000) / 500 - 1;
  }
  std::vector<NamedInput> views() const {
    const std::int64_t rows = static_cast<std::int64_t>(x.size()) / kStressColumns;
    std::vector<NamedInput> all = {
        {run_time_sizes_ ? "x" : "v0",
         {DType::kF32, {rows, kStressColumns}, std::as_bytes(std::span(x))}}};
    if (!run_time_sizes_) all.push_back({"c", {DType::kBool, {}, {&condition_, 1}}});
    return all;
  }

  std::vector<float> x;

 private:
  bool run_time_sizes_;
  std::byte condition_;
};

inline std::vector<std::vector<float>> floats_of(const std::vector<Tensor>& outputs) {
  std::vector<std::vector<float>> all;
  for (const Tensor& output : outputs) {
    const TensorView view = output.view();
    all.emplace_back(view.bytes.size() / sizeof(float));
    if (!all.back().empty()) std::memcpy(all.back().data(), view.bytes.data(), view.bytes.size());
  }
  return all;
}

}  // namespace parallax
