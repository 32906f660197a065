// The compiled module of the Python package, parallax._native; parallax/__init__.py publishes it.
#include "handles.h"

NB_MODULE(_native, module) {
  // Objects that are alive when the interpreter ends are no message for a user.
  parallax::python::nb::set_leak_warnings(false);
  module.attr("version") = PARALLAX_VERSION;
  parallax::python::bind_runtime(module);
  parallax::python::bind_model(module);
  parallax::python::bind_report(module);
  parallax::python::bind_session(module);
  parallax::python::bind_state(module);
}
