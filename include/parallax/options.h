// Options of models and sessions: plain values, read when a model is loaded, a session is created
// or a plan is made. Changing them afterwards has no effect. Each default is the recommended value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parallax/dtype.h"
#include "parallax/result.h"

namespace parallax {

/// The order in which the nodes of a run execute. Outputs are the same under each.
enum class Scheduler : std::uint8_t {
  kSequential,  ///< node after node; threads share the tiles of the running node
  /// The branches of a layer run concurrently if cores and budget suffice; a barrier ends each
  /// layer.
  kLayers,
  /// A branch starts as soon as its inputs and its memory are available, without barriers. The
  /// session changes to sequential order if the first runs show that it is faster.
  kDataflow,
};

/// The set of kernels that nodes are given.
enum class Kernels : std::uint8_t {
  kBest,       ///< the fastest kernel that this CPU supports for each node
  kReference,  ///< plain loops: slow, the oracle of tests; f32 only
};

/// A limit on the bytes that a session uses for activations, kernel scratch and the plans of shapes
/// other than the latest; or, with RuntimeOptions::account, that all sessions of the account use
/// together. Outputs belong to the caller and do not count, but run() refuses to allocate one that
/// alone exceeds the budget (kBudgetExceeded).
struct MemoryBudget {
  enum class Kind : std::uint8_t {
    kNone,   ///< no limit
    kBytes,  ///< `bytes`
    kAuto    ///< a share of the free memory, read again for each run
  };
  Kind kind = Kind::kNone;
  std::int64_t bytes = 0;  ///< for kBytes, >= 0

  /// Returns no limit, the default.
  static constexpr MemoryBudget none() { return {}; }
  /// Returns a limit of `limit` bytes, >= 0.
  static constexpr MemoryBudget of_bytes(std::int64_t limit) { return {Kind::kBytes, limit}; }
  /// Returns a limit that follows the free memory of the system.
  static constexpr MemoryBudget automatic() { return {Kind::kAuto, 0}; }
};
/// The share of free memory that kAuto leaves unused (the paper: 30-50 %). Free memory is read when
/// a run starts, and before a branch starts if the last reading is older than 10 ms: the minimum of
/// the system's available memory, the headroom of every control group above this process and what
/// RLIMIT_AS leaves, plus what sessions under kAuto already hold. A reading costs about 80 us.
inline constexpr double kFreeMemoryMargin = 0.4;
/// The share left unused while some tasks of the system wait for memory (pressure stall
/// information, `some` >= 10 % of the last ten seconds). While all tasks wait (`full` >= 10 %),
/// branches also run one after the other.
inline constexpr double kPressedMemoryMargin = 0.5;

/// Selects the branches that run concurrently if the budget has no room for all candidates.
enum class Admission : std::uint8_t {
  kTimeSaved,  ///< the set that is predicted to save the most time
  kPaper,      ///< as many as fit, in ascending order of bytes
};

/// Selects the branches of a layer that are worth running concurrently.
enum class Refinement : std::uint8_t {
  kTime,   ///< groups of branches with similar predicted times (factor 1.5 at most), each longer
           ///< than handing it to another thread takes
  kPaper,  ///< a whole layer, if each branch has more than 2 nodes and their floating-point
           ///< operations differ by at most a factor of 1.5
  kNone,   ///< every layer, whatever its branches cost: the baseline for measuring refinement
};

/// The default of SessionOptions::max_loop_trips. A trip costs at least a microsecond, so an
/// endless loop is stopped after seconds.
inline constexpr std::int64_t kDefaultLoopTrips = 1'000'000;

/// Selects which of the regions that a delegate could run it does run.
enum class Offload : std::uint8_t {
  kProfitable,  ///< the set with the lowest predicted time of the whole model
  kAll,         ///< all that fit its memory
};

/// The source of the planner's predictions of a delegate's times.
enum class Rates : std::uint8_t {
  /// Measurements of the device: it and the CPU are timed when a session first plans for it, for
  /// at most about 0.3 s, on the kinds of work that the model has. The times are kept in the cache
  /// folder (RuntimeOptions::cache), or in the runtime if there is no folder; times of runs correct
  /// them. A region that turns out to be slower returns to the CPU. Under Offload::kAll, and for
  /// sizes that a pinned plan has, nothing is timed beforehand.
  kMeasured,
  kDeclared,  ///< the delegate's own description
};

/// Options of one session. Session::create() refuses values outside the ranges given here, and
/// options that contradict each other, with kInvalidInput. Time limits are 0 to 1e11 ms.
struct SessionOptions {
  Scheduler scheduler = Scheduler::kDataflow;
  /// Threads used inside run(), the caller's included, 0 to 1024, at most as many as the Runtime
  /// has; 0: all of them. A session created without a runtime that needs more threads than its
  /// model's runtime has gets a runtime of its own.
  int threads = 0;
  MemoryBudget budget = {};
  Kernels kernels = Kernels::kBest;
  Admission admission = Admission::kTimeSaved;
  Refinement refinement = Refinement::kTime;
  /// Trips that the Loop and Scan nodes of one run may make together, >= 0. A run that needs more
  /// stops with kLimitExceeded.
  std::int64_t max_loop_trips = kDefaultLoopTrips;
  /// A run that exceeds this limit, planning and waiting included, stops with kLimitExceeded:
  /// between two nodes, while it waits for memory or for a plan or packed weights that another
  /// thread makes, or after planning and packing, whose results the next run reuses. Milliseconds;
  /// 0: no limit.
  double time_limit_ms = 0;
  /// kUnsupported if the CPU lacks it: see Session::supports(). kBf16 needs Kernels::kBest.
  Precision precision = Precision::kF32;
  /// The delegates that run parts of the model next to the CPU: "NAME" or "NAME:TEXT", the name of
  /// a delegate of this build or of RuntimeOptions::delegate_libraries, and a text that it
  /// interprets. Each is offered the nodes that those before it left; all work concurrently. If one
  /// does not open, or fails during a run, the CPU runs its part: Session::delegates() says why.
  /// Later plans leave out
  /// - a region that failed: for all sizes;
  /// - a region whose sizes the delegate refused: for these sizes;
  /// - a region that found no memory during a run: for these sizes and a growing number of runs.
  /// See Session::retry_delegates(). An unknown name is treated as a delegate that does not open; a
  /// name given twice is refused.
  std::vector<std::string> delegates = {};
  Offload offload = Offload::kProfitable;
  /// Lets the CPU and the delegate run an operator concurrently, each computing some rows of its
  /// result, if that is predicted to be faster. Has no effect with Offload::kAll or
  /// require_full_delegation.
  bool co_execution = false;
  Rates rates = Rates::kMeasured;
  /// A file that records which nodes the delegate runs, so that all runs have the same placement
  /// and their outputs stay within one tolerance, whatever rates are measured later. The first plan
  /// for each combination of sizes is written to it; an existing file decides the placement.
  /// Session::create() fails with kInvalidInput if the file belongs to another model or delegate;
  /// planning fails with kInvalidInput if the delegate cannot run what the file says, with kIo if
  /// the file cannot be written.
  /// The file holds at most 16 MiB: then a warning is logged, and further combinations are not
  /// pinned. Sessions and processes may share a file. Needs exactly one delegate. Empty: no file.
  std::filesystem::path pinned_plan = {};
  /// Time that a delegate may need for one region of a run, in milliseconds. After that the run
  /// starts again without the delegate, in other memory: the memory given to the delegate stays
  /// charged to the budget until it answers. With require_full_delegation it fails instead
  /// (kLimitExceeded). 0: no limit.
  double delegate_time_limit_ms = 10'000;
  /// Limit on the device memory that each delegate uses for this session, in bytes, >= 0; 0: all
  /// that it describes. CPU memory that a delegate uses counts in `budget`.
  std::int64_t delegate_memory_bytes = 0;
  /// Forbids the CPU as a fallback: a run fails with kUnsupported if any node would run on the CPU,
  /// and Session::create() fails if a delegate does not open. kInvalidInput without a delegate.
  bool require_full_delegation = false;
};

/// The rule that decides which regions an accelerator runs (docs/decisions/partition.md). A region
/// has N nodes and F floating-point operations, and B bytes cross its edge. The profile gives the
/// rates R_acc and R_cpu in operations a second, the bandwidth BW in bytes a second and the time L
/// of starting a region, in seconds.
enum class CostModel : std::uint8_t {
  kPaper,     ///< N >= 3, F >= 1e9 and B/F <= 0.1
  kExact,     ///< L + F/R_acc + B/BW < F/R_cpu
  kMeasured,  ///< the same with rates of single operators from a calibration
};

/// The device that Planner::plan plans for. It need not be present: its profile describes it. A
/// file that cannot be read is kIo, an option that another one rules out or lacks is kInvalidInput.
struct PlanOptions {
  /// A device profile (.toml) with a delegate, as in profiles/; empty: the session's delegates, or
  /// the CPU alone if it has none.
  std::filesystem::path profile;
  CostModel cost_model = CostModel::kExact;
  Offload offload = Offload::kProfitable;
  bool co_execution = false;  ///< as SessionOptions::co_execution
  /// A .toml file: CostModel::kMeasured needs one, other models must have none.
  std::filesystem::path calibration;
  /// Offloads at most this many regions: those that save the most predicted time. nullopt: no
  /// limit.
  std::optional<int> max_regions = {};
};

/// The caller's knowledge of an input before the model is loaded.
struct KnownInput {
  std::string name;  ///< name of the input in the file
  /// Sizes in the order of the axes; -1: as the file says. nullopt: all as the file says.
  std::optional<std::vector<std::int64_t>> dims = std::nullopt;
};

/// Options of Model::load(), which refuses values outside the ranges given here with kInvalidInput.
struct LoadOptions {
  /// Passes to skip, by name (Model::passes()); `--disable-pass` of the tool.
  std::vector<std::string> disabled_passes = {};
  /// How deep If, Loop and Scan may be nested: 0 (none allowed) to 64. kUnsupported for a model in
  /// which they are deeper.
  int max_nesting = 16;
  /// Inputs that the caller knows better than the file does.
  /// - Their sizes are constants from then on, which decides what free dimensions leave open: the
  ///   branch of an If on a size, the axes of a Squeeze, the rank of an input without a shape,
  ///   sizes that differ although the file gives them one name.
  /// - An input with a default, otherwise a constant, becomes an input that each run must give;
  ///   files before IR version 4 have no defaults.
  /// - Sizes that an ONNX file fixes must be the same (kInvalidInput). Those of a TFLite file,
  ///   which are often one example's, may be others: all shapes behind them are inferred again. If
  ///   an operator refuses them, that is an error of its node (kInvalidModel).
  std::vector<KnownInput> inputs = {};
  /// The signature of a TFLite file that runs; its inputs and outputs have the names that it gives
  /// them. Empty: the file's first subgraph, with the names of its tensors.
  std::string signature = {};
  /// The model that runs, if the file is a container of models (FileReport::sections): the name of
  /// its section. Empty: the only model; kInvalidInput, which lists the models, if there are
  /// several. kInvalidInput also for a name that no model has or a file that is no container;
  /// kUnsupported for a section that is compressed.
  std::string section = {};
};

}  // namespace parallax
