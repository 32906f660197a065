#include "check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <thread>

#include "lower/cpu/lower.h"
#include "parallax/session.h"
#include "plant.h"
#include "random.h"
#include "ways.h"

namespace parallax::fuzz {
namespace {

using Results = std::vector<RunResult>;
/// Errors that a variant may have where the reference has none.
enum class Allowed : std::uint8_t {
  kNone,
  kLimit,
  kBudget,
  /// What only running tells may lie beside more than in the sequential order.
  kNodeOverBudget,
};

bool allows(Allowed allowed, const Error& error) {
  switch (allowed) {
    case Allowed::kNone:
      return false;
    case Allowed::kLimit:
      return error.code == ErrorCode::kLimitExceeded;
    case Allowed::kBudget:
      return error.code == ErrorCode::kBudgetExceeded;
    case Allowed::kNodeOverBudget:
      return error.code == ErrorCode::kBudgetExceeded && !error.node.empty();
  }
  return false;
}

class Checker {
 public:
  Checker(const Case& fuzzed, const std::filesystem::path& folder, Plant plant)
      : fuzzed_(fuzzed), folder_(folder), plant_(plant), random_(fuzzed.seed ^ 0x5EEDU) {
    for (const auto& run : fuzzed.runs) {
      std::vector<NamedInput> inputs;
      for (std::size_t i = 0; i < run.size(); ++i)
        inputs.push_back({fuzzed.graph.inputs[i].name, view_of(run[i])});
      inputs_.push_back(std::move(inputs));
    }
  }

  Outcome run() {
    const std::string bytes = onnx_bytes(fuzzed_);
    std::ofstream(path(), std::ios::binary) << bytes;
    outcome_.expected = expected_of(fuzzed_);
    auto model = load({}, "all passes", true);
    if (!model) return std::move(outcome_);
    auto base = reference(*model, Kernels::kBest, "all passes");
    if (!base) return std::move(outcome_);
    compare_with_oracle(*base, kTolerance, "all passes", true);
    check_plain();
    check_schedules(*model, *base);
    check_budgets(*model, *base);
    check_calls(*model, *base);
    check_limits(*model, *base);
    check_cache(*base);
    check_some_passes();
    check_reduced(*model);
    outcome_.runs = std::move(*base);
    return std::move(outcome_);
  }

 private:
  std::filesystem::path path() const { return folder_ / "model.onnx"; }
  void find(std::string what) { outcome_.findings.push_back(std::move(what)); }
  std::size_t runs() const { return inputs_.size(); }

  /// The model, or nothing and a finding. Only the `first` load may find that something is not
  /// supported.
  std::optional<Model> load(const LoadOptions& options, const std::string& what, bool first = false,
                            const std::string& cache = {}) {
    RuntimeOptions runtime;
    runtime.cache = cache;
    auto model = cache.empty() ? Model::load(path(), options)
                               : Model::load(path(), options, *Runtime::create(runtime));
    if (!first && plant_ == Plant::kRefusal)
      model = tl::unexpected(Error{Stage::kLoad, ErrorCode::kUnsupported, {}, "planted"});
    if (model) return *std::move(model);
    if (first && model.error().code == ErrorCode::kUnsupported) {
      outcome_.refusal = model.error();
    } else {
      find(fmt::format("{}: not loaded: {}", what, model.error().to_string()));
    }
    return std::nullopt;
  }

  std::optional<Session> session(const Model& model, const SessionOptions& options,
                                 const std::string& what) {
    auto made = Session::create(model, options);
    if (made) return *std::move(made);
    find(fmt::format("{}: no session: {}", what, made.error().to_string()));
    return std::nullopt;
  }

  RunResult run_once(Session& session, std::size_t run) const {
    RunResult result;
    auto outputs = session.run(inputs_[run]);
    if (outputs) {
      result.outputs = *std::move(outputs);
    } else {
      result.error = outputs.error();
    }
    return result;
  }

  /// What other schedules of the same graph and kernels must give.
  std::optional<Results> reference(const Model& model, Kernels kernels, const std::string& what,
                                   Precision precision = Precision::kF32) {
    SessionOptions options{Scheduler::kSequential, 1};
    options.kernels = kernels;
    options.precision = precision;
    auto made = session(model, options, what);
    if (!made) return std::nullopt;
    Results results;
    for (std::size_t run = 0; run < runs(); ++run) {
      results.push_back(run_once(*made, run));
      disturb_reference(plant_, results.back());
    }
    return results;
  }

  /// Whether the oracle cannot tell what the run gives.
  bool is_unknown(std::size_t run) const {
    const auto& outputs = outcome_.expected[run].outputs;
    return !outputs && outputs.error().code == ErrorCode::kInternal;
  }

  /// Which of several nodes that fail a run meets first is open, what it says of it is not, unless
  /// the oracle knows neither that node's inputs nor therefore its error.
  bool may_say(const Error& error, std::size_t run) const {
    if (is_unknown(run)) return error.code != ErrorCode::kInternal;
    const auto& codes = outcome_.expected[run].codes;
    const bool is_input = error.code == ErrorCode::kInvalidInput;  // of a model's file: its fault
    return codes.contains(error.code) || (is_input && codes.contains(ErrorCode::kInvalidModel));
  }

  void compare_with_oracle(const Results& results, double tolerance, const std::string& what,
                           bool passes) {
    for (std::size_t run = 0; run < runs(); ++run) {
      const Expected& expected = outcome_.expected[run];
      const auto& wanted = expected.outputs;
      const auto& error = results[run].error;
      if (error && error->code == ErrorCode::kInternal)
        find(fmt::format("{}, run {}: {}", what, run, error->to_string()));
      if (is_unknown(run)) continue;
      if (error && (wanted || !may_say(*error, run)))
        find(fmt::format("{}, run {}: {}, should be {}", what, run, error->to_string(),
                         wanted ? "none" : wanted.error().to_string()));
      // Passes may leave out the node that is at fault.
      if (!error && !wanted && !passes)
        find(fmt::format("{}, run {}: no error, should be {}", what, run,
                         wanted.error().to_string()));
      if (error || !wanted) continue;
      for (std::size_t i = 0; i < wanted->size(); ++i) {
        const Stable compared = tolerance > 0 ? expected.stable[i] : Stable::kElements;
        const auto differs =
            difference(results[run].outputs[i].view(), view_of((*wanted)[i]), tolerance, compared);
        if (differs)
          find(fmt::format("{}, run {}, output {}, against the oracle: {}", what, run,
                           fuzzed_.graph.outputs[i], *differs));
      }
    }
  }

  /// Empty where `result` of `run` is what `wanted` says, to the bit.
  std::string unlike(const RunResult& result, const RunResult& wanted, std::size_t run,
                     Allowed allowed = Allowed::kNone) const {
    if (result.error) {
      if (allows(allowed, *result.error)) return {};
      // What a run that fails in the sequential order would have needed behind that is not known.
      const bool over = result.error->code == ErrorCode::kBudgetExceeded;
      if (over && wanted.error && allowed == Allowed::kNodeOverBudget) return {};
      const bool fair =
          wanted.error && (result.error->code == wanted.error->code || may_say(*result.error, run));
      return fair ? std::string()
                  : fmt::format("{}, should be {}", result.error->to_string(),
                                wanted.error ? wanted.error->to_string() : "none");
    }
    if (wanted.error) return "no error, should be " + wanted.error->to_string();
    for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
      const auto differs = difference(result.outputs[i].view(), wanted.outputs[i].view(), 0);
      if (differs) return fmt::format("output {}: {}", fuzzed_.graph.outputs[i], *differs);
    }
    return {};
  }

  /// The same for a run now.
  std::string run_unlike(Session& made, std::size_t run, const RunResult& wanted,
                         Allowed allowed = Allowed::kNone) const {
    RunResult result = run_once(made, run);
    disturb_schedule(plant_, result);
    return unlike(result, wanted, run, allowed);
  }

  /// Each run twice, in any order.
  std::vector<std::size_t> any_order() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 2 * runs(); ++i) order.push_back(i % runs());
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    return order;
  }

  void check_runs(const Model& model, const SessionOptions& options, const Results& wanted,
                  const std::string& what, Allowed allowed = Allowed::kNone) {
    auto made = session(model, options, what);
    if (!made) return;
    for (const std::size_t run : any_order()) {
      const std::string differs = run_unlike(*made, run, wanted[run], allowed);
      if (!differs.empty()) find(fmt::format("{}, run {}: {}", what, run, differs));
    }
    const std::int64_t peak = made->peak_arena_bytes();
    if (options.budget.kind == MemoryBudget::Kind::kBytes && peak > options.budget.bytes)
      find(fmt::format("{}: took {} bytes", what, peak));
  }

  /// The graph of the file on the kernels of the oracle: the same bits.
  void check_plain() {
    LoadOptions options;
    for (const Pass& pass : all_passes()) options.disabled_passes.emplace_back(pass.name);
    const auto model = load(options, "no passes");
    if (!model) return;
    if (auto plain = reference(*model, Kernels::kReference, "no passes, reference kernels")) {
      compare_with_oracle(*plain, 0, "no passes, reference kernels", false);
      SessionOptions any = any_options(random_);
      any.kernels = Kernels::kReference;
      check_runs(*model, any, *plain, "no passes, reference kernels, " + text_of(any));
    }
    if (auto best = reference(*model, Kernels::kBest, "no passes")) {
      compare_with_oracle(*best, kTolerance, "no passes", false);
      const SessionOptions any = any_options(random_);
      check_runs(*model, any, *best, "no passes, " + text_of(any));
    }
  }

  void check_schedules(const Model& model, const Results& base) {
    for (int i = 0; i < 4; ++i) {
      SessionOptions options = any_options(random_);
      if (random_.chance(5)) options.budget = MemoryBudget::automatic();
      check_runs(model, options, base, text_of(options));
    }
  }

  /// Bytes that a run took with these options, or that one of its outputs takes.
  std::int64_t bytes_of(const Model& model, const SessionOptions& options, std::size_t run) {
    auto made = session(model, options, "bytes");
    if (!made) return 0;
    const RunResult result = run_once(*made, run);
    std::int64_t bytes = made->peak_arena_bytes();
    for (const Tensor& output : result.outputs)
      bytes = std::max(bytes, static_cast<std::int64_t>(output.view().bytes.size()));
    return bytes;
  }

  void check_budgets(const Model& model, const Results& base) {
    SessionOptions options = any_options(random_);
    SessionOptions sequential = options;
    sequential.scheduler = Scheduler::kSequential;
    std::int64_t tight = 0;
    for (std::size_t run = 0; run < runs(); ++run)
      tight = std::max(tight, bytes_of(model, sequential, run));
    options.budget = MemoryBudget::of_bytes(tight);
    check_runs(model, options, base, text_of(options), Allowed::kNodeOverBudget);
    const std::int64_t less = random_.between(0, tight);
    options = any_options(random_);
    options.budget = MemoryBudget::of_bytes(less);
    check_runs(model, options, base, text_of(options), Allowed::kBudget);
  }

  /// Outputs where the caller wants them, and several callers at once.
  void check_calls(const Model& model, const Results& base) {
    const SessionOptions options = any_options(random_);
    const std::string what = text_of(options);
    auto made = session(model, options, what);
    if (!made) return;
    for (std::size_t run = 0; run < runs(); ++run) run_into(*made, run, base[run], what);
    if (!random_.chance(40)) return;
    std::vector<std::string> problems(3);
    std::vector<std::thread> threads;
    for (std::string& problem : problems) {
      threads.emplace_back([&, order = any_order()] {
        for (const std::size_t run : order) {
          const std::string differs = run_unlike(*made, run, base[run]);
          if (!differs.empty()) problem = fmt::format("run {}: {}", run, differs);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& problem : problems)
      if (!problem.empty()) find(fmt::format("{}, three callers at once, {}", what, problem));
  }

  void run_into(Session& made, std::size_t run, const RunResult& wanted, const std::string& what) {
    if (wanted.error) return;
    constexpr std::size_t kGuard = 64;
    constexpr std::byte kFill{0xA5};
    const std::size_t offset = random_.pick(std::array{0, 0, 16, 8});
    std::vector<std::vector<std::byte>> memory;
    std::vector<MutableTensorView> views;
    for (const Tensor& output : wanted.outputs) {
      const std::size_t bytes = output.view().bytes.size();
      memory.emplace_back(bytes + 3 * kGuard, kFill);
      const auto address = reinterpret_cast<std::uintptr_t>(memory.back().data());
      const std::size_t begin = (address + 2 * kGuard - 1) / kGuard * kGuard - address + offset;
      views.push_back({output.dtype(), output.dims(), {memory.back().data() + begin, bytes}});
    }
    const Status status = made.run_into(inputs_[run], views);
    if (plant_ == Plant::kGuard && !views.empty())
      views[0].bytes.data()[views[0].bytes.size()] ^= std::byte{1};
    if (!status)
      return find(fmt::format("{}, run_into, run {}: {}", what, run, status.error().to_string()));
    for (std::size_t i = 0; i < views.size(); ++i) {
      const auto differs = difference(views[i], wanted.outputs[i].view(), 0);
      if (differs)
        find(fmt::format("{}, run_into, run {}, output {}: {}", what, run, fuzzed_.graph.outputs[i],
                         *differs));
      std::ranges::fill(views[i].bytes, kFill);
      if (std::ranges::any_of(memory[i], [](std::byte byte) { return byte != kFill; }))
        find(fmt::format("{}, run_into, run {}: output {} is written beyond its end", what, run,
                         fuzzed_.graph.outputs[i]));
    }
  }

  /// A run that is cut short is an error, and the next one is not the worse for it.
  void check_limits(const Model& model, const Results& base) {
    SessionOptions options = any_options(random_);
    if (random_.chance(50)) {
      options.time_limit_ms = random_.pick(std::array{1e-6, 1e-3, 1e-2, 1e-1});
    } else {
      options.max_loop_trips = random_.between(0, 4);
    }
    check_runs(model, options, base, "limited, " + text_of(options), Allowed::kLimit);
  }

  void check_cache(const Results& base) {
    if (!random_.chance(25)) return;
    for (const char* what : {"cache written", "cache read"}) {
      const auto model = load({}, what, false, folder_ / "cache");
      if (!model) return;
      check_runs(*model, any_options(random_), base, what);
    }
  }

  void check_some_passes() {
    if (!random_.chance(50)) return;
    LoadOptions options;
    for (const Pass& pass : all_passes())
      if (random_.chance(40)) options.disabled_passes.emplace_back(pass.name);
    const std::string what = fmt::format("without {}", fmt::join(options.disabled_passes, ", "));
    const auto model = load(options, what);
    if (!model) return;
    const Kernels kernels = random_.chance(50) ? Kernels::kBest : Kernels::kReference;
    const auto results = reference(*model, kernels, what);
    if (!results) return;
    compare_with_oracle(*results, kTolerance, what, true);
    SessionOptions any = any_options(random_);
    any.kernels = kernels;
    check_runs(*model, any, *results, what + ", " + text_of(any));
  }

  void check_reduced(const Model& model) {
    if (!random_.chance(15) || !Session::supports(Precision::kBf16)) return;
    const auto reduced = reference(model, Kernels::kBest, "bf16", Precision::kBf16);
    if (!reduced) return;
    SessionOptions any = any_options(random_);
    any.precision = Precision::kBf16;
    check_runs(model, any, *reduced, "bf16, " + text_of(any));
  }

  const Case& fuzzed_;
  const std::filesystem::path& folder_;
  const Plant plant_;
  Random random_;
  std::vector<std::vector<NamedInput>> inputs_;
  Outcome outcome_;
};

}  // namespace

Outcome check(const Case& fuzzed, const std::filesystem::path& folder, Plant plant) {
  return Checker(fuzzed, folder, plant).run();
}

}  // namespace parallax::fuzz
