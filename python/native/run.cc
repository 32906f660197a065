#include "run.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "arrays.h"
#include "errors.h"
#include "values.h"

namespace parallax::python {
namespace {

const std::vector<Tie>& ties_of(const SessionHandle& self, const StateHandle* state) {
  return state == nullptr ? self.model.model.ties() : state->ties;
}

/// Adds the one input of a model that has one, tied inputs excluded.
void add_only_input(const SessionHandle& self, const StateHandle* state, nb::handle value,
                    Inputs& inputs) {
  const TensorInfo* only = nullptr;
  std::string names;
  for (const TensorInfo& info : self.model.model.inputs()) {
    if (std::ranges::count(ties_of(self, state), info.name, &Tie::input) != 0) continue;
    names += (names.empty() ? "'" : ", '") + info.name + "'";
    only = only == nullptr ? &info : nullptr;
  }
  if (only == nullptr || names.find("', '") != std::string::npos)
    raise_invalid("the model has several inputs or none: give a dict with " +
                  (names.empty() ? "nothing" : names));
  add_input(*only, value, inputs);
}

void add_named_inputs(const SessionHandle& self, nb::handle values, Inputs& inputs) {
  // A copy holds what the caller's other threads may remove.
  const auto entries = nb::steal<nb::dict>(PyDict_Copy(values.ptr()));
  for (const auto& [key, value] : entries) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
    if (text == nullptr) throw nb::python_error();
    const std::string_view name(text, static_cast<std::size_t>(size));
    const auto info = std::ranges::find(self.model.model.inputs(), name, &TensorInfo::name);
    if (info != self.model.model.inputs().end()) {
      add_input(*info, value, inputs);
    } else {
      // The library refuses the name, and says which there are.
      inputs.names.push_back(nb::borrow(key));
      inputs.named.emplace_back().name = name;
    }
  }
}

/// Returns the numbers of the outputs that the caller wants, in the order of the result.
std::vector<std::size_t> wanted_outputs(const SessionHandle& self, const StateHandle* state,
                                        nb::handle names) {
  std::vector<std::size_t> wanted;
  const std::vector<TensorInfo>& outputs = self.model.model.outputs();
  if (!names.is_none()) {
    if (nb::isinstance<nb::str>(names)) raise_invalid("outputs must be a list of names");
    for (const nb::handle item : names) {
      std::string name;
      if (!nb::try_cast(item, name)) raise_invalid("outputs must be a list of names");
      const auto found = std::ranges::find(outputs, name, &TensorInfo::name);
      if (found == outputs.end()) raise_invalid("the model has no output '" + name + "'");
      wanted.push_back(static_cast<std::size_t>(found - outputs.begin()));
    }
    return wanted;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (std::ranges::count(ties_of(self, state), outputs[i].name, &Tie::output) == 0)
      wanted.push_back(i);
  return wanted;
}

/// Runs without the GIL, and passes each wanted output to `convert`.
template <class Run, class Convert>
nb::dict collect(const SessionHandle& self, const std::vector<std::size_t>& wanted, Run run,
                 Convert convert) {
  auto outputs = [&] {
    const nb::gil_scoped_release released;
    return run();
  }();
  if (!outputs) raise(outputs.error());
  nb::dict result;
  for (const std::size_t i : wanted)
    result[self.model.model.outputs()[i].name.c_str()] = convert(std::move((*outputs)[i]));
  return result;
}

}  // namespace

nb::dict run_session(SessionHandle& self, nb::handle inputs, nb::handle outputs, StateHandle* state,
                     StopHandle* stop) {
  Inputs given;
  if (nb::isinstance<nb::dict>(inputs))
    add_named_inputs(self, inputs, given);
  else
    add_only_input(self, state, inputs, given);
  const std::vector<std::size_t> wanted = wanted_outputs(self, state, outputs);
  RunOptions options;
  if (stop != nullptr) options.stop = stop->source.get_token();
  if (state != nullptr) options.state = &state->state;
  options.tied_outputs = !outputs.is_none();
  if (self.plain)
    return collect(
        self, wanted, [&] { return self.session.run(given.named, options); }, to_array);
  return collect(
      self, wanted, [&] { return self.session.run_objects(given.named, options); },
      [](const Object& object) { return to_python(object); });
}

}  // namespace parallax::python
