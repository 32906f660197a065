#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "errors.h"
#include "handles.h"
#include "values.h"

namespace parallax::python {
namespace {

constexpr const char* kStateDoc = R"(The values of inputs that are the outputs of the run before.

Use one for each stream: session.run(..., state=state) reads its values and, if it succeeds, replaces
them. A run that fails leaves it unchanged.
session: a session of the model.
ties: pairs (input, output) in addition to those that the model itself has (Model.ties).

    >>> session = parallax.Session(sums)  # z = x + y
    >>> state = parallax.State(session, [("x", "z")])
    >>> state.set("x", numpy.array([10], numpy.float32))
    >>> [session.run({"y": [2]}, ["z"], state=state)["z"].item() for _ in range(3)]
    [12.0, 14.0, 16.0]

Errors: InvalidInputError for names and types that do not fit, and if there is nothing to tie;
UnsupportedError for tensors of strings, sequences, optionals and maps. Runs on one State wait for
each other.)";

void init_state(StateHandle* self, const SessionHandle& session,
                const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<Tie> ties;
  for (const auto& [input, output] : pairs) ties.push_back({input, output});
  State state = value_or_raise(State::create(session.session, ties));
  ties.insert(ties.end(), session.model.model.ties().begin(), session.model.model.ties().end());
  new (self) StateHandle{std::move(state), std::move(ties), session.model.model};
}

void set_state(StateHandle& self, const std::string& input, nb::handle value) {
  DType dtype = DType::kF32;
  for (const TensorInfo& info : self.model.inputs())
    if (info.name == input) dtype = info.dtype;
  Inputs held;
  const TensorView view = view_of(value, dtype, held);
  auto status = [&] {
    const nb::gil_scoped_release released;
    return self.state.set(input, view);
  }();
  value_or_raise(std::move(status));
}

StateHandle copy_state(const StateHandle& self) {
  return {value_or_raise(self.state.copy()), self.ties, self.model};
}

}  // namespace

void bind_state(nb::module_& module) {
  nb::class_<StateHandle>(module, "State", kStateDoc)
      .def("__init__", init_state, nb::arg("session"),
           nb::arg("ties") = std::vector<std::pair<std::string, std::string>>())
      .def("set", set_state, nb::arg("input"), nb::arg("value"),
           "Copies an array as the value of a tied input in the next run. Waits for a run.\n\n"
           "Errors: InvalidInputError for an input that is not tied, another dtype or shape.")
      .def(
          "get",
          [](const StateHandle& self, const std::string& input) {
            return to_array(value_or_raise(self.state.get(input)));
          },
          nb::arg("input"),
          nb::sig("def get(self, input: str) -> numpy.typing.NDArray[typing.Any]"),
          "Returns a copy of the value that the next run reads, as an array.\n\n"
          "Errors: InvalidInputError for an input that is not tied or has no value yet.")
      .def(
          "reset", [](StateHandle& self) { self.state.reset(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Removes all values: the next run begins as the first did. Waits for a run.")
      .def("copy", copy_state, "Returns another State with copies of the values.")
      .def("__repr__", [](const StateHandle& self) {
        std::string text = "<parallax.State:";
        for (const Tie& tie : self.ties) text += " " + tie.output + " -> " + tie.input + ";";
        text.back() = '>';
        return text;
      });
}

}  // namespace parallax::python
