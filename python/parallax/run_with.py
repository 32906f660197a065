"""Runs a Python program with Parallax in the place of ONNX Runtime and of TFLite's interpreters.

    python -m parallax.run_with PROGRAM.py [ARGUMENT...]
    python -m parallax.run_with -m MODULE [ARGUMENT...]

The program is not changed: its imports of onnxruntime, tflite_runtime and ai_edge_litert get parallax.onnxruntime and parallax.tflite.
"""
import functools
import importlib.machinery
import os
import runpy
import sys
import types
import typing

_RUNTIME, _CAPI = "onnxruntime", "onnxruntime.capi"


def _exports(module: types.ModuleType) -> dict[str, typing.Any]:
    return {name: getattr(module, name) for name in module.__all__}


def _module(name: str, **members: typing.Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    return module


def _make_runtime() -> dict[str, types.ModuleType]:
    from . import _ort_errors, onnxruntime
    runtime = _exports(onnxruntime)
    state = _module(_CAPI + ".onnxruntime_pybind11_state", **runtime, **_exports(_ort_errors))
    inference = _module(_CAPI + ".onnxruntime_inference_collection", **runtime)
    capi = _module(_CAPI, onnxruntime_pybind11_state=state, _pybind_state=state, onnxruntime_inference_collection=inference)
    package = _module(_RUNTIME, **runtime, capi=capi)
    return {_CAPI + "._pybind_state": state} | {module.__name__: module for module in (package, capi, state, inference)}


def _make_interpreter(package: str) -> dict[str, types.ModuleType]:
    from . import tflite
    interpreter = _module(package + ".interpreter", **_exports(tflite))
    return {package: _module(package, interpreter=interpreter), interpreter.__name__: interpreter}


_PACKAGES: dict[str, typing.Callable[[], dict[str, types.ModuleType]]] = {
    _RUNTIME: _make_runtime,
    **{name: functools.partial(_make_interpreter, name) for name in ("tflite_runtime", "ai_edge_litert")},
}  # package -> a function that makes its modules, by their full names


class _Finder:
    """Gives `import` the modules of _PACKAGES. They are made when their package is first imported: a program seldom needs all of them."""

    def __init__(self) -> None:
        self._modules: dict[str, types.ModuleType] = {}
        self._made: set[str] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        del path, target
        package = name.partition(".")[0]
        if package in _PACKAGES and package not in self._made:
            self._modules |= _PACKAGES[package]()
            self._made.add(package)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name in self._modules else None  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """It is complete."""


def install() -> None:
    """Makes the imports that follow, in the whole program, get Parallax."""
    sys.meta_path.insert(0, _Finder())


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
