// Options as plain values, used when a session is made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace parallax {

enum class Scheduler : std::uint8_t {
  kSequential,  ///< node after node; threads share the tiles of the running node
  kLayers,  ///< branches of a layer at once as far as cores and budget allow, a barrier after each
            ///< layer
  kDataflow,  ///< a branch as soon as its inputs and its bytes are there, no barriers; sequential
              ///< where the first runs show that to be faster
};

/// What matrix products and convolutions round their operands to. Sums, results and everything else
/// are f32, and so are 3x3 convolutions with stride 1 (docs/decisions/reduced-precision.md).
enum class Precision : std::uint8_t {
  kF32,   ///< not at all
  kBf16,  ///< 8 bits of significand: twice the speed and half the bytes of weights. Only with
          ///< Kernels::kBest, and only where the CPU can (Session::supports)
};

enum class Kernels : std::uint8_t {
  kBest,       ///< the fastest kernel that this CPU has for each node
  kReference,  ///< the plain ones: slow, the oracle
};

/// What sessions hold together under one budget. Made once, given to each of them.
class MemoryAccount;
std::shared_ptr<MemoryAccount> make_memory_account();

/// How many bytes activations and kernel scratch of a session may take, the plans that it keeps
/// for shapes other than the latest included. Outputs are the caller's and do not count, but run()
/// refuses to make one that alone exceeds the budget.
struct MemoryBudget {
  enum class Kind : std::uint8_t { kNone, kBytes, kAuto };
  Kind kind = Kind::kNone;
  std::int64_t bytes = 0;  ///< for kBytes
  /// Sessions with the same account share it: no run of one starts before its bytes fit beside
  /// those of all others, first come, first served. Null: a session under kAuto shares with all
  /// others under kAuto, any other has an account of its own.
  std::shared_ptr<MemoryAccount> account = nullptr;
};
/// kAuto takes what is free less this margin (the paper: 30-50 %). Free memory is read when a run
/// starts and, when the last reading is older than 10 ms, before a branch of it: the least of the
/// system's available memory, the headroom of every control group above this process and what
/// RLIMIT_AS leaves, plus what the sessions under kAuto hold already. A reading takes some 80 us.
inline constexpr double kFreeMemoryMargin = 0.4;
/// The margin while tasks wait for memory (pressure stall information, `some` >= 10 % of the last
/// ten seconds). Where all tasks wait (`full` >= 10 %), branches run one after the other as well.
inline constexpr double kPressedMemoryMargin = 0.5;

/// Which branches run at once where the budget has no room for all that could.
enum class Admission : std::uint8_t {
  kTimeSaved,  ///< those that save most time together, as predicted
  kPaper,      ///< those that take the fewest bytes first, as many as fit
};

/// Which branches of a layer are worth running at once.
enum class Refinement : std::uint8_t {
  kTime,   ///< groups whose predicted times differ at most 1.5 times, each worth a hand-over
  kPaper,  ///< a whole layer, if each branch has more than 2 nodes and F differs at most 1.5 times
};

/// Trips of all loops of a run together, unless SessionOptions say otherwise. A trip costs a
/// microsecond at least, so a loop that never ends is stopped after seconds.
inline constexpr std::int64_t kDefaultLoopTrips = 1'000'000;

struct SessionOptions {
  Scheduler scheduler = Scheduler::kDataflow;
  /// Threads used inside run(), the caller's included; 0: the CPUs this process may use (affinity
  /// and cgroup quota).
  int threads = 0;
  MemoryBudget budget = {};
  Kernels kernels = Kernels::kBest;
  Admission admission = Admission::kTimeSaved;
  Refinement refinement = Refinement::kTime;
  /// More trips of Loop and Scan nodes in one run are an error, kLimitExceeded.
  std::int64_t max_loop_trips = kDefaultLoopTrips;
  /// A run that takes longer, with planning and waiting for memory, stops with kLimitExceeded:
  /// between two nodes, while it waits, or once its plan is made, which the next run then finds. 0:
  /// no limit.
  double time_limit_seconds = 0;
  Precision precision = Precision::kF32;
};

/// How it is decided which regions an accelerator gets (docs/decisions/partition.md).
enum class CostModel : std::uint8_t {
  kPaper,     ///< N >= 3, F >= 1e9 and B/F <= 0.1
  kExact,     ///< L + F/R_acc + B/BW < F/R_cpu
  kMeasured,  ///< the same with rates of single operators from a calibration
};

/// What Session::plan plans for. Nothing here asks a device: it need not be there.
struct PlanOptions {
  /// A device profile (.toml) with a delegate, as in profiles/; empty: the CPU runs everything.
  std::string profile;
  CostModel cost_model = CostModel::kExact;
  std::string calibration;  ///< a .toml file, for kMeasured
  /// Give the delegate at most so many regions, those that save the most predicted time; the others
  /// run on the CPU. Nothing: no limit.
  std::optional<int> max_regions = {};
};

struct LoadOptions {
  /// Passes to leave out, by name (Model::passes()), to find one that does harm. The tool has no
  /// option for it.
  std::vector<std::string> disabled_passes;
  /// How deep If, Loop and Scan may lie inside each other: 0 (none at all) to 64.
  int max_nesting = 16;
  /// A folder where packed weights and the graph behind the passes are kept for the next process,
  /// which maps them: one file per model, made with the first plan. Whoever may write there can
  /// change what models compute. A file there may be removed or replaced at any time, but not cut
  /// short or written to while a model that came from it lives: the system ends the process then
  /// (SIGBUS). Parallax only replaces. Empty: none. No error where it cannot be used:
  /// Model::cache().
  std::string cache;
};

}  // namespace parallax
