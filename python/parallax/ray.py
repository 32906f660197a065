"""A model for the rows of a Ray dataset: `dataset.map_batches(parallax.ray.Predictor, ...)`.

Predictor is a plain class, which needs Ray only if it is used with Ray: `pip install parallax-runtime[ray]`.
"""
import os
import threading
import typing
import weakref

import numpy

from . import Error, Model, Runtime, Session, TensorInfo
from ._arrays import Array, empty
from ._errors import make

__all__ = ["Predictor"]
_File: typing.TypeAlias = str | os.PathLike[str] | bytes
_Columns: typing.TypeAlias = dict[str, Array]


class _Loaded:
    """A model that the Predictors of this process share. The last one frees it."""

    def __init__(self, file: _File, cache: str, threads: int) -> None:
        self.model = Model(file, runtime=Runtime(threads=threads, cache=cache))


_loaded: weakref.WeakValueDictionary[tuple[object, ...], _Loaded] = weakref.WeakValueDictionary()
_loading = threading.Lock()  # guards _loaded, also while a model loads: other threads wait for that model


def _identity(file: _File) -> object:
    """Returns a value that changes if the bytes of the model do."""
    if isinstance(file, bytes):
        return file
    path = os.path.realpath(file)
    try:
        status = os.stat(path)
    except OSError:
        return path  # Model() reports it
    return path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _load(file: _File, cache: str, threads: int) -> _Loaded:
    key = (_identity(file), cache, threads)
    with _loading:
        found = _loaded.get(key)
        if found is None:
            _loaded[key] = found = _Loaded(file, cache, threads)
        return found


def _refuse(message: str) -> typing.NoReturn:
    raise make("invalid input", "session", "", message)


def _check_names(what: str, names: typing.Iterable[str], known: typing.Iterable[str]) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        _refuse(f"the model has no {what} {', '.join(map(repr, unknown))}: it has {', '.join(map(repr, known))}")


def _rows_of_runs(inputs: typing.Sequence[TensorInfo]) -> int | None:
    """Returns the rows that each run takes; None if a run may have any number."""
    sizes = {}
    for info in inputs:
        if info.type != info.dtype or not info.shape or info.shape[0] == 0:
            _refuse(f"the input {info!r} has no dimension for rows: give it a value in constants=")
        if isinstance(info.shape[0], int):
            sizes[info.shape[0]] = info
    if not inputs or len(sizes) > 1:
        _refuse(f"the first dimensions of inputs contradict each other: {list(sizes.values())}" if inputs else "no input is a column")
    return next(iter(sizes), None)


class Predictor:
    """Adds a model's outputs to batches of rows, as columns; the first dimension of each input and output counts the rows.

    model: a path that all nodes can read, or the bytes of a file.
    inputs: {input: column}; other inputs read the columns that have their names.
    constants: {input: value} for inputs that have the same value in every run.
    outputs: names of the outputs to add, or {output: column}; None: all, each as a column of its name, which replaces one of that name.
    cache: a folder of the node that keeps packed weights, so that its processes share them in memory; "": none.
    budget: bytes for activations and scratch of this Predictor; "auto": a share of the free memory; None: no limit.
    threads: the most threads of a run. Ray reserves one CPU for an actor: give map_batches(num_cpus=) the same number.

    A model whose first dimension is a number runs as often as needed; the last run repeats the last row to fill it. A process loads a model
    once for all Predictors with the same model, cache and threads.

    >>> digits = Predictor("models/digits/digits.onnx", inputs={"image": "pixels"})
    >>> rows = {"pixels": numpy.zeros((5, 1, 8, 8), numpy.float32), "label": numpy.arange(5)}
    >>> {name: column.shape for name, column in digits(rows).items()}
    {'pixels': (5, 1, 8, 8), 'label': (5,), 'logits': (5, 10)}

    Errors: those of Model and Session; InvalidInputError for unknown names, for inputs without rows, and for a model that keeps state from
    run to run. Any number of threads may call a Predictor.
    """

    def __init__(self, model: _File, *, inputs: typing.Mapping[str, str] | None = None,
                 constants: typing.Mapping[str, typing.Any] | None = None,
                 outputs: typing.Sequence[str] | typing.Mapping[str, str] | None = None, cache: str | os.PathLike[str] = "",
                 budget: int | typing.Literal["auto"] | None = None, threads: int = 1) -> None:
        self._loaded = _load(model, os.fspath(cache), threads)
        self._model = self._loaded.model
        if self._model.ties:
            _refuse("the model keeps state from run to run, but the rows of a dataset have no order")
        names = [info.name for info in self._model.inputs]
        self._constants = dict(constants or {})
        _check_names("input", [*(inputs or {}), *self._constants], names)
        self._columns = {name: (inputs or {}).get(name, name) for name in names if name not in self._constants}
        self._rows = _rows_of_runs([info for info in self._model.inputs if info.name in self._columns])
        self._outputs = self._choose(outputs)
        self._session = Session(self._model, threads=threads, budget=budget)

    def _choose(self, outputs: typing.Sequence[str] | typing.Mapping[str, str] | None) -> dict[str, str]:
        """Returns {output: column}."""
        infos = {info.name: info for info in self._model.outputs}
        if isinstance(outputs, str):
            _refuse("outputs must be a list of names or a dict")
        names = infos.keys() if outputs is None else outputs
        chosen = dict(outputs) if isinstance(outputs, typing.Mapping) else {name: name for name in names}
        _check_names("output", chosen, infos)
        for name in chosen:
            if infos[name].type != infos[name].dtype:
                _refuse(f"the output {infos[name]!r} is not a tensor: name others in outputs=")
        return chosen

    def __call__(self, batch: typing.Mapping[str, Array]) -> _Columns:
        """Returns the columns of `batch` and the outputs: {name: array}, all with the same number of rows.

        The type of a column must be that of its input. Rows of an array of objects, as Ray has them for arrays of different shapes, must have
        one shape. Errors: those of Session.run().
        """
        columns = {name: self._read(batch, column) for name, column in self._columns.items()}
        rows = len(next(iter(columns.values())))
        for name, values in columns.items():
            if len(values) != rows:
                _refuse(f"the column '{self._columns[name]}' has {len(values)} rows, others have {rows}")
        step = self._rows or max(rows, 1)
        parts = [self._run({name: values[first:first + step] for name, values in columns.items()}) for first in range(0, rows, step)]
        if not parts:
            parts = [self._nothing(columns)]
        added = {name: parts[0][name] if len(parts) == 1 else numpy.concatenate([part[name] for part in parts]) for name in self._outputs}
        return {**batch, **{column: added[name] for name, column in self._outputs.items()}}

    def _read(self, batch: typing.Mapping[str, Array], column: str) -> Array:
        if column not in batch:
            _refuse(f"the batch has no column '{column}': it has {', '.join(map(repr, batch))}")
        values: Array = numpy.asarray(batch[column])
        if values.dtype == object and len(values) != 0 and isinstance(values[0], numpy.ndarray):
            values = numpy.stack(list(values))
        return values

    def _run(self, feed: _Columns) -> _Columns:
        """Returns the outputs of one run, without those of rows that fill it."""
        count = len(next(iter(feed.values())))
        missing = (self._rows or count) - count
        if missing != 0:
            feed = {name: numpy.concatenate([values, numpy.repeat(values[-1:], missing, 0)]) for name, values in feed.items()}
        outputs = self._session.run({**feed, **self._constants}, list(self._outputs))
        for name, values in outputs.items():
            if values.shape[:1] != (count + missing,):
                _refuse(f"the output '{name}' has the shape {values.shape}, not one row for each of {count + missing}")
        return {name: values[:count] for name, values in outputs.items()}

    def _nothing(self, columns: _Columns) -> _Columns:
        """Returns outputs of no rows. A dimension that neither the file nor the columns tell is 0."""
        sizes = {name: size for info in self._model.inputs if info.name in columns
                 for name, size in zip(info.shape, (1, *columns[info.name].shape[1:])) if isinstance(name, str)}
        shapes: typing.Sequence[typing.Sequence[int] | None] = [None] * len(self._model.outputs)
        try:
            shapes = self._session.output_shapes(sizes)
        except Error:
            pass
        result = {}
        for info, shape in zip(self._model.outputs, shapes):
            known = [size if isinstance(size, int) else 0 for size in info.shape] if shape is None else shape
            result[info.name] = empty((0, *known[1:]), info.dtype)
        return result
