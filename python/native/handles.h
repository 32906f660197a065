// The C++ objects behind the classes of the Python package, and the functions that add those
// classes to the module.
//
// Threads: the members are set once; a call on them is as thread-safe as the C++ API's. Python's
// interpreter lock (GIL) is held wherever a Python object is touched, and released around loading
// and running.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <string>
#include <vector>

#include "parallax/parallax.h"

namespace parallax::python {

namespace nb = nanobind;

/// parallax.Model: the model and the name for its repr.
struct ModelHandle {
  Model model;
  std::string name;  ///< the path, or "N bytes"
};

/// parallax.Session.
struct SessionHandle {
  ModelHandle model;
  Session session;
  std::string scheduler, budget;  ///< as the caller gave them, for the repr
  /// Whether all inputs and outputs are tensors of numbers, which need no Object.
  bool plain = true;
};

/// parallax.State: the values, and the pairs that it ties, those of the model included.
struct StateHandle {
  State state;
  std::vector<Tie> ties;
  Model model;
};

/// parallax.StopSource: cancels the runs that were given it.
struct StopHandle {
  std::stop_source source;
};

/// Loads a model without the GIL. `file`: a path, or an object with the bytes, which the model
/// keeps. Raises the library's errors; TypeError for an object without bytes.
ModelHandle load_model(nb::handle file, const LoadOptions& options, const Runtime* runtime,
                       const std::filesystem::path& folder);

/// Returns numbers, symbols, and None for a free dimension without a name.
nb::tuple shape_tuple(const std::vector<Dimension>& shape);

void bind_model(nb::module_& module);
void bind_report(nb::module_& module);
void bind_runtime(nb::module_& module);
void bind_session(nb::module_& module);
void bind_state(nb::module_& module);

}  // namespace parallax::python
