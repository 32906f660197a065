"""Runs a Python program with Parallax in the place of ONNX Runtime and of TFLite's interpreters.

    python -m parallax.run_with PROGRAM.py [ARGUMENT...]
    python -m parallax.run_with -m MODULE [ARGUMENT...]

The program is not changed: its imports of onnxruntime, tflite_runtime and ai_edge_litert get parallax.onnxruntime and parallax.tflite.
"""
import importlib.machinery
import os
import runpy
import sys
import types
import typing

from . import _ort_errors, onnxruntime, tflite


def _package(name: str, **members: typing.Any) -> types.ModuleType:
    """A module that `import` takes for an installed one."""
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    module.__dict__.update(members)
    return module


def _exports(module: types.ModuleType) -> dict[str, typing.Any]:
    return {name: getattr(module, name) for name in module.__all__}


def _modules() -> dict[str, types.ModuleType]:
    runtime, names = _exports(onnxruntime), "onnxruntime.capi"
    state = _package(names + ".onnxruntime_pybind11_state", **runtime, **_exports(_ort_errors))
    inference = _package(names + ".onnxruntime_inference_collection", **runtime)
    capi = _package(names, onnxruntime_pybind11_state=state, _pybind_state=state, onnxruntime_inference_collection=inference)
    modules = {names + "._pybind_state": state, "onnxruntime": _package("onnxruntime", **runtime, capi=capi)}
    for package in ("tflite_runtime", "ai_edge_litert"):
        interpreter = _package(package + ".interpreter", **_exports(tflite))
        modules |= {package: _package(package, interpreter=interpreter), interpreter.__name__: interpreter}
    return modules | {module.__name__: module for module in (state, inference, capi)}


def install() -> None:
    """Makes the imports that follow, in the whole program, get Parallax."""
    sys.modules.update(_modules())


def _run(arguments: list[str]) -> None:
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


# CPython has frames in blocks of 16 KiB, maps one when a call needs it, and unmaps it at the return: a loop that calls across such an end
# pays two system calls and a page fault each time, and the frames below a program move its ends to other loops. A frame of 128 KiB, whose
# pages are touched only if a call uses them, gets a block of 256 KiB: the program's calls have the rest.
_run.__code__ = _run.__code__.replace(co_stacksize=1 << 14)


def main() -> None:
    """Runs the program that the command line names."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        sys.exit(__doc__)
    install()
    _run(arguments)


if __name__ == "__main__":
    main()
