#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "handles.h"

namespace parallax::python {
namespace {

constexpr const char* kRuntimeDoc = R"(Threads, memory and cache that models and sessions share.

Models and sessions that are made without one share a runtime with these defaults.
threads: threads that compute concurrently, callers of run() included; 0: the CPUs that this process
may use.
cache: a folder that keeps packed weights and the graph for the next process; '': no cache. A user
who can write to the folder can change what models compute.
delegate_libraries: shared objects with delegates. They are code of this process.
shared_budget: whether the budgets of all sessions of the runtime count the bytes of all of them.
large_pages: whether to use pages of 2 MiB.
prefault: whether to have memory for weights ready before the first run.

    >>> runtime = parallax.Runtime(threads=1)
    >>> session = parallax.Session("models/digits/digits.onnx", runtime=runtime)

Errors: InvalidInputError, OutOfMemoryError. Any threads may use it.)";

void init_runtime(Runtime* self, int threads, std::filesystem::path cache,
                  std::vector<std::filesystem::path> delegate_libraries, bool shared_budget,
                  bool large_pages, bool prefault) {
  RuntimeOptions options;
  options.threads = threads;
  options.cache = std::move(cache);
  options.delegate_libraries = std::move(delegate_libraries);
  options.pages = {.large = large_pages, .prefault = prefault};
  if (shared_budget) options.account = value_or_raise(make_memory_account());
  new (self) Runtime(value_or_raise(Runtime::create(options)));
}

constexpr const char* kRuntimeSignature =
    "def __init__(self, *, threads: int = 0, cache: str | os.PathLike[str] = '', "
    "delegate_libraries: collections.abc.Sequence[str | os.PathLike[str]] = [], "
    "shared_budget: bool = False, large_pages: bool = True, prefault: bool = True) -> None";

void bind_delegate_report(nb::module_& module) {
  nb::class_<DelegateReport>(module, "DelegateReport", "A device and the state of its delegate.")
      .def_ro("name", &DelegateReport::name)
      .def_ro("device", &DelegateReport::device)
      .def_ro("driver", &DelegateReport::driver)
      .def_ro("memory_bytes", &DelegateReport::memory_bytes)
      .def_ro("held_bytes", &DelegateReport::held_bytes)
      .def_ro("peak_bytes", &DelegateReport::peak_bytes)
      .def_ro("operators", &DelegateReport::operators)
      .def_ro("problem", &DelegateReport::problem, "Why it did not open; '': it is open.")
      .def_prop_ro(
          "failures",
          [](const DelegateReport& self) {
            std::vector<std::pair<std::string, std::string>> failures;
            for (const auto& failure : self.failures)
              failures.emplace_back(failure.node, failure.reason);
            return failures;
          },
          "Pairs (first node, reason) of the regions that it does not run.")
      .def("__repr__", [](const DelegateReport& self) {
        return "<parallax.DelegateReport " + self.name + ": " +
               (self.problem.empty() ? self.device : self.problem) + ">";
      });
}

}  // namespace

void bind_runtime(nb::module_& module) {
  bind_delegate_report(module);
  nb::class_<Runtime>(module, "Runtime", kRuntimeDoc)
      .def("__init__", init_runtime, nb::kw_only(), nb::arg("threads") = 0, nb::arg("cache") = "",
           nb::arg("delegate_libraries") = std::vector<std::filesystem::path>(),
           nb::arg("shared_budget") = false, nb::arg("large_pages") = true,
           nb::arg("prefault") = true, nb::sig(kRuntimeSignature))
      .def_prop_ro("threads", &Runtime::threads, "The most threads of one run.")
      .def("delegates", &Runtime::delegates, nb::call_guard<nb::gil_scoped_release>(),
           "Opens all delegates and describes them. Slow the first time.")
      .def("trim", &Runtime::trim, nb::call_guard<nb::gil_scoped_release>(),
           "Returns unused memory of all sessions of the runtime to the system.")
      .def_static("built_in_delegates", &Runtime::built_in_delegates,
                  "Names of the delegates that this build contains.")
      .def("__repr__", [](const Runtime& self) {
        return "<parallax.Runtime: " + std::to_string(self.threads()) + " threads>";
      });
}

}  // namespace parallax::python
