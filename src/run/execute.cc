#include "run/execute.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "base/caught.h"
#include "base/checked.h"
#include "base/status.h"
#include "ops/op.h"
#include "run/poison.h"
#include "run/run.h"

namespace parallax {
namespace {

/// Whether the arena is checked by default: if assertions are on, but not with the thread
/// sanitizer, because the lock of the check would hide races.
#if defined(NDEBUG) || defined(__SANITIZE_THREAD__)
constexpr bool kAlwaysWatch = false;
#else
constexpr bool kAlwaysWatch = true;
#endif

/// The address that kernels get for a tensor without elements.
alignas(kAlignment) std::byte empty_tensor[kAlignment];

/// The node, by its NodeTiles::number_, and the tile whose data this thread left in scratch.
struct LastTile {
  std::uint64_t node = 0;
  std::int64_t tile = -1;
};
thread_local LastTile last_tile;

/// Returns a unique number. Each thread counts in a range of its own: a shared counter would move
/// between cores with each node.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local std::uint64_t last = threads.fetch_add(1, std::memory_order_relaxed) << 40;
  return ++last;
}

std::shared_ptr<RunBuffers> kept_buffers(RunMemory::Lease& lease) {
  if (lease.buffers() == nullptr) lease.buffers() = std::make_shared<RunBuffers>();
  return lease.buffers();
}

}  // namespace

/// The tiles of one node.
class NodeTiles final : public SharedWork {
 public:
  NodeTiles(Run& run, NodeId node, const Kernel& kernel, const KernelArgs& args,
            Run::Scratch scratch)
      : run_(run),
        node_(node),
        kernel_(kernel),
        args_(args),
        scratch_(scratch),
        scratch_bytes_(static_cast<std::size_t>(kernel.scratch_bytes())),
        number_(next_number()) {}

  void run(std::int64_t tile, Participant& self) override {
    if (run_.failed()) return;
    KernelArgs args = args_;
    if (scratch_bytes_ > 0)
      args.scratch = {scratch_.base + self.index() * scratch_.stride, scratch_bytes_};
    // If this thread ran nothing in between, its scratch is unchanged.
    if (last_tile.node == number_) args.previous_tile = last_tile.tile;
    last_tile = {number_, tile};
    try {
      if (Status status = kernel_.run_tile(tile, args); !status)
        run_.fail(node_, std::move(status).error());
    } catch (...) {
      run_.fail(node_, caught(Stage::kRun));
    }
  }

 private:
  Run& run_;
  const NodeId node_;
  const Kernel& kernel_;
  const KernelArgs args_;
  const Run::Scratch scratch_;
  const std::size_t scratch_bytes_;
  const std::uint64_t number_;
};

Run::Run(const Program& program, RunMemory::Lease& lease, const ExecuteOptions& options,
         std::shared_ptr<RunBuffers> buffers, std::size_t participants, Run* around)
    : program_(program),
      compiled_(program.compiled()),
      lease_(lease),
      options_(options),
      begin_(std::chrono::steady_clock::now()),
      block_(lease.data()),
      scratch_{block_ + program.arena_bytes, compiled_.scratch_bytes},
      threads_(program.threads),
      kept_(std::move(buffers)),
      buffers_(*kept_),
      own_pool_(lease),
      pool_(around == nullptr ? own_pool_ : around->pool_),
      spare_(pool_, options.poison) {
  buffers_.reset(graph().values.size(), graph().outputs.size(), participants,
                 compiled_.context->branches.branches.size());
  own_limits_.max_trips = options.max_loop_trips;
  own_limits_.trips_left = options.max_loop_trips;
  own_limits_.deadline = options.deadline;
  if (options.device != nullptr && around == nullptr) {
    device_ = options.device;
    buffers_.staged.resize(0);
    use_device(std::make_shared<AsyncSteps>(*this, options.region_time, options.trace != nullptr));
  }
  if (!compiled_.has_run_time_nodes) return;
  run_time_dims_.resize(graph().values.size());
  arenas_.resize(compiled_.context->branches.branches.size());
  symbol_values_ = compiled_.binding.symbols;
  symbol_values_.resize(graph().symbols.size());
  objects_.resize(graph().values.size());
  account_ = around == nullptr ? std::make_shared<ObjectAccount>(lease) : around->account_;
  readers_ = std::make_unique<std::atomic<std::int32_t>[]>(graph().values.size());
  for (const ValueId id : graph().values.ids())
    readers_[static_cast<std::size_t>(id.value)] = compiled_.run_time_readers[id];
}

std::int64_t Run::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              begin_)
      .count();
}

Status Run::start(std::span<const std::byte* const> inputs, const PlaceOutput& place) {
  if (options_.poison || kAlwaysWatch) live_.emplace(program_, block_, options_.poison);
  if (options_.poison) poison({block_, static_cast<std::size_t>(program_.arena_bytes)});
  place_ = &place;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (const auto& dims = compiled_.dims[graph().outputs[i]])
      PX_RETURN_IF_ERROR(place_output(i, *dims));
  }
  for (const ValueId id : graph().values.ids()) PX_RETURN_IF_ERROR(place_value(id, inputs));
  return {};
}

/// Requests the memory of graph output `i`.
Status Run::place_output(std::size_t i, const Dims& dims) {
  RunBuffers::Output& output = outputs_[i];
  const Value& value = graph().values[graph().outputs[i]];
  const DType dtype = is_object(value) ? DType::kString : value.dtype;
  PX_ASSIGN(output.bytes, (*place_)(static_cast<int>(i), dtype, dims));
  output.placed = true;
  output.writable = dims.elements() > 0;
  return {};
}

Status Run::place_value(ValueId id, std::span<const std::byte* const> inputs) {
  const Storage& storage = program_.storage[id];
  const auto position = static_cast<std::size_t>(storage.position);
  switch (storage.kind) {
    case StorageKind::kNone:
    case StorageKind::kRunTime:
      break;
    case StorageKind::kInput:
      bytes_[id] = const_cast<std::byte*>(inputs[position]);
      if (is_object(graph().values[id])) know_object(id);
      break;
    case StorageKind::kFixed:
      bytes_[id] = const_cast<std::byte*>(compiled_.fixed[id]);
      if (is_object(graph().values[id])) know_object(id);
      break;
    case StorageKind::kArena:
      bytes_[id] = block_ + storage.position;
      break;
    case StorageKind::kOutput: {
      const std::int64_t size =
          parallax::bytes_of(graph().values[id].dtype, *compiled_.dims[id]).value_or(0);
      RunBuffers::Output& output = outputs_[position];
      if (size == 0) {
        bytes_[id] = empty_tensor;
      } else if (storage.space == MemorySpace::kShared && async_steps_ != nullptr) {
        bytes_[id] = block_ + storage.staged;
      } else if (output.writable) {
        bytes_[id] = output.bytes;
      } else {
        PX_ASSIGN(bytes_[id], spare_.allocate(size, true));
      }
      break;
    }
  }
  return {};
}

Run::~Run() {
  if (account_ != nullptr && host_ == nullptr) account_->close();
  // A device accesses only the workspace of a body.
  if (async_steps_ != nullptr && host_ == nullptr) async_steps_->take_over(arenas_);
}

void Run::fail(NodeId node, Error error) noexcept {
  error.stage = Stage::kRun;
  try {
    if (error.node.empty() && node.valid()) error.node = graph().nodes[node].name;
  } catch (const std::bad_alloc&) {
    // No memory for the node's name: keep the error without it.
  }
  limits_->stop(std::move(error));
}

bool Run::run_branch(BranchId branch, Participant& self) {
  if (compiled_.context->branches.region[branch].valid()) {
    if (!is_for_cpu(branch) && begin_region(branch)) return false;
    // If neither runs it, the run has failed.
    if (on_device(branch)) substitute_[branch] = Substitute::kBegun;
    bind_region(branch);
  }
  run_nodes(branch, self);
  if (device_run_ != nullptr && !failed()) offer_copies(branch);
  return true;
}

void Run::run_nodes(BranchId branch, Participant& self) {
  Buffers& buffers = buffers_of(self);
  NodeId at;
  try {
    for (const NodeId node : compiled_.context->branches.branches[branch]) {
      if (failed()) break;
      at = node;
      if (limits_->deadline.time) {
        if (Status status = check_deadline(limits_->deadline); !status) {
          fail(node, std::move(status).error());
          break;
        }
      }
      if (Status status = run_node(node, self, buffers); !status)
        fail(node, std::move(status).error());
    }
    if (options_.trace == nullptr) return;
    const MutexLock lock(mutex_);
    events_.insert(events_.end(), buffers.events.begin(), buffers.events.end());
    buffers.events.clear();
  } catch (...) {
    fail(at, caught(Stage::kRun));
  }
}

Status Run::run_node(NodeId id, Participant& self, Buffers& buffers) {
  const CompiledNode& node = compiled_.nodes[id];
  if (live_) PX_RETURN_IF_ERROR(live_->begin(id));
  switch (node.role) {
    case NodeRole::kView:
      break;
    case NodeRole::kPlanned:
    case NodeRole::kDelegated:
      if (node.code.kernel != nullptr) run_planned(id, self, buffers);
      break;
    case NodeRole::kRunTime:
      PX_RETURN_IF_ERROR(run_unplanned(id, self, buffers));
      break;
    case NodeRole::kBodies:
      PX_RETURN_IF_ERROR(run_bodies(id, self));
      break;
    case NodeRole::kObjects:
      PX_RETURN_IF_ERROR(run_objects(id, self, buffers));
      break;
  }
  // A node with bodies has released each input as early as possible.
  if (node.role != NodeRole::kBodies)
    for (const ValueId root : node.releases) release(root);
  if (live_) live_->end(id);
  return {};
}

void Run::run_planned(NodeId id, Participant& self, Buffers& buffers) {
  const Node& node = graph().nodes[id];
  buffers.outputs.clear();
  for (const ValueId output : node.outputs)
    buffers.outputs.push_back(output.valid() ? bytes_[output] : nullptr);
  run_tiles(id, compiled_.nodes[id].code, program_.bound->fixed[id], scratch_, nullptr, self,
            buffers);
}

void Run::run_tiles(NodeId id, const NodeKernel& code, const FixedInputs& fixed, Scratch scratch,
                    DynamicOutputs* dynamic, Participant& self, Buffers& buffers) {
  const Node& node = graph().nodes[id];
  buffers.inputs.clear();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::byte* bytes = fixed[i];
    if (bytes == nullptr && code.reads[i]) bytes = bytes_of(node.inputs[i]);
    buffers.inputs.push_back(bytes);
  }
  const std::int64_t start = options_.trace == nullptr ? 0 : now();
  NodeTiles tiles(*this, id, *code.kernel, {buffers.inputs, buffers.outputs, {}, dynamic}, scratch);
  self.share(WorkLevel::kTiles, code.tiles, tiles, predicted_ns(compiled_.nodes[id]));
  if (options_.trace == nullptr) return;
  buffers.events.push_back({id, code.row, start, now(), self.index(), code.tiles});
}

Status Run::finish() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const ValueId id = graph().outputs[i];
    const Dims& dims = dims_of(id);
    if (!outputs_[i].placed) PX_RETURN_IF_ERROR(place_output(i, dims));
    if (is_object(graph().values[id])) {
      *reinterpret_cast<Object*>(outputs_[i].bytes) =
          *reinterpret_cast<const Object*>(bytes_of(id));
      continue;
    }
    const auto size =
        static_cast<std::size_t>(parallax::bytes_of(graph().values[id].dtype, dims).value_or(0));
    std::byte* const to = outputs_[i].bytes;
    if (size > 0 && to != bytes_of(id)) std::memcpy(to, bytes_of(id), size);
  }
  return {};
}

namespace {

/// Runs the program. `async_steps`: set to the asynchronous steps of the run, which has ended then.
Status execute_within(const Program& program, std::span<const std::byte* const> inputs,
                      const PlaceOutput& place, WorkerPool& pool, RunMemory::Lease& lease,
                      const ExecuteOptions& options, std::shared_ptr<AsyncSteps>& async_steps) {
  Run run(program, lease, options, kept_buffers(lease), static_cast<std::size_t>(program.threads));
  async_steps = run.async_steps();
  PX_RETURN_IF_ERROR(run.start(inputs, place));
  {
    WorkerPool::Stay stay(pool, program.threads, options.deadline);
    if (!stay.entered()) return tl::unexpected(ended(options.deadline));
    const std::stop_callback cancel(options.deadline.stop, [&run]() noexcept { run.cancel(); });
    PX_RETURN_IF_ERROR(run.run_branches(stay.participant()));
  }
  PX_RETURN_IF_ERROR(run.finish());
  if (options.trace != nullptr) run.write_trace(*options.trace);
  return {};
}

}  // namespace

Status execute(const Program& program, std::span<const std::byte* const> inputs,
               const PlaceOutput& place, WorkerPool& pool, RunMemory::Lease& lease,
               const ExecuteOptions& options) {
  PX_RETURN_IF_ERROR(check_known_trips(program.compiled(), options.max_loop_trips));
  std::shared_ptr<AsyncSteps> async_steps;
  Status status = execute_within(program, inputs, place, pool, lease, options, async_steps);
  // The run itself has returned its bytes to the lease.
  if (async_steps == nullptr) return status;
  if (options.late != nullptr) *options.late = async_steps->is_late();
  async_steps->keep(lease, options.lease_owner);
  return status;
}

}  // namespace parallax
