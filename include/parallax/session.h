// Runs a model: plans per binding of the dynamic dimensions, an arena, the threads of a runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/model.h"
#include "parallax/object.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "parallax/runtime.h"
#include "parallax/tensor.h"

namespace parallax {

class State;

/// An input by name. The view's memory must live until run() returns and is never written. A run
/// reads it in place, wherever it lies, aligned to its element size. A strided tensor is the
/// caller's to copy: memory of other than the dense size is refused.
struct NamedInput {
  std::string_view name;
  TensorView tensor = {};
  /// In place of `tensor` where the model wants a sequence, an optional, a map or strings.
  Object object = {};
};

struct RunOptions {
  /// Gets what each node did. Null: nothing is recorded.
  RunTrace* trace = nullptr;
  /// A call of request_stop() on the std::stop_source behind it cancels the run, which ends with
  /// kCancelled: between two tiles, while it waits for its turn or for memory, or after planning,
  /// whose plan the next run finds. Its outputs hold anything then.
  std::stop_token stop = {};
  /// The values of inputs that are tied to outputs (parallax/state.h), which the run replaces. Such
  /// an input need not be given; one that is takes the place of its value. The run waits until no
  /// other uses the State. Null: nothing is tied.
  State* state = nullptr;
  /// Whether tied outputs are returned too, as copies. Otherwise their places hold an empty Tensor
  /// or Object. run_into() writes those whose view has memory, whatever this says.
  bool tied_outputs = false;
};

/// Thread-safe: run() may be called from several threads at once; each call has an arena of its
/// own.
///
/// A child of fork() may use and destroy the models and sessions of its parent, as servers do that
/// load before they fork. Both share pages until one of them writes, and a runtime starts threads
/// of its own at the child's first run. If another thread of the parent was in a call of Parallax
/// during the fork, its locks stay held in the child: there every call fails with kUnsupported, and
/// destructors do nothing.
class Session {
 public:
  /// On the runtime that the model was loaded with. Errors: kInvalidInput for options that make no
  /// sense, kUnsupported for a precision that this CPU does not have.
  static Result<Session> create(const Model& model, const SessionOptions& options = {});
  /// On that runtime instead; the model's cache and packed weights stay where it was loaded.
  static Result<Session> create(const Model& model, const SessionOptions& options,
                                const Runtime& runtime);
  /// Whether this CPU computes in that precision.
  static bool supports(Precision precision);
  /// The widest instruction set that kernels take on this CPU: "AVX-512-BF16", "AVX-512", "AVX2",
  /// "SSE4", "NEON", ...
  static std::string instruction_set();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs once; outputs in the model's order, in memory of their own. A new combination of input
  /// shapes is planned first and kept. Errors: kInvalidInput (unknown, missing or repeated input,
  /// wrong dtype or shape), kUnboundSymbol, kBudgetExceeded, kOutOfRange, kOutOfMemory,
  /// kLimitExceeded, kCancelled.
  Result<std::vector<Tensor>> run(std::span<const NamedInput> inputs,
                                  const RunOptions& options = {});
  /// The same for models whose outputs are sequences, optionals, maps or strings, which other
  /// functions refuse with kUnsupported. Tensors are objects too. The memory budget counts objects
  /// while the run lasts.
  Result<std::vector<Object>> run_objects(std::span<const NamedInput> inputs,
                                          const RunOptions& options = {});
  /// The same, writing into the caller's memory, in place: one view per model output, aligned to
  /// its element size. Errors: as run(), and kInvalidInput where a view has no memory, or a dtype
  /// or dims that are not the output's.
  Status run_into(std::span<const NamedInput> inputs, std::span<const MutableTensorView> outputs,
                  const RunOptions& options = {});
  /// Gets the outputs of a run, or why there are none. Called once, on a thread of the runtime: it
  /// must neither throw, nor fork, nor wait for other runs, nor destroy the session.
  using Done = std::function<void(Result<std::vector<Tensor>>)>;
  /// Starts a run and returns. Runs begin in the order of these calls, over all sessions of the
  /// runtime, as threads come free; the time limit counts from the call. A run that is cancelled
  /// before it begins ends when its turn comes. Inputs with their names, and what `options` points
  /// to, must live until `done` is called. The session's destructor waits for that. Errors, where
  /// `done` is not called: kOutOfMemory, and kInvalidInput for no `done`; others go to it.
  Status run_async(std::vector<NamedInput> inputs, Done done, const RunOptions& options = {});
  /// The same, for callers that wait on a future.
  Result<std::future<Result<std::vector<Tensor>>>> run_async(std::vector<NamedInput> inputs,
                                                             const RunOptions& options = {});

  /// Plans without running, with the session's delegate unless `options` have a profile. `dims`
  /// gives a value for each of the model's symbols. Errors: kUnboundSymbol, kInvalidInput,
  /// kBudgetExceeded; with a profile also kIo and kInvalidInput of its file, and where it has no
  /// delegate.
  struct DimValue {
    std::string name;
    std::int64_t value = 0;
  };
  Result<PlanReport> plan(std::span<const DimValue> dims, const PlanOptions& options = {});
  /// Replays that plan on the threads() fastest cores of the device profile in the file `profile`
  /// (`parallax calibrate` writes one of this machine; profiles/ has phones). The delegate of
  /// `options.profile` runs its regions beside these cores, in the time that the cost model says.
  /// Errors: as plan(); kIo and kInvalidInput of the file, and where it has fewer cores.
  Result<Prediction> predict(std::span<const DimValue> dims, const std::string& profile,
                             const PlanOptions& options = {});
  /// How many cores the device of a profile has. Errors: kIo, kInvalidInput.
  static Result<int> profile_cores(const std::string& profile);
  /// Concrete shapes of the inputs under `dims`, for callers that generate inputs.
  Result<std::vector<Dims>> input_dims(std::span<const DimValue> dims) const;

  int threads() const;
  /// What became of the delegates that the options name.
  std::vector<DelegateReport> delegates() const;
  /// Lets the next runs try again what delegates have refused or failed at. Thread-safe, also while
  /// sessions run.
  void retry_delegates();
  /// Returns memory that no run uses to the system: blocks kept for later runs, idle pieces of the
  /// device's own memory, plans other than the latest. Affects all sessions that share this one's
  /// account. Runs in progress keep theirs; later runs allocate, and plan sizes other than the
  /// latest, as first runs do. Thread-safe, also while sessions run.
  void trim();
  /// The most bytes that arenas and scratch of this session, or of all that share its account, ever
  /// held at once.
  std::int64_t peak_arena_bytes() const;
  /// Bytes of the plans that this session keeps, the latest one included: an estimate.
  std::int64_t plan_cache_bytes() const;
  PlanTimes plan_times() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }  ///< for the library itself

 private:
  struct AsyncRun;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parallax
