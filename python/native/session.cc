#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <optional>

#include "arrays.h"
#include "choice.h"
#include "errors.h"
#include "handles.h"
#include "run.h"

namespace parallax::python {
namespace {

constexpr const char* kSessionDoc = R"(A model with options, ready to run.

model: a Model, or what Model() takes: a path or the bytes of a file.
scheduler: 'dataflow', 'layers' or 'sequential'; outputs are the same.
threads: the most threads of a run, the caller's included; 0: those of the runtime.
budget: bytes for activations and scratch; 'auto': a share of the free memory; None: no limit.
kernels: 'best' or 'reference'. precision: 'f32' or 'bf16'.
admission: 'time_saved' or 'paper'. refinement: 'time', 'paper' or 'none'.
max_loop_trips: trips that the Loop and Scan nodes of one run may make together.
time_limit: seconds after which a run stops with LimitExceededError; 0: no limit.
delegates: names of delegates that run parts of the model, 'NAME' or 'NAME:TEXT'.
offload: 'profitable' or 'all'. rates: 'measured' or 'declared'. co_execution, pinned_plan,
delegate_time_limit (seconds), delegate_memory_bytes, require_full_delegation: as in C++
(parallax/options.h).
runtime: the threads; None: the model's runtime.

    >>> session = parallax.Session("models/digits/digits.onnx", threads=2, budget=16 << 20)
    >>> session.output_shapes({"batch": 3})
    [(3, 10)]

Errors: InvalidInputError, UnsupportedError, FileError, OutOfMemoryError. Any number of threads may
use a session concurrently, each run has memory of its own.)";

constexpr const char* kRunDoc = R"(Runs the model once.

inputs: {name: value}; one value if the model has one input, unless that is a map. A value is a NumPy array, an object with
__dlpack__ or the buffer protocol, a number or a list. Dense, aligned arrays of the input's type are
read in place, other layouts are copied; the type is never converted, except that of numbers and
lists. Nothing may write to the arrays until the run ends. Strings are arrays or lists of str;
sequences lists, maps dicts, an absent optional None.
outputs: names of the outputs to return; None: all but tied ones.
state: values of tied inputs (State). stop: cancels the run (StopSource).

Returns {name: array}. Each array owns its memory; numbers of a byte or more are not copied. Types
that NumPy lacks are those of ml_dtypes; without ml_dtypes arrays of their bits (16 and 8 bits) or of
int8, uint8 and float32 (less). If the model has outputs of strings, sequences, optionals or maps,
arrays are read-only.

    >>> session = parallax.Session("models/digits/digits.onnx")
    >>> outputs = session.run({"image": numpy.zeros((3, 1, 8, 8), numpy.float32)})
    >>> outputs["logits"].shape
    (3, 10)

Errors: InvalidInputError for a wrong name, dtype or shape; UnboundSymbolError, BudgetExceededError,
OutOfRangeError, OutOfMemoryError, LimitExceededError, CancelledError. Thread-safe; other threads of
Python run meanwhile.)";

constexpr const char* kRunAsyncDoc = R"(Runs the model once while the event loop of asyncio goes on.

inputs, outputs, state, result and errors are those of run(). A thread computes; the loop has as many
for this as there are CPUs, and four more. If the awaiting task is cancelled, also by
asyncio.timeout() or asyncio.wait_for(), the run is stopped; asyncio.CancelledError is raised after
it has ended. Nothing may write to the arrays before the await returns or raises.

    >>> import asyncio
    >>> session = parallax.Session("models/digits/digits.onnx")
    >>> images = numpy.zeros((3, 1, 8, 8), numpy.float32)
    >>> asyncio.run(session.run_async({"image": images}))["logits"].shape
    (3, 10)

Any number of tasks may await runs of one session, in any number of loops.)";

constexpr const char* kStopDoc = R"(Cancels the runs that were given it as `stop`.

    >>> stop = parallax.StopSource()
    >>> stop.request_stop()  # any thread may do so
    >>> image = numpy.zeros((1, 1, 8, 8), numpy.float32)
    >>> parallax.Session("models/digits/digits.onnx").run(image, stop=stop)
    Traceback (most recent call last):
    parallax.CancelledError: ...)";

/// The words that an option may be are part of its type.
constexpr const char* kSessionSignature =
    "def __init__(self, model: Model | str | os.PathLike[str] | typing_extensions.Buffer, *, "
    "scheduler: typing.Literal['dataflow', 'layers', 'sequential'] = 'dataflow', threads: int = 0, "
    "budget: int | typing.Literal['auto'] | None = None, "
    "kernels: typing.Literal['best', 'reference'] = 'best', "
    "precision: typing.Literal['f32', 'bf16'] = 'f32', "
    "admission: typing.Literal['time_saved', 'paper'] = 'time_saved', "
    "refinement: typing.Literal['time', 'paper', 'none'] = 'time', "
    "max_loop_trips: int = 1000000, time_limit: float = 0.0, "
    "delegates: collections.abc.Sequence[str] = [], "
    "offload: typing.Literal['profitable', 'all'] = 'profitable', "
    "rates: typing.Literal['measured', 'declared'] = 'measured', co_execution: bool = False, "
    "pinned_plan: str | os.PathLike[str] = '', delegate_time_limit: float = 10.0, "
    "delegate_memory_bytes: int = 0, require_full_delegation: bool = False, "
    "runtime: Runtime | None = None) -> None";

constexpr const char* kRunSignature =
    "def run(self, inputs: object, outputs: list[str] | tuple[str, ...] | None = None, *, "
    "state: State | None = None, stop: StopSource | None = None) -> dict[str, typing.Any]";

constexpr const char* kRunAsyncSignature =
    "def run_async(self, inputs: object, outputs: list[str] | tuple[str, ...] | None = None, *, "
    "state: State | None = None) -> "
    "collections.abc.Coroutine[typing.Any, typing.Any, dict[str, typing.Any]]";

nb::object run_async(nb::handle self, nb::handle inputs, nb::handle outputs, nb::handle state) {
  return nb::module_::import_("parallax._async").attr("run")(self, inputs, outputs, state);
}

MemoryBudget budget_of(nb::handle value) {
  if (value.is_none()) return MemoryBudget::none();
  std::int64_t bytes = 0;
  if (nb::try_cast(value, bytes)) return MemoryBudget::of_bytes(bytes);
  if (nb::isinstance<nb::str>(value) && nb::cast<std::string>(value) == "auto")
    return MemoryBudget::automatic();
  raise_invalid("budget is neither None, 'auto' nor a number of bytes");
}

/// Returns the values of free dimensions as the library takes them.
std::vector<DimValue> dim_values(const std::map<std::string, std::int64_t>& dims) {
  std::vector<DimValue> values;
  for (const auto& [name, value] : dims) values.push_back({name, value});
  return values;
}

nb::list input_shapes(const SessionHandle& self, const std::map<std::string, std::int64_t>& dims) {
  nb::list shapes;
  for (const Dims& shape : value_or_raise(self.session.input_dims(dim_values(dims))))
    shapes.append(dims_to_tuple(shape));
  return shapes;
}

nb::list output_shapes(const SessionHandle& self, const std::map<std::string, std::int64_t>& dims) {
  nb::list shapes;
  for (const auto& shape : value_or_raise(self.session.output_dims(dim_values(dims))))
    shapes.append(shape ? nb::object(dims_to_tuple(*shape)) : nb::none());
  return shapes;
}

SessionHandle make_session(ModelHandle model, const SessionOptions& options, const Runtime* runtime,
                           std::string scheduler, std::string budget) {
  auto session = [&] {
    const nb::gil_scoped_release released;
    return runtime == nullptr ? Session::create(model.model, options)
                              : Session::create(model.model, options, *runtime);
  }();
  SessionHandle handle{std::move(model), value_or_raise(std::move(session)), std::move(scheduler),
                       std::move(budget), true};
  const auto plain = [](const TensorInfo& info) {
    return info.containers.empty() && info.dtype != DType::kString;
  };
  handle.plain = std::ranges::all_of(handle.model.model.outputs(), plain);
  return handle;
}

void init_session(SessionHandle* self, nb::handle model, const std::string& scheduler, int threads,
                  nb::handle budget, const std::string& kernels, const std::string& precision,
                  const std::string& admission, const std::string& refinement,
                  std::int64_t max_loop_trips, double time_limit,
                  std::vector<std::string> delegates, const std::string& offload,
                  const std::string& rates, bool co_execution, std::filesystem::path pinned_plan,
                  double delegate_time_limit, std::int64_t delegate_memory_bytes,
                  bool require_full_delegation, const Runtime* runtime) {
  SessionOptions options;
  options.scheduler = choose<Scheduler>("scheduler", scheduler,
                                        {{"dataflow", Scheduler::kDataflow},
                                         {"layers", Scheduler::kLayers},
                                         {"sequential", Scheduler::kSequential}});
  options.threads = threads;
  options.budget = budget_of(budget);
  options.kernels = choose<Kernels>("kernels", kernels,
                                    {{"best", Kernels::kBest}, {"reference", Kernels::kReference}});
  options.precision = choose<Precision>("precision", precision,
                                        {{"f32", Precision::kF32}, {"bf16", Precision::kBf16}});
  options.admission =
      choose<Admission>("admission", admission,
                        {{"time_saved", Admission::kTimeSaved}, {"paper", Admission::kPaper}});
  options.refinement = choose<Refinement>(
      "refinement", refinement,
      {{"time", Refinement::kTime}, {"paper", Refinement::kPaper}, {"none", Refinement::kNone}});
  options.max_loop_trips = max_loop_trips;
  options.time_limit_ms = time_limit * 1000;
  options.delegates = std::move(delegates);
  options.offload = choose<Offload>("offload", offload,
                                    {{"profitable", Offload::kProfitable}, {"all", Offload::kAll}});
  options.rates = choose<Rates>("rates", rates,
                                {{"measured", Rates::kMeasured}, {"declared", Rates::kDeclared}});
  options.co_execution = co_execution;
  options.pinned_plan = std::move(pinned_plan);
  options.delegate_time_limit_ms = delegate_time_limit * 1000;
  options.delegate_memory_bytes = delegate_memory_bytes;
  options.require_full_delegation = require_full_delegation;
  ModelHandle loaded = nb::isinstance<ModelHandle>(model) ? nb::cast<const ModelHandle&>(model)
                                                          : load_model(model, {}, runtime, {});
  new (self) SessionHandle(make_session(std::move(loaded), options, runtime, scheduler,
                                        nb::cast<std::string>(nb::str(budget))));
}

std::string session_text(const SessionHandle& self) {
  return "<parallax.Session of " + self.model.name + ": scheduler " + self.scheduler +
         ", threads " + std::to_string(self.session.threads()) + ", budget " + self.budget +
         ", peak " + format_bytes(self.session.peak_arena_bytes()) + ">";
}

void bind_reports(nb::class_<SessionHandle>& session) {
  using Sizes = std::map<std::string, std::int64_t>;
  session
      .def("input_shapes", input_shapes, nb::arg("dims") = Sizes(),
           nb::sig("def input_shapes(self, dims: collections.abc.Mapping[str, int] = {}) -> "
                   "list[tuple[int, ...]]"),
           "Returns the shapes of Model.inputs for values of the model's symbols, "
           "{'batch': 4}.\n\nErrors: UnboundSymbolError, InvalidInputError.")
      .def("output_shapes", output_shapes, nb::arg("dims") = Sizes(),
           nb::sig("def output_shapes(self, dims: collections.abc.Mapping[str, int] = {}) -> "
                   "list[tuple[int, ...] | None]"),
           "Returns the shapes of Model.outputs, None where only a run determines it.\n\n"
           "Errors: UnboundSymbolError, InvalidInputError.")
      .def_prop_ro("model", [](const SessionHandle& self) { return self.model; })
      .def_prop_ro(
          "threads", [](const SessionHandle& self) { return self.session.threads(); },
          "The most threads of one run, its caller's included.")
      .def_prop_ro(
          "peak_arena_bytes",
          [](const SessionHandle& self) { return self.session.peak_arena_bytes(); },
          "The most bytes that activations and scratch held together.")
      .def(
          "delegates", [](const SessionHandle& self) { return self.session.delegates(); },
          nb::call_guard<nb::gil_scoped_release>(), "Returns the state of each delegate.")
      .def(
          "retry_delegates", [](SessionHandle& self) { self.session.retry_delegates(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Makes the next runs retry what delegates refused or failed at. Thread-safe.")
      .def(
          "trim", [](SessionHandle& self) { self.session.trim(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Returns unused memory to the system; later runs allocate again. Thread-safe.")
      .def("__repr__", session_text);
}

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<StopHandle>(module, "StopSource", kStopDoc)
      .def(nb::init<>())
      .def(
          "request_stop", [](StopHandle& self) { self.source.request_stop(); },
          "Ends these runs, and all later ones, with CancelledError. Any thread may call it.")
      .def_prop_ro("stop_requested",
                   [](const StopHandle& self) { return self.source.stop_requested(); });
  nb::class_<SessionHandle> session(module, "Session", kSessionDoc);
  session
      .def("__init__", init_session, nb::arg("model"), nb::kw_only(),
           nb::arg("scheduler") = "dataflow", nb::arg("threads") = 0,
           nb::arg("budget").none() = nb::none(), nb::arg("kernels") = "best",
           nb::arg("precision") = "f32", nb::arg("admission") = "time_saved",
           nb::arg("refinement") = "time", nb::arg("max_loop_trips") = kDefaultLoopTrips,
           nb::arg("time_limit") = 0.0, nb::arg("delegates") = std::vector<std::string>(),
           nb::arg("offload") = "profitable", nb::arg("rates") = "measured",
           nb::arg("co_execution") = false, nb::arg("pinned_plan") = "",
           nb::arg("delegate_time_limit") = 10.0, nb::arg("delegate_memory_bytes") = 0,
           nb::arg("require_full_delegation") = false, nb::arg("runtime").none() = nb::none(),
           nb::sig(kSessionSignature))
      .def("run", run_session, nb::arg("inputs"), nb::arg("outputs").none() = nb::none(),
           nb::kw_only(), nb::arg("state").none() = nb::none(), nb::arg("stop").none() = nb::none(),
           nb::sig(kRunSignature), kRunDoc)
      .def("run_async", run_async, nb::arg("inputs"), nb::arg("outputs").none() = nb::none(),
           nb::kw_only(), nb::arg("state").none() = nb::none(), nb::sig(kRunAsyncSignature),
           kRunAsyncDoc);
  bind_reports(session);
}

}  // namespace parallax::python
