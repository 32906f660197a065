"""Runs: the numbers are the tool's, memory is used in place, and threads may share a session."""
import array
import concurrent.futures
import threading

import models
import numpy as np
import pytest
from conftest import DIGITS, ROOT, Exported, script

import parallax

IMAGES = np.load(ROOT / "models" / "digits" / "images.npy").astype(np.float32).reshape(-1, 1, 8, 8)


@pytest.mark.parametrize("keywords", [{}, {"scheduler": "sequential"}, {"threads": 1}, {"budget": 1 << 20}, {"budget": "auto"}])
def test_outputs_are_those_of_the_tool(tool, tmp_path, keywords):
    np.save(tmp_path / "x.npy", IMAGES[:7])
    tool("run", DIGITS, "--input", f"image={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    outputs = parallax.Session(DIGITS, **keywords).run({"image": IMAGES[:7]})
    assert list(outputs) == ["logits"]
    np.testing.assert_array_equal(outputs["logits"], np.load(tmp_path / "out" / "0.npy"))


X = np.arange(6, dtype=np.float32)
VALUES = {
    "array": X,
    "read-only": np.frombuffer(X.tobytes(), np.float32),
    "strided": np.repeat(X, 2)[::2],
    "reversed": X[::-1].copy()[::-1],
    "unaligned": np.frombuffer(b"-" + X.tobytes(), np.float32, offset=1),
    "other byte order": X.astype(">f4"),
    "memoryview": memoryview(X),
    "array.array": array.array("f", X.tolist()),
    "DLPack": Exported(X),
    "list": X.tolist(),
    "list of int": [0, 1, 2, 3, 4, 5],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("positional", [False, True])
def test_values_that_an_input_may_have(value, positional):
    session = parallax.Session(models.identity(1))
    outputs = session.run(value if positional else {"x": value})
    np.testing.assert_array_equal(outputs["y"], X, strict=True)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 8])
def test_shapes_at_the_limits(shape):
    x = np.full(shape, 3, np.float32)
    session = parallax.Session(models.identity(1, [f"d{axis}" for axis in range(len(shape))]))
    np.testing.assert_array_equal(session.run(x)["y"], x, strict=True)
    if shape == ():
        np.testing.assert_array_equal(session.run(3)["y"], x, strict=True)


def test_dense_inputs_are_not_converted(monkeypatch):
    monkeypatch.delattr(parallax._arrays, "dense")
    session = parallax.Session(models.identity(1))
    assert session.run(X)["y"].tolist() == X.tolist()
    with pytest.raises(AttributeError):
        session.run(np.repeat(X, 2)[::2])


@pytest.mark.parametrize("given", ["x", "memoryview(x)", "Exported(x)"], ids=["array", "memoryview", "DLPack"])
def test_neither_inputs_nor_outputs_are_copied(given):
    """64 MiB in and out raise the peak by what the output takes: a copy of either would be twice that."""
    text = """
import re, sys
sys.path.insert(0, "python/tests")
import models, numpy as np, parallax
from conftest import Exported
def peak():  # getrusage() would begin with the peak of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
session = parallax.Session(models.identity(1))
x = np.ones(1 << 24, np.float32)
before = peak()
y = session.run(GIVEN)["y"]
assert y[-1] == 1 and not np.shares_memory(x, y)
print(peak() - before)
"""
    kib = int(script(text.replace("GIVEN", given)))
    assert 60 << 10 < kib < 96 << 10


@pytest.mark.parametrize("give", [lambda y: y, np.from_dlpack, lambda y: np.asarray(memoryview(y)), lambda y: np.asarray(y)])
def test_others_see_an_output_where_the_library_put_it(give):
    output = parallax.Session(models.identity(1)).run(np.ones(10 << 18, np.float32))["y"]
    seen = give(output)
    assert seen.__array_interface__["data"][0] == output.__array_interface__["data"][0] and seen.flags.writeable == output.flags.writeable
    del output
    assert seen[-1] == 1


def test_an_output_outlives_its_session_and_may_be_written():
    session = parallax.Session(models.identity(1))
    output = session.run(X)["y"]
    part = output[2:4]
    del session, output
    part += 1
    assert part.tolist() == [3, 4]


def test_only_named_outputs_are_returned():
    session = parallax.Session(models.add())
    assert list(session.run({"x": X, "y": X}, ["z"])) == ["z"]
    assert session.run({"x": X, "y": X}, outputs=[]) == {}


def test_threads_share_a_session():
    session = parallax.Session(DIGITS, threads=1)
    sizes = [1, 3, 5, 8] * 10
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda n: session.run(IMAGES[:n])["logits"], sizes))
    for n, output in zip(sizes, outputs):
        np.testing.assert_array_equal(output, session.run(IMAGES[:n])["logits"])


def test_other_threads_go_on_while_a_model_runs_and_one_cancels_it():
    """Were the interpreter's lock held, nothing could cancel, and the run would end by its limit of time."""
    session = parallax.Session(models.endless(), max_loop_trips=(1 << 63) - 1, time_limit=60)
    stop, errors = parallax.StopSource(), []

    def run():
        with pytest.raises(parallax.Error) as caught:
            session.run(0, stop=stop)
        errors.append(caught.value.code)

    thread = threading.Thread(target=run)
    thread.start()
    while session.peak_arena_bytes == 0 and thread.is_alive():  # the run has not begun
        pass
    stop.request_stop()
    thread.join()
    assert errors == [parallax.ErrorCode.CANCELLED] and stop.stop_requested
