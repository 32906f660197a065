// Options as plain values, used when a session is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parallax/dtype.h"
#include "parallax/result.h"

namespace parallax {

enum class Scheduler : std::uint8_t {
  kSequential,  ///< node after node; threads share the tiles of the running node
  /// Branches of a layer run at once as far as cores and budget allow; a barrier ends each layer.
  kLayers,
  /// A branch starts once its inputs and its bytes are there, without barriers. Becomes sequential
  /// where the first runs show that to be faster.
  kDataflow,
};

enum class Kernels : std::uint8_t {
  kBest,       ///< the fastest kernel that this CPU has for each node
  kReference,  ///< plain loops: slow, the oracle
};

/// Limit of the bytes that a session takes for activations, kernel scratch and the plans of shapes
/// other than the latest, or that all sessions of an account take (RuntimeOptions::account).
/// Outputs belong to the caller and do not count, but run() refuses to make one that alone exceeds
/// the budget.
struct MemoryBudget {
  enum class Kind : std::uint8_t { kNone, kBytes, kAuto };
  Kind kind = Kind::kNone;
  std::int64_t bytes = 0;  ///< for kBytes
};
/// kAuto takes free memory less this share (the paper: 30-50 %). A run reads free memory when it
/// starts, and before a branch once the last reading is older than 10 ms: the least of the system's
/// available memory, the headroom of every control group above this process and what RLIMIT_AS
/// leaves, plus what sessions under kAuto already hold. A reading takes about 80 us.
inline constexpr double kFreeMemoryMargin = 0.4;
/// The share while tasks wait for memory (pressure stall information, `some` >= 10 % of the last
/// ten seconds). While all tasks wait (`full` >= 10 %), branches also run one after the other.
inline constexpr double kPressedMemoryMargin = 0.5;

/// Which branches run at once if the budget has no room for all candidates.
enum class Admission : std::uint8_t {
  kTimeSaved,  ///< the set that saves most time, as predicted
  kPaper,      ///< as many as fit, those with fewest bytes first
};

/// Which branches of a layer are worth running at once.
enum class Refinement : std::uint8_t {
  kTime,   ///< groups with predicted times within a factor of 1.5, each worth a hand-over
  kPaper,  ///< a whole layer, if each branch has more than 2 nodes and F differs at most 1.5 times
  kNone,   ///< every layer, whatever its branches take: what refinement is worth shows against it
};

/// How many trips the loops of a run may make together, by default. A trip takes at least a
/// microsecond, so a loop that never ends is stopped after seconds.
inline constexpr std::int64_t kDefaultLoopTrips = 1'000'000;

/// Which of the regions that an accelerator could run it does run.
enum class Offload : std::uint8_t {
  kProfitable,  ///< those with which the whole is predicted to take least
  kAll,         ///< all that fit its memory
};

/// What the planner goes by where it says how long a delegate takes.
enum class Rates : std::uint8_t {
  /// What the device does here: it and the CPU are timed when a session first plans for it, for
  /// about 0.3 s at most, at the kinds of work that the model has. The times are kept in the folder
  /// of caches (RuntimeOptions::cache) or else in the runtime; what runs take corrects them. A
  /// region that then loses goes back to the CPU. Under Offload::kAll, and for a pinned plan,
  /// nothing is timed beforehand.
  kMeasured,
  kDescribed,  ///< what the delegate says of itself
};

struct SessionOptions {
  Scheduler scheduler = Scheduler::kDataflow;
  /// Threads used inside run(), the caller's included, at most what the Runtime has; 0: all of
  /// them. A session that is given no runtime and wants more than its model's has gets its own.
  int threads = 0;
  MemoryBudget budget = {};
  Kernels kernels = Kernels::kBest;
  Admission admission = Admission::kTimeSaved;
  Refinement refinement = Refinement::kTime;
  /// A run whose Loop and Scan nodes make more trips stops with kLimitExceeded.
  std::int64_t max_loop_trips = kDefaultLoopTrips;
  /// A run that takes longer, planning and waiting included, stops with kLimitExceeded: between two
  /// nodes, while it waits for memory or for what another thread plans or packs, or after planning
  /// and packing, which the next run finds done. 0: no limit.
  double time_limit_seconds = 0;
  Precision precision = Precision::kF32;
  /// What runs parts of the model beside the CPU: "NAME" or "NAME:TEXT" of a delegate that this
  /// build has or a library of the runtime's, which the text tells more. Of several each gets what
  /// those before it left, and all work at once. Where one does not open, or fails while it runs,
  /// the CPU does its part: Session::delegates() says why. The next run is planned without a
  /// region that fails, for all sizes; without one whose sizes the delegate refuses, for these;
  /// without one that finds no memory in a run, for these sizes and a number of runs that grows.
  /// See Session::retry_delegates().
  std::vector<std::string> delegates = {};
  Offload offload = Offload::kProfitable;
  /// Operators may run on the CPU and the delegate at once, each of which makes some rows of their
  /// results, where that is predicted to take less. Not with Offload::kAll, nor with
  /// require_full_delegation.
  bool co_execution = false;
  Rates rates = Rates::kMeasured;
  /// A file that keeps which nodes the delegate runs, so that all runs have the same placement, and
  /// its outputs stay within one tolerance, whatever the rates say later. The first plan for each
  /// combination of sizes is written there; a file that is there decides. Session::create() fails
  /// with one of another model or delegate, planning with one that the delegate cannot run or that
  /// cannot be written. A file of 16 MiB is full: a warning says so, and further combinations are
  /// not pinned. Sessions and processes may share a file. Not with several delegates. Empty: none.
  std::string pinned_plan = {};
  /// How long a delegate may take for one region of a run. Where it takes longer, the run begins
  /// anew without it, in memory of its own: that of the delegate's stays charged until it answers.
  /// 0: any time.
  double delegate_time_limit_seconds = 10;
  /// The most bytes of its own memory that each delegate may use for this session; 0: all that it
  /// describes. What a delegate takes of the CPU's memory counts in `budget`.
  std::int64_t delegate_memory_bytes = 0;
  /// Where a node would run on the CPU the run fails, and where the delegate does not open
  /// Session::create() does.
  bool require_full_delegation = false;
};

/// The rule that decides which regions an accelerator runs (docs/decisions/partition.md).
enum class CostModel : std::uint8_t {
  kPaper,     ///< N >= 3, F >= 1e9 and B/F <= 0.1
  kExact,     ///< L + F/R_acc + B/BW < F/R_cpu
  kMeasured,  ///< the same with rates of single operators from a calibration
};

/// What Session::plan plans for. The device need not be there: its profile describes it.
struct PlanOptions {
  /// A device profile (.toml) with a delegate, as in profiles/; empty: the CPU runs everything.
  std::string profile;
  CostModel cost_model = CostModel::kExact;
  Offload offload = Offload::kProfitable;
  bool co_execution = false;  ///< as SessionOptions has it
  std::string calibration;    ///< a .toml file, for kMeasured
  /// Offload at most this many regions, those that save the most predicted time. Nothing: no limit.
  std::optional<int> max_regions = {};
};

/// What the caller knows of an input before the model is loaded.
struct KnownInput {
  std::string name;
  /// Sizes in the order of the axes; -1: as the file says. Nothing: all as the file says.
  std::optional<std::vector<std::int64_t>> dims = std::nullopt;
};

struct LoadOptions {
  /// Passes to leave out, by name (Model::passes()); `--disable-pass` of the tool.
  std::vector<std::string> disabled_passes = {};
  /// How deep If, Loop and Scan may lie inside each other: 0 (none at all) to 64.
  int max_nesting = 16;
  /// Inputs that the caller knows better than the file does. Their sizes are numbers from then on,
  /// which decides what free dimensions leave open: the branch of an If on a size, the axes of a
  /// Squeeze, the rank of an input without a shape, sizes that differ though the file gives them
  /// one name. An input with a default, which is a constant otherwise, becomes one that each run
  /// gives; files before IR version 4 have no defaults.
  std::vector<KnownInput> inputs = {};
};

}  // namespace parallax
