"""The part of ONNX Runtime's interface that most programs use, over Parallax: `from parallax import onnxruntime as ort`.

InferenceSession, SessionOptions, RunOptions, IOBinding and OrtValue have the names and results of ONNX Runtime's. Options that only
change how ONNX Runtime works are accepted and have no effect; a warning names those that a user might miss. Other options are refused
by AttributeError. Errors are those of parallax.Error. Keywords that parallax.Session has, such as `budget`, may be given to
InferenceSession too.
"""
import enum
import os
import threading
import typing
import warnings

from . import Model, OutOfRangeError, Session, StopSource, __version__
from . import _ort_errors as capi_errors
from ._ort_nodes import NodeArg, node_args
from ._ort_values import IOBinding, OrtValue

__all__ = ["ExecutionMode", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "ModelMetadata", "NodeArg", "OrtValue",
           "RunOptions", "SessionIOBinding", "SessionOptions", "__version__", "capi_errors", "disable_telemetry_events",
           "enable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info", "get_device", "get_version_string",
           "preload_dlls", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed"]

_PROVIDERS = ["CPUExecutionProvider"]
_Provider: typing.TypeAlias = str | tuple[str, dict[str, typing.Any]]
SessionIOBinding = IOBinding


class _Choice(enum.IntEnum):
    """A number whose text is its name, as ONNX Runtime's have it."""

    __str__ = enum.Enum.__str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class GraphOptimizationLevel(_Choice):
    """Has no effect: the passes of Parallax leave outputs as they are."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Choice):
    """Has no effect: branches run in parallel where that is predicted to be faster."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Options:
    """Attributes are those that are listed; others are refused, so that a typing error is noticed."""

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}

    if not typing.TYPE_CHECKING:  # checkers notice it themselves

        def __setattr__(self, name, value):
            if not hasattr(type(self), name) and not name.startswith("_"):
                raise AttributeError(f"{type(self).__name__} has no attribute '{name}' here")
            super().__setattr__(name, value)
            if value and name in self._MISSED:
                warnings.warn(f"SessionOptions.{name} has no effect here: {self._MISSED[name]}", stacklevel=2)

    _MISSED: dict[str, str] = {}


class SessionOptions(_Options):
    """`intra_op_num_threads` is the number of threads, and free dimensions can be set; the other attributes have no effect."""

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    use_deterministic_compute: bool = False
    enable_profiling: bool = False
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    use_per_session_threads: bool = True
    _MISSED = {"enable_profiling": "no profile is written: `parallax bench --trace FILE` writes one", "optimized_model_filepath": "no file is written"}

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, int] = {}

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Makes the free dimension `name` the constant `size`."""
        self._sizes[name] = size

    def register_custom_ops_library(self, library_path: str) -> typing.NoReturn:
        """Refused: Parallax has no operators in libraries."""
        raise capi_errors.NotImplemented(f"operators of {library_path} cannot be loaded")

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Has no effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The value of that entry."""
        return self._entries[key]


class RunOptions(_Options):
    """`terminate` ends runs that were given these options, from any thread; the other attributes have no effect."""

    log_severity_level: int = 2
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False

    def __init__(self) -> None:
        super().__init__()
        self._stop = StopSource()

    @property
    def terminate(self) -> bool:
        """Whether runs are ended."""
        return self._stop.stop_requested

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self._stop.request_stop()
        else:
            self._stop = StopSource()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Has no effect."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """The value of that entry."""
        return self._entries[key]


class ModelMetadata(typing.NamedTuple):
    """Statements of the model's file about itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


def _load(path_or_bytes: str | os.PathLike[str] | bytes, sizes: dict[str, int]) -> Model:
    model = Model(path_or_bytes)
    inputs = {info.name: [sizes.get(str(size), -1) for size in info.shape] for info in model.inputs if sizes.keys() & set(info.shape)}
    return Model(path_or_bytes, inputs=inputs) if inputs else model


def _check_providers(providers: typing.Sequence[_Provider] | None) -> None:
    wanted = [name if isinstance(name, str) else name[0] for name in providers or []]
    for name in wanted:
        if name not in _PROVIDERS and "CPUExecutionProvider" not in wanted:
            warnings.warn(f"there is no '{name}' here: the CPU runs the model", stacklevel=3)


class InferenceSession:
    """A model, ready to run. `providers` has no effect: get_providers() says what runs. Any number of threads may use a session.

    >>> session = InferenceSession("models/digits/digits.onnx", providers=["CPUExecutionProvider"])
    >>> (logits,) = session.run(None, {session.get_inputs()[0].name: numpy.zeros((3, 1, 8, 8), numpy.float32)})
    >>> logits.shape
    (3, 10)
    """

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes, sess_options: SessionOptions | None = None,
                 providers: typing.Sequence[_Provider] | None = None, provider_options: typing.Any = None, **keywords: typing.Any) -> None:
        del provider_options
        _check_providers(providers)
        keywords.pop("disabled_optimizers", None)
        self._options = sess_options or SessionOptions()
        keywords.setdefault("threads", self._options.intra_op_num_threads)
        self._session = Session(_load(path_or_bytes, self._options._sizes), **keywords)
        model = self._session.model
        self._inputs, self._outputs = node_args(model, path_or_bytes)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a run must give."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the order in which run() returns them."""
        return self._outputs

    def get_providers(self) -> list[str]:
        """The CPU."""
        return list(_PROVIDERS)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """There are none."""
        return {name: {} for name in _PROVIDERS}

    def set_providers(self, providers: typing.Sequence[_Provider] | None = None, provider_options: typing.Any = None) -> None:
        """Has no effect."""
        del provider_options
        _check_providers(providers)

    def enable_fallback(self) -> None:
        """Has no effect."""

    def disable_fallback(self) -> None:
        """Has no effect."""

    def get_session_options(self) -> SessionOptions:
        """The options that the session was given."""
        return self._options

    def get_overridable_initializers(self) -> list[NodeArg]:
        """There are none: an initializer is a constant."""
        return []

    def end_profiling(self) -> str:
        """The name of the file that was written: none."""
        return ""

    def get_modelmeta(self) -> ModelMetadata:
        """Statements of the model's file about itself."""
        said = self._session.model.metadata
        return ModelMetadata(said.producer_name, said.graph_name, said.domain, said.doc_string, "", said.model_version, dict(said.properties))

    def run(self, output_names: typing.Sequence[str] | None, input_feed: typing.Mapping[str, typing.Any],
            run_options: RunOptions | None = None) -> list[typing.Any]:
        """The list of the outputs that are named, of all outputs for None and []."""
        names = list(output_names) if output_names else [output.name for output in self._outputs]
        feed = {name: value.numpy() if isinstance(value, OrtValue) else value for name, value in input_feed.items()}
        missing = [node.name for node in self._inputs if node.name not in feed]
        if missing:
            raise ValueError(f"the inputs {missing} are missing: given are {list(feed)}")
        try:
            outputs = self._session.run(feed, names, stop=run_options._stop if run_options else None)
        except OutOfRangeError as error:
            raise capi_errors.argument(error) from error
        return [outputs[name] for name in names]

    def run_with_ort_values(self, output_names: typing.Sequence[str] | None, input_dict_ort_values: typing.Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        """Does the same for OrtValues."""
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def run_async(self, output_names: typing.Sequence[str] | None, input_feed: typing.Mapping[str, typing.Any],
                  callback: typing.Callable[[list[typing.Any], typing.Any, str], object], user_data: typing.Any,
                  run_options: RunOptions | None = None) -> None:
        """Returns immediately; another thread calls callback(outputs, user_data, text of an error or "")."""

        def work() -> None:
            outputs: list[typing.Any] = []
            problem = ""
            try:
                outputs = self.run(output_names, input_feed, run_options)
            except Exception as error:  # noqa: BLE001, the callback gets every error
                problem = str(error)
            callback(outputs, user_data, problem)

        threading.Thread(target=work, daemon=True).start()

    def io_binding(self) -> IOBinding:
        """An IOBinding of this session."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs on what is bound."""
        iobinding._run(lambda names, feed: self.run(names, feed, run_options))


def get_available_providers() -> list[str]:
    """The CPU."""
    return list(_PROVIDERS)


get_all_providers = get_available_providers


def get_device() -> str:
    """The CPU."""
    return "CPU"


def get_version_string() -> str:
    """The version of Parallax."""
    return __version__


def get_build_info() -> str:
    """The name and version of Parallax."""
    return f"Parallax {__version__}"


def _no_effect(*_arguments: object, **_keywords: object) -> None:
    """Has no effect."""


set_default_logger_severity = set_default_logger_verbosity = set_seed = preload_dlls = _no_effect
disable_telemetry_events = enable_telemetry_events = _no_effect
