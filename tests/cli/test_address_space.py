"""A limited address space (`ulimit -v`) that has room for a model's file and its packed weights has room for the model."""
import resource

import onnx_writer as w
import pytest
from conftest import BUILD, SANITIZED, run

MIB = 2**20
SIDE, MATRICES = 2048, 8  # 128 MiB


def external(name, index):
    """A tensor that lies in weights.bin."""
    entries = (("location", "weights.bin"), ("offset", index * SIDE * SIDE * 4), ("length", SIDE * SIDE * 4))
    return w.Tensor(w.number(1, SIDE) * 2 + w.number(2, w.FLOAT) + w.blob(8, name) + b"".join(w.blob(13, w.blob(1, k) + w.blob(2, str(v))) for k, v in entries) + w.number(14, 1))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    with open(folder / "weights.bin", "wb") as file:
        file.truncate(MATRICES * SIDE * SIDE * 4)
    nodes = [w.node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(MATRICES)]
    path = folder / "m.onnx"
    path.write_bytes(w.model(nodes, [w.value("x0", w.FLOAT, [1, SIDE])], [w.value(f"x{MATRICES}", w.FLOAT, [1, SIDE])], [external(f"w{i}", i) for i in range(MATRICES)]))
    return path


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs the address space for itself")
@pytest.mark.parametrize("limit", range(390, 451, 10))  # 128 MiB mapped, 128 MiB packed, the program and its threads: 350 do
def test_weights_load_where_their_bytes_fit(model, limit):
    done = run(BUILD / "parallax", "run", model, "--threads", 2, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MIB, limit * MIB)))
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs the address space for itself")
@pytest.mark.parametrize("command", [["plan"], ["info"], ["simulate", "--profile", "pixel6"]])
def test_a_plan_needs_no_room_for_packed_weights(model, command):
    done = run(BUILD / "parallax", *command, model, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (250 * MIB, 250 * MIB)))
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs the address space for itself")
def test_weights_that_do_not_fit_are_an_error(model):
    done = run(BUILD / "parallax", "run", model, "--threads", 2, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (250 * MIB, 250 * MIB)))
    assert done.returncode == 1 and "cannot allocate" in done.stderr and len(done.stderr.splitlines()) == 1
