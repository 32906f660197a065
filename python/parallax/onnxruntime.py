"""The part of ONNX Runtime's interface that most programs use, over Parallax: `from parallax import onnxruntime as ort`.

InferenceSession, SessionOptions and RunOptions have the names and results of ONNX Runtime's. Options that only change how ONNX Runtime
works are accepted and have no effect; others are refused by AttributeError. Errors are those of parallax.Error. Keywords that
parallax.Session has, such as `budget`, may be given to InferenceSession too.
"""
import enum
import typing

from . import Model, Session, StopSource, __version__

__all__ = ["ExecutionMode", "GraphOptimizationLevel", "InferenceSession", "NodeArg", "RunOptions", "SessionOptions", "__version__",
           "get_available_providers", "get_device"]

_PROVIDERS = ["CPUExecutionProvider"]
_NAMES = {"float32": "float", "float64": "double"}  # others lose their underscores


class GraphOptimizationLevel(enum.IntEnum):
    """Has no effect: the passes of Parallax leave outputs as they are."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Has no effect: branches run in parallel where that is predicted to be faster."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Options:
    """Attributes are those that are listed; others are refused, so that a typing error is noticed."""

    _FIELDS: dict = {}

    def __init__(self):
        self.__dict__.update(self._FIELDS, _entries={})

    def __setattr__(self, name, value):
        if name not in self._FIELDS and not isinstance(getattr(type(self), name, None), property):
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}' here")
        super().__setattr__(name, value)


class SessionOptions(_Options):
    """`intra_op_num_threads` is the number of threads, and free dimensions can be set; the other attributes have no effect."""

    _FIELDS = {
        "intra_op_num_threads": 0, "inter_op_num_threads": 0, "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL, "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True,
        "log_severity_level": -1, "log_verbosity_level": 0, "logid": "", "use_deterministic_compute": False,
    }

    def __init__(self):
        super().__init__()
        self.__dict__["_sizes"] = {}

    def add_free_dimension_override_by_name(self, name, size):
        """Makes the free dimension `name` the constant `size`."""
        self._sizes[name] = size

    def add_session_config_entry(self, key, value):
        """Has no effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key):
        """The value of that entry."""
        return self._entries[key]


class RunOptions(_Options):
    """`terminate` ends runs that were given these options, from any thread; the other attributes have no effect."""

    _FIELDS = {"log_severity_level": 2, "log_verbosity_level": 0, "logid": "", "only_execute_path_to_fetches": False}

    def __init__(self):
        super().__init__()
        self.__dict__["_stop"] = StopSource()

    @property
    def terminate(self):
        """Whether runs are ended."""
        return self._stop.stop_requested

    @terminate.setter
    def terminate(self, value):
        if value:
            self._stop.request_stop()
        else:
            self.__dict__["_stop"] = StopSource()

    def add_run_config_entry(self, key, value):
        """Has no effect."""
        self._entries[key] = value


class NodeArg(typing.NamedTuple):
    """An input or output: `shape` has numbers, texts for free dimensions and None; `type` is "tensor(float)" or the like."""

    name: str
    shape: list
    type: str


class ModelMetadata(typing.NamedTuple):
    """Statements of the model's file about itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    version: int
    custom_metadata_map: dict


def _type(text):
    """ONNX Runtime's words for a type in Parallax's: "sequence of map from int64 to float32"."""
    for ours, theirs in (("sequence of ", "seq"), ("optional of ", "optional")):
        if text.startswith(ours):
            return f"{theirs}({_type(text.removeprefix(ours))})"
    if text.startswith("map from "):
        key, value = text.removeprefix("map from ").split(" to ")
        return f"map({key},{_type(value)})"
    return f"tensor({_NAMES.get(text, text.replace('_', ''))})"


def _node_arg(info):
    return NodeArg(info.name, list(info.shape), _type(info.type))


def _load(path_or_bytes, sizes):
    model = Model(path_or_bytes)
    inputs = {info.name: [sizes.get(size, -1) for size in info.shape] for info in model.inputs if sizes.keys() & set(info.shape)}
    return Model(path_or_bytes, inputs=inputs) if inputs else model


class InferenceSession:
    """A model, ready to run. `providers` has no effect: get_providers() says what runs."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **keywords):
        del providers, provider_options
        self._options = sess_options or SessionOptions()
        keywords.setdefault("threads", self._options.intra_op_num_threads)
        self._session = Session(_load(path_or_bytes, self._options._sizes), **keywords)
        model = self._session.model
        tied = {name for tie in model.ties for name in tie}
        self._inputs = [_node_arg(info) for info in model.inputs if info.name not in tied]
        self._outputs = [_node_arg(info) for info in model.outputs if info.name not in tied]

    def get_inputs(self):
        """The inputs that a run must give."""
        return self._inputs

    def get_outputs(self):
        """The outputs, in the order in which run() returns them."""
        return self._outputs

    def get_providers(self):
        """The CPU."""
        return list(_PROVIDERS)

    def get_session_options(self):
        """The options that the session was given."""
        return self._options

    def get_modelmeta(self):
        """Statements of the model's file about itself."""
        said = self._session.model.metadata
        return ModelMetadata(said.producer_name, said.graph_name, said.domain, said.doc_string, said.model_version, dict(said.properties))

    def run(self, output_names, input_feed, run_options=None):
        """The list of the outputs that are named, of all outputs for None and []."""
        names = list(output_names) if output_names else [output.name for output in self._outputs]
        outputs = self._session.run(dict(input_feed), names, stop=run_options._stop if run_options else None)
        return [outputs[name] for name in names]


def get_available_providers():
    """The CPU."""
    return list(_PROVIDERS)


def get_device():
    """The CPU."""
    return "CPU"
