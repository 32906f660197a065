// Reports on plans, runs, files and delegates, for a person or a tool: plain values that own all
// their contents. Unless a field says otherwise, times are in milliseconds, sizes in bytes, and
// text is UTF-8 without a line break. Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace parallax {

/// Bytes of activations under five ways of placing them: a buffer for every tensor; the largest
/// tensor first into the first gap, over the sequential order; the most bytes alive when branches
/// run one after the other; the paper's arena per branch; and the plan itself
/// (docs/architecture.md). Only the last is allocated; the others are for comparison. Weights,
/// kernel scratch and copies for delegates are not included.
struct ArenaBytes {
  std::int64_t naive = 0, greedy = 0, lower_bound = 0, paper = 0, parallax = 0;
};

/// Returns a size with its unit, a power of 1024: "12.3 MiB".
std::string format_bytes(std::int64_t bytes);

/// A row of the paper's table of structure: the graph at one stage.
struct StructureReport {
  std::string stage;  ///< "before" partitioning; "partitioned": with all regions that the delegate
                      ///< can run; "refined": with those that it does run, and the branches that
                      ///< run concurrently
  int nodes = 0;      ///< a region counts as one node
  int layers = 0;     ///< number of layers
  int parallel_layers = 0;  ///< layers with at least two branches (refined: that run concurrently)
  int max_branches = 0;     ///< branches of the widest layer (refined: that run concurrently)
};

/// Nodes that a pass would have changed but for one condition: where a change of the model could
/// make it faster.
struct NearMiss {
  std::string reason;  ///< the condition that was not met
  std::string node;    ///< name of the first of the nodes
  int count = 0;       ///< number of nodes
};

/// The effect of a pass over the graph: a rewrite that keeps the outputs. For a pass that runs
/// twice, as those that run again on the CPU's part of a plan with a delegate, the figures are
/// those of the last time.
struct PassReport {
  std::string name;                   ///< as in Model::passes()
  bool disabled = false;              ///< listed in LoadOptions::disabled_passes
  int changes = 0;                    ///< nodes, or inputs of nodes, that it changed
  double time_ms = 0;                 ///< time that it ran
  std::vector<NearMiss> near_misses;  ///< one for each reason
};

/// A set of nodes that was considered for a delegate. N, F, B and T are those of the paper.
struct RegionReport {
  int id = -1;                         ///< number among the offloaded regions; -1: the CPU runs it
  std::string delegate;                ///< the delegate that runs it, or could
  int nodes = 0;                       ///< N
  std::int64_t macs = 0;               ///< F: multiply-accumulate operations
  std::int64_t paper_flops = 0;        ///< F as the paper's table estimates it
  std::int64_t boundary_bytes = 0;     ///< B: bytes of the tensors that enter and leave it
  std::int64_t memory_bytes = 0;       ///< peak memory of the delegate that it needs
  double delegate_ms = 0, cpu_ms = 0;  ///< T_offload and T_cpu, predicted
  std::string reason;                  ///< the comparison that decided
  /// For a region inside If, Loop or Scan: "loop/body/", the prefix of its node_names; the figures
  /// are those of one trip. Otherwise empty.
  std::string body;
  /// Trips of a run through all loops around it, multiplied; a loop whose trips are not known
  /// before it runs counts as 1.
  std::int64_t trips = 1;
  std::vector<std::string> node_names;  ///< all its nodes
};

/// A node that no delegate runs, in a plan with delegates: its name ("loop/body/name" in a body),
/// its operator, and the reason in one line, that of the delegate or of the cost model.
struct CpuNodeReport {
  std::string node, op, reason;
};

/// A layer: branches that do not depend on each other, so that all of them could run concurrently;
/// the cores and the memory budget decide how many do.
struct LayerReport {
  int id = 0;                 ///< number in order of execution, from 0
  std::vector<int> branches;  ///< BranchReport::id of each
  int parallel = 0;           ///< branches that run concurrently with others of the layer
  std::string reason;         ///< one line: how many run concurrently, and why each other one waits
};

/// A branch: a chain of nodes that runs as one unit.
struct BranchReport {
  int id = 0;             ///< number, from 0
  int layer = 0;          ///< LayerReport::id
  int nodes = 0;          ///< number of nodes
  std::int64_t macs = 0;  ///< multiply-accumulate operations
  /// M_i of the paper: the peak of the bytes of its live tensors, each rounded up to its alignment,
  /// plus the kernel scratch of one thread.
  std::int64_t peak_bytes = 0;
  bool parallel = false;  ///< it runs concurrently with others of its layer
  std::string reason;     ///< why it does or does not, in words and numbers
  std::string first_node, last_node;
  double predicted_ms = 0;  ///< time of the branch alone, on one core or on the delegate
  int region = -1;          ///< the region that it is; -1: the CPU runs it
};

/// Memory of the plan for the same sizes with another number of threads, computed without a budget.
struct ThreadBytes {
  int threads = 0;  ///< threads of a run, its caller's included
  std::int64_t arena_bytes = 0, scratch_bytes = 0;
  int max_branches = 0;  ///< the most branches that run concurrently
  /// The smallest memory budget that a run fits, with one branch after the other.
  std::int64_t min_bytes = 0;
};

/// Nodes of one operator that are given the same kernel.
struct KernelReport {
  std::string op;  ///< operator after the passes
  /// A kernel's name, such as "winograd_4x4"; "none": it needs no kernel, like a view of its input
  /// or an If; "run time": chosen when its shapes are known; "objects": it computes sequences,
  /// optionals, maps or strings; "delegate".
  std::string kernel;
  int nodes = 0;  ///< number of nodes, those in bodies included
};

/// The plan of a body of an If, Loop or Scan.
struct BodyReport {
  std::string node;  ///< the node with the body; inside another body "outer/inner"
  std::string op;    ///< operator of that node
  std::string body;  ///< "then_branch", "else_branch" or "body"
  int branch = 0;    ///< the branch of the outermost graph that runs it
  int nodes = 0, branches = 0, layers = 0;
  int regions = 0;               ///< regions of its own nodes; those in bodies inside it excluded
  std::int64_t arena_bytes = 0;  ///< for its own tensors and for the bodies inside it
  /// Memory reserved for the node: the largest arena of its bodies, the values that a loop carries,
  /// and copies of what a delegate reads and makes of it.
  std::int64_t workspace_bytes = 0;
  std::optional<std::int64_t> trips;  ///< trips of a loop; nullopt if not known before it runs
  /// Why there is no plan for these dimensions; running the body gives this error. Empty: there is
  /// a plan.
  std::string error;
};

/// A plan for one combination of sizes (Planner::plan). Counts are those of the graph that runs,
/// after all passes; bodies of If, Loop and Scan are in body_reports. The memory of one run is the
/// sum of arena_bytes.parallax, scratch_bytes and staged_bytes.
struct PlanReport {
  int nodes = 0, branches = 0, layers = 0, parallel_layers = 0, max_branches = 0, regions = 0;
  ArenaBytes arena_bytes;
  std::int64_t scratch_bytes = 0;  ///< kernel scratch of all threads together
  std::int64_t staged_bytes = 0;   ///< copies of inputs and outputs for delegates
  /// Weights packed for all plans of the model so far. Runs pack weights, plans do not.
  std::int64_t packed_weight_bytes = 0;
  std::vector<BranchReport> branch_reports;  ///< in order of layers
  std::vector<BodyReport> body_reports;      ///< in order of nodes, outer ones first
  std::vector<int> steps_per_layer;          ///< for each layer: groups of branches, run in turn
  std::vector<LayerReport> layer_reports;    ///< in order of execution
  /// In the order in which they ran; empty if the graph came from a cache.
  std::vector<PassReport> passes;
  std::vector<StructureReport> structure;  ///< before, partitioned, refined
  /// Names of the delegates, separated by commas; empty without delegates, as are region_reports
  /// (the regions considered for them) and cpu_nodes (the nodes that no delegate runs). These two
  /// describe the canonical graph, as do structure[0] and [1]; the plan describes the graph in
  /// which the CPU's part is fused.
  std::string delegate;
  /// Operators that the CPU and the delegate run concurrently, each a part of the result, and the
  /// predicted time with and without; empty: no operator is split.
  std::string co_execution;
  /// Time of a run whose regions run next to the CPU; 0: not predicted.
  double predicted_ms = 0;
  std::vector<RegionReport> region_reports;  ///< the offloaded regions first
  std::vector<CpuNodeReport> cpu_nodes;      ///< bodies included
  /// The budget that the plan had to fit; nullopt without one.
  std::optional<std::int64_t> budget_bytes;
  /// Under MemoryBudget::automatic(): every task of the system waits for memory, so branches run
  /// one after the other.
  bool memory_stalled = false;
  std::vector<ThreadBytes> thread_bytes;     ///< for 1, 2, 4 and 8 threads, without a budget
  std::vector<KernelReport> kernel_reports;  ///< most nodes first; bodies included
};

/// A delegate, and what a session could not run on it.
struct DelegateReport {
  std::string name;               ///< "NAME" or "NAME:TEXT"
  std::filesystem::path file;     ///< the shared object; empty: built in
  std::string device, driver;     ///< as the delegate describes them; empty: not known
  std::int64_t memory_bytes = 0;  ///< memory of the device that it describes
  bool shares_memory = false;     ///< it works in the CPU's memory, and tensors are not copied
  bool in_cpu_memory = false;     ///< the same, or it allocates there: that counts in the budget
  bool stores_half = false;  ///< it stores floats in 16 bits, as its user requested: outputs may be
                             ///< 2e-2 off
  /// Bytes of its memory that the session holds now, and held at most, as the delegate reports
  /// them; 0 in reports of a Runtime.
  std::int64_t held_bytes = 0, peak_bytes = 0;
  int operators = 0;    ///< number of operators that it supports
  std::string problem;  ///< why it did not open; empty: it is open
  /// A region that the delegate does not run, or no longer runs.
  struct Failure {
    std::string node;          ///< name of the first node of the region
    std::string reason;        ///< the delegate's message, or the library's
    bool for_a_while = false;  ///< memory was short: later runs try the region again after a pause
  };
  /// Refusals since Session::retry_delegates(), one for each region and scope. A reason begins with
  /// "with some sizes: " or "for a while: " unless the region is left to the CPU altogether.
  std::vector<Failure> failures;
  /// Regions that were moved to the CPU, or to another delegate, because they ran slower than
  /// predicted.
  std::vector<Failure> returned;
};

/// Milliseconds that a session has spent so far on plans, and on packing weights for them.
struct PlanTimes {
  double plan_ms = 0, pack_ms = 0;
};

/// The cache of a model, and the use made of it since the model was loaded. A cache that cannot be
/// used costs time and no results: weights are packed as without one.
struct CacheReport {
  std::filesystem::path file;      ///< empty without a cache
  int hits = 0, misses = 0;        ///< weights found in it, and weights that were packed instead
  std::int64_t bytes = 0;          ///< weights mapped from the file
  std::int64_t written_bytes = 0;  ///< weights that this process wrote to the file
  std::string problem;             ///< why it cannot be read or written; empty: no problem
};

/// One node of one run; a node in a loop has an event for each trip, of which a long loop keeps the
/// first ones. Times in nanoseconds from the start of the run.
struct NodeEvent {
  std::string node, op, kernel;
  std::string shapes;  ///< "1x64x768, 768x768 -> 1x64x768"
  std::int64_t start_ns = 0, end_ns = 0;
  /// Multiply-accumulate operations; bytes of all inputs and outputs, each counted once, wherever
  /// caches hold them.
  std::int64_t macs = 0, bytes = 0;
  /// BranchReport::id; the worker that began it; the parts into which its work is divided.
  int branch = 0, worker = 0, tiles = 0;
};

/// One region of one run that a device began. Times as those of nodes.
struct RegionEvent {
  int region = 0, branch = 0;
  std::string delegate;  ///< as the session's options name it
  std::int64_t start_ns = 0, end_ns = 0;
  std::string problem;  ///< why the CPU then ran it (`nodes` has its nodes); empty: it did not
  /// "loop/body/" for a region inside If, Loop or Scan, which has one event for each trip; else
  /// empty.
  std::string body;
};

/// One copy of a tensor between CPU and device, in a run with a delegate that has memory of its
/// own. Times as those of nodes.
struct CopyEvent {
  std::string value;       ///< name of the tensor
  int region = 0;          ///< the region that reads it there, or has made it
  bool to_device = false;  ///< false: to the CPU
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t bytes = 0;
};

/// A record of one run, filled if RunOptions::trace is set; costs a few per cent of its time.
struct RunTrace {
  std::vector<NodeEvent> nodes;  ///< in order of start_ns
  std::vector<RegionEvent> regions;
  std::vector<CopyEvent> copies;  ///< empty unless a delegate has memory of its own
};

/// The sources of the node times of a prediction: a node counts as timed, as similar, or as one
/// from the rates.
struct PredictionBasis {
  std::string source;           ///< origin of the rates, in the profile's words; may be empty
  double hertz = 0;             ///< clock of the fastest core; 0: not known
  double macs_per_second = 0;   ///< rate of that core, for nodes unlike all that were timed
  double bytes_per_second = 0;  ///< rate of the memory
  int timed_nodes = 0;          ///< nodes that were timed on the device themselves
  int similar_nodes = 0;        ///< nodes predicted from timed nodes of their kind
  int rate_nodes = 0;           ///< nodes predicted from the rates
};

/// The predicted time of a run on the cores of a profile, from a replay of the plan.
struct Prediction {
  /// The time that a branch runs, from the start of the run.
  struct Branch {
    int id = 0;
    double begin_ms = 0, end_ms = 0;
  };
  std::string profile;    ///< name of the device, from its profile
  int cores = 0;          ///< cores that the replay used
  double latency_ms = 0;  ///< time of the run
  double busy_ms = 0;     ///< work of all cores together
  PredictionBasis basis;
  /// Nodes whose shapes are known only during a run; they count as no time.
  int unknown_nodes = 0;
  std::vector<Branch> branches;  ///< in order of id
};

}  // namespace parallax
