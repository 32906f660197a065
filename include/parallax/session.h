// Sessions run models. A session makes a plan for each combination of input sizes, and places
// activations in one arena per run; its threads are those of a runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
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

/// An input by name, in one of two forms. Its memory must live and stay unchanged until run()
/// returns; it is never written. A run reads it in place; it must be aligned to its element size.
/// Copy a strided tensor first: memory of other than the dense size is refused.
struct NamedInput {
  std::string_view name;  ///< as in Model::inputs()
  TensorView tensor = {};
  /// Used instead of `tensor` if the model's input is a sequence, an optional, a map or strings.
  Object object = {};
};

/// Options of one run.
struct RunOptions {
  /// Receives a record of each node if the run succeeds. Null: nothing is recorded.
  RunTrace* trace = nullptr;
  /// Cancels the run when request_stop() is called on the std::stop_source of this token. The run
  /// ends with kCancelled: between two tiles, while it waits for its turn or for memory, or after
  /// planning; the next run reuses that plan. Output contents are unspecified in that case.
  std::stop_token stop = {};
  /// The values of inputs that are tied to outputs (parallax/state.h), which a successful run
  /// replaces. A tied input need not be given; one that is given is used instead of its value. The
  /// run waits until no other run uses the State. Null: for a model that keeps state itself
  /// (Model::ties()) a State of the session's own, for any other model nothing is tied.
  State* state = nullptr;
  /// Returns tied outputs as well, as copies. If false, an empty Tensor or Object takes their
  /// place. run_into() with views ignores this and writes the tied outputs whose view has memory.
  bool tied_outputs = false;
};

/// A model with options, ready to run. Thread-safe: run() may be called by several threads
/// concurrently; each call has an arena of its own. Movable; a session that was moved from may only
/// be destroyed or assigned to. It keeps its model and runtime alive.
///
/// A child of fork() may use and destroy the models and sessions of its parent, as in servers that
/// load before they fork. Both share pages until one of them writes, and a runtime starts threads
/// of its own at the child's first run. If another thread of the parent was in a call of Parallax
/// during the fork, its locks stay held in the child: there functions of Model, Runtime, Session
/// and State that return a Result or Status, and inspect_file(), fail with kUnsupported, others
/// change nothing, and destructors free nothing.
class Session {
 public:
  /// Creates a session on the runtime that the model was loaded with. Errors: kInvalidInput for
  /// options out of range, a delegate that is named twice, and a pinned plan of another model or
  /// delegate; kUnsupported for a precision that this CPU does not support, and for a pinned plan
  /// with several delegates; kIo if the pinned plan cannot be read; kOutOfMemory; with
  /// require_full_delegation also the error of a delegate that does not open.
  static Result<Session> create(const Model& model, const SessionOptions& options = {});
  /// Creates it on `runtime` instead; the model's cache and packed weights stay those of the
  /// runtime that it was loaded with.
  static Result<Session> create(const Model& model, const SessionOptions& options,
                                const Runtime& runtime);
  /// Whether this CPU computes in that precision. kF32: always.
  static bool supports(Precision precision);
  /// Returns the widest instruction set that kernels use on this CPU: "AVX-512-BF16", "AVX-512",
  /// "AVX2", "SSE4", "NEON", ...
  static std::string instruction_set();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  /// Waits for runs that run_async() started.
  ~Session();

  /// Runs the model once and returns the outputs in the model's order, in memory of their own.
  /// Blocks until then, and computes on the calling thread as well. `inputs` names each input of
  /// the model once, in any order. The first run with a combination of input shapes plans it; later
  /// ones reuse the plan. Errors: kInvalidInput for an unknown, missing or repeated input, a wrong
  /// dtype or shape, or a State of another model; kUnboundSymbol if the shapes leave a dimension
  /// open; kBudgetExceeded, also for an output that alone exceeds the budget; kOutOfRange for an
  /// index that a node computes; kOutOfMemory; kLimitExceeded; kCancelled; kUnsupported if an
  /// output is no tensor of numbers. The State of a run that fails is unchanged.
  Result<std::vector<Tensor>> run(std::span<const NamedInput> inputs,
                                  const RunOptions& options = {});
  /// Runs the model like run(), also if outputs are sequences, optionals, maps or strings; tensors
  /// are returned as objects too. The memory budget counts objects while the run lasts.
  Result<std::vector<Object>> run_objects(std::span<const NamedInput> inputs,
                                          const RunOptions& options = {});
  /// Runs the model like run(), writing outputs in place into the caller's memory: one view per
  /// model output, in the model's order, aligned to its element size. Output contents are
  /// unspecified if the run fails. Errors: as run(); kInvalidInput also for another number of
  /// views, for a view without memory, for a dtype or dims that are not the output's, and for
  /// memory that overlaps that of an input or another output.
  Status run_into(std::span<const NamedInput> inputs, std::span<const MutableTensorView> outputs,
                  const RunOptions& options = {});
  /// Returns the memory for output number `output`, a dense tensor of these dims: exactly
  /// bytes_of(dtype, dims) bytes, aligned to the element size, which overlap no input and no other
  /// output; without elements it may be empty. It must live until run_into() returns.
  using OutputAllocator =
      std::function<Result<std::span<std::byte>>(int output, DType dtype, const Dims& dims)>;
  /// Runs the model like run(), writing outputs into memory that `allocate` returns. It is called
  /// on the calling thread, once for each output before that is written: before the run if the
  /// input sizes determine the output's, otherwise after the last node. If a run starts again, as
  /// after a delegate's time limit, an output whose dims differ is requested again. A tied output
  /// is requested if `options.tied_outputs` is set. `allocate` must neither fork nor use the
  /// session or the State of the run. Output contents are unspecified if the run fails. Errors: as
  /// run(), except that outputs do not count in the budget; those of `allocate`; kInvalidInput also
  /// for an empty `allocate`, and for memory of another size, without alignment, or that overlaps;
  /// kOutOfMemory or kInternal if it throws.
  Status run_into(std::span<const NamedInput> inputs, const OutputAllocator& allocate,
                  const RunOptions& options = {});
  /// Receives the outputs of a run, or its error. Called once, on a thread of the runtime: it must
  /// neither throw, nor fork, nor wait for other runs, nor destroy the session.
  using Done = std::function<void(Result<std::vector<Tensor>>)>;
  /// Queues a run and returns. Runs begin in the order of these calls, across all sessions of the
  /// runtime, as threads become free; the time limit counts from the call. A run that is cancelled
  /// before it begins ends when its turn comes. The memory of inputs and their names, and what
  /// `options` points to, must live until `done` is called. Errors: kOutOfMemory if there is no
  /// thread or memory for the run, kInvalidInput if `done` is empty; then `done` is not called. All
  /// other errors, those of run(), are passed to `done`.
  Status run_async(std::vector<NamedInput> inputs, Done done, const RunOptions& options = {});
  /// Queues a run as above, for callers that wait on a future. Its get() throws std::future_error
  /// if a user-provided pool destroys the task.
  Result<std::future<Result<std::vector<Tensor>>>> run_async(std::vector<NamedInput> inputs,
                                                             const RunOptions& options = {});

  /// Returns the concrete shapes of the inputs under `dims`, in the order of Model::inputs(), for
  /// callers that generate inputs. `dims` gives a value to each of the model's symbols, once.
  /// Errors: kUnboundSymbol for a symbol without a value; kInvalidInput for an unknown or repeated
  /// name or a negative value.
  Result<std::vector<Dims>> input_dims(std::span<const DimValue> dims) const;
  /// Returns the concrete shapes of the outputs under `dims`, in the order of Model::outputs(), for
  /// callers that allocate outputs. nullopt: only a run determines the shape, or the output is a
  /// sequence, an optional or a map. Errors: as input_dims(); kInvalidInput also for sizes that
  /// some output cannot have.
  Result<std::vector<std::optional<Dims>>> output_dims(std::span<const DimValue> dims) const;

  /// The most threads of one run, its caller's included.
  int threads() const;
  /// Returns the state of the delegates that the options name, in the order of the options.
  std::vector<DelegateReport> delegates() const;
  /// Makes the next runs retry everything that delegates have refused or failed at. Thread-safe,
  /// also while sessions run.
  void retry_delegates();
  /// Returns unused memory to the system: blocks kept for later runs, idle pieces of the device's
  /// own memory, plans other than the latest. Affects all sessions that share this one's account.
  /// Runs in progress keep their memory; later runs allocate again, and plan again sizes other than
  /// the latest. Thread-safe, also while sessions run.
  void trim();
  /// The peak of the bytes that arenas and scratch of this session, or of all that share its
  /// account, held together.
  std::int64_t peak_arena_bytes() const;

  struct Impl;

 private:
  friend struct Access;
  struct AsyncRun;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parallax
