// What a plan and a run look like to a person or a tool: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parallax {

/// Bytes of activations under five ways of placing them (docs/architecture.md explains each).
struct ArenaBytes {
  std::int64_t naive = 0, greedy = 0, lower_bound = 0, paper = 0, parallax = 0;
};

/// "12.3 MiB".
std::string format_bytes(std::int64_t bytes);

/// The paper's table of structure: one stage of the graph.
struct StructureReport {
  std::string stage;  ///< "before" partitioning; "partitioned": with all that the delegate can run;
                      ///< "refined": with what it does run, and the branches that run at once
  int nodes = 0;      ///< a region counts as one
  int layers = 0;
  int parallel_layers = 0;  ///< with at least two branches (refined: that may run at once)
  int max_branches = 0;     ///< of a layer (refined: at once)
};

/// Nodes that a pass would have changed but for one condition.
struct NearMiss {
  std::string reason;  ///< what stood in the way
  std::string node;    ///< the first of them
  int count = 0;
};

/// What a pass over the graph did. Of passes that run twice, as those of the CPU with a delegate,
/// the last time counts.
struct PassReport {
  std::string name;
  bool disabled = false;  ///< LoadOptions::disabled_passes has it
  int changes = 0;        ///< nodes, or inputs of nodes
  double ms = 0;
  std::vector<NearMiss> near_misses;
};

/// A set of nodes that was considered for a delegate.
struct RegionReport {
  int id = -1;                         ///< number among the offloaded ones; -1: the CPU runs it
  std::string delegate;                ///< whose it is, or would be
  int nodes = 0;                       ///< N
  std::int64_t macs = 0;               ///< F
  std::int64_t paper_flops = 0;        ///< F as the paper's table estimates it
  std::int64_t boundary_bytes = 0;     ///< B
  std::int64_t memory_bytes = 0;       ///< the most memory of the delegate that it takes
  double delegate_ms = 0, cpu_ms = 0;  ///< T_offload and T_cpu
  std::string reason;                  ///< the comparison that decided
  /// In If, Loop or Scan: "loop/body/", with which node_names begin; the figures are of one trip.
  std::string body;
  std::int64_t trips = 1;  ///< in a run, as far as they are known before: of all loops around it
  std::vector<std::string> node_names;
};

/// A node that a delegate does not run.
struct CpuNodeReport {
  std::string node, op, reason;
};

struct LayerReport {
  int id = 0;
  std::vector<int> branches;
  int parallel = 0;    ///< branches that run at once with others of the layer
  std::string reason;  ///< one line: how many run at once, and why each other one waits
};

struct BranchReport {
  int id = 0;
  int layer = 0;
  int nodes = 0;
  std::int64_t macs = 0;
  /// M_i of the paper: the most bytes of its tensors alive at once, each rounded up to its
  /// alignment, and kernel scratch of one thread.
  std::int64_t peak_bytes = 0;
  bool parallel = false;  ///< runs at once with others of its layer
  std::string reason;     ///< why it runs at once with others, or why not, in words and numbers
  std::string first_node, last_node;
  double predicted_ms = 0;  ///< of the branch alone on one core, or on the delegate
  int region = -1;          ///< the region that it is; -1: the CPU runs it
};

/// What the plan of the same binding takes with another number of threads.
struct ThreadBytes {
  int threads = 0;
  std::int64_t arena_bytes = 0, scratch_bytes = 0;
  int max_branches = 0;  ///< most branches that run at once
  /// The smallest memory budget that a run fits, one branch after the other.
  std::int64_t least_bytes = 0;
};

/// Nodes of one operator that get the same kernel.
struct KernelReport {
  std::string op;  ///< after the passes
  /// Its name, "winograd_4x4"; "none": needs none, as a view of its input or an If does; "run
  /// time": chosen when its shapes are known; "delegate".
  std::string kernel;
  int nodes = 0;
};

/// The plan of a body of an If, Loop or Scan.
struct BodyReport {
  std::string node;  ///< the node with the body; inside another body "outer/inner"
  std::string op;
  std::string body;  ///< "then_branch", "else_branch" or "body"
  int branch = 0;    ///< the branch of the outermost graph that runs it
  int nodes = 0, branches = 0, layers = 0;
  int regions = 0;               ///< of these nodes that a delegate runs; bodies inside left out
  std::int64_t arena_bytes = 0;  ///< for its own tensors and for the bodies inside it
  /// Set aside for the node: the largest arena of its bodies, what a loop carries, and copies of
  /// what a delegate reads and makes of it.
  std::int64_t workspace_bytes = 0;
  std::optional<std::int64_t> trips;  ///< of a loop, if known before it runs
  /// Why these dimensions have no plan; running the body gives this error. Empty: there is a plan.
  std::string error;
};

struct PlanReport {
  int nodes = 0, branches = 0, layers = 0, parallel_layers = 0, max_branches = 0, regions = 0;
  ArenaBytes arena_bytes;
  std::int64_t scratch_bytes = 0;            ///< of all threads together
  std::int64_t staged_bytes = 0;             ///< copies of inputs and outputs for delegates
  std::int64_t packed_weight_bytes = 0;      ///< of all plans so far; runs pack them, plans do not
  std::vector<BranchReport> branch_reports;  ///< in order of layers
  std::vector<BodyReport> body_reports;      ///< in order of nodes, outer ones first
  std::vector<int> steps_per_layer;
  std::vector<LayerReport> layer_reports;
  /// In the order in which they run; empty where the graph came from a cache.
  std::vector<PassReport> passes;
  std::vector<StructureReport> structure;  ///< before, partitioned, refined
  /// With delegates: their names with commas, the regions considered for them, the nodes that none
  /// runs. They are of the canonical graph, as structure[0] and [1]; the plan is of what the CPU
  /// fused of its part.
  std::string delegate;
  /// What the CPU and the delegate run at once, a part of each result on either, and the predicted
  /// time with and without; empty: nothing.
  std::string co_execution;
  /// Of a run, where the regions run beside the CPU; 0: not predicted.
  double predicted_ms = 0;
  std::vector<RegionReport> region_reports;
  std::vector<CpuNodeReport> cpu_nodes;
  /// Bytes that the plan had to fit: nothing without a budget.
  std::optional<std::int64_t> budget_bytes;
  /// Under MemoryBudget::Kind::kAuto: every task waits for memory, so nothing runs at once.
  bool memory_stalled = false;
  std::vector<ThreadBytes> thread_bytes;     ///< for 1, 2, 4 and 8 threads, without a budget
  std::vector<KernelReport> kernel_reports;  ///< most nodes first; bodies included
};

/// A delegate, and what a session could not run on it.
struct DelegateReport {
  std::string name;            ///< "NAME" or "NAME:TEXT"
  std::string file;            ///< of the shared object; empty: built in
  std::string device, driver;  ///< empty: not known
  std::int64_t memory_bytes = 0;
  bool shares_memory = false;  ///< it works in the CPU's, and nothing is copied
  bool in_cpu_memory = false;  ///< the same, or it allocates there: that counts in the budget
  bool stores_half = false;    ///< floats in 16 bits, as its user wants: outputs may be 2e-2 off
  /// Of a session's: bytes that it holds there now and held at most, as the delegate says.
  std::int64_t held_bytes = 0, peak_bytes = 0;
  int operators = 0;    ///< that it has
  std::string problem;  ///< why it did not open; empty: it is open
  struct Failure {
    std::string node;  ///< the first of the region
    std::string reason;
    bool for_a_while = false;  ///< memory was short: runs try the region again after a pause
  };
  /// Refusals since Session::retry_delegates(), one for each region and scope. "with some sizes: "
  /// or "for a while: " is before the reason where the region is not left to the CPU altogether.
  std::vector<Failure> failures;
  /// Regions that went back to the CPU, or to another delegate, because runs took longer than
  /// predicted.
  std::vector<Failure> returned;
};

/// Milliseconds that a session has spent so far on plans, and on packing weights for them.
struct PlanTimes {
  double plan = 0, pack = 0;
};

/// What a cache did.
struct CacheReport {
  std::string file;  ///< empty without a cache
  int hits = 0, misses = 0;
  std::int64_t bytes = 0;          ///< of weights mapped from the file
  std::int64_t written_bytes = 0;  ///< of weights in the file that this process wrote
  std::string problem;             ///< why it could not be read or written; empty where all is well
};

/// One node of one run. Times in nanoseconds from the start of the run.
struct NodeEvent {
  std::string node, op, kernel;
  std::string shapes;  ///< "1x64x768, 768x768 -> 1x64x768"
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t macs = 0, bytes = 0;  ///< bytes read and written
  int branch = 0, worker = 0, tiles = 0;
};

/// One region of one run that a device began. Times as those of nodes.
struct RegionEvent {
  int region = 0, branch = 0;
  std::string delegate;  ///< as the session's options name it
  std::int64_t start_ns = 0, end_ns = 0;
  std::string problem;  ///< why the CPU ran it after that: `nodes` has its nodes; empty: it did not
  /// Of a region inside If, Loop or Scan, once for each trip: "loop/body/"; else empty.
  std::string body;
};

/// Of a run with a delegate that has memory of its own.
struct CopyEvent {
  std::string value;
  int region = 0;          ///< that reads it there, or has made it
  bool to_device = false;  ///< else to the CPU
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t bytes = 0;
};

/// Filled by Session::run when asked for (RunOptions::trace); costs a few per cent.
struct RunTrace {
  std::vector<NodeEvent> nodes;
  std::vector<RegionEvent> regions;
  std::vector<CopyEvent> copies;
};

/// Where the times of a prediction's nodes come from.
struct PredictionBasis {
  std::string source;           ///< of the rates, in the profile's words; may be empty
  double hertz = 0;             ///< of the fastest core; 0: not known
  double macs_per_second = 0;   ///< of that core, for nodes unlike all that were timed
  double bytes_per_second = 0;  ///< of the memory
  int timed_nodes = 0;          ///< timed on the device themselves
  int similar_nodes = 0;        ///< take as long as timed ones of their kind
  int rate_nodes = 0;           ///< take as long as the rates say
};

/// The time of a run on the cores of a profile, from a replay of the plan.
struct Prediction {
  struct Branch {
    int id = 0;
    double begin_ms = 0, end_ms = 0;
  };
  std::string profile;
  int cores = 0;
  double ms = 0;
  double busy_ms = 0;  ///< of all cores together
  PredictionBasis basis;
  /// Nodes whose shapes only running can tell; they count as taking no time.
  int unknown_nodes = 0;
  std::vector<Branch> branches;  ///< by id
};

}  // namespace parallax
