"""`--cache DIR`: the second process maps the weights that the first one packed, and starts from its graph."""
import concurrent.futures
import json
import os
import resource
import shutil
import subprocess

import numpy as np
import onnx_writer as w
import pytest
from conftest import BUILD, DIGITS, run


@pytest.fixture
def bench(parallax, tmp_path):
    """bench(model) -> the figures, with standard error among them."""

    def call(model=DIGITS, folder=tmp_path / "cache"):
        done = parallax("bench", model, "--dim", "batch=4", "--warmup", 1, "--runs", 1, "--cache", folder, "--json", "-")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) | {"stderr": done.stderr}

    return call


def outputs(parallax, folder, *extra):
    assert parallax("run", DIGITS, "--dim", "batch=4", "--output-dir", folder, *extra).returncode == 0
    return np.load(folder / "0.npy").tobytes()


def test_the_second_load_packs_nothing(parallax, bench, tmp_path):
    first, second = bench(), bench()
    assert first["cache"]["hits"] == 0 and first["cache"]["misses"] > 0 and first["cache"]["written_bytes"] > 0
    assert second["cache"]["hits"] == first["cache"]["misses"] and second["cache"]["misses"] == 0
    assert second["cache"]["bytes"] == second["packed_weight_bytes"] == first["packed_weight_bytes"]
    assert second["cache"]["written_bytes"] == 0
    assert first["stderr"] == second["stderr"] == ""
    assert outputs(parallax, tmp_path / "with", "--cache", tmp_path / "cache") == outputs(parallax, tmp_path / "without")


def reads_graph(figures):
    """Whether the graph came from the cache: no pass ran."""
    return figures["load_split_ms"]["passes"] == 0


def without_passes(plan):
    """A plan without the list of passes, which says what this load did and how long it took."""
    return {name: value for name, value in json.loads(plan).items() if name != "pass_list"}


def test_the_second_load_runs_no_pass(parallax, bench, tmp_path):
    def plan(*extra):
        done = parallax("plan", DIGITS, "--dim", "batch=3", "--json", "-", *extra)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout

    assert not reads_graph(bench()) and reads_graph(bench())
    assert without_passes(plan("--cache", tmp_path / "cache")) == without_passes(plan())


def test_a_graph_with_known_elements_left_out_is_read_anew(parallax, tmp_path):
    """A small file whose lists of symbols are more than loading may hold: what was left out depends on what else was held."""
    nodes = [w.node("Shape", ["x"], ["s"]), w.node("Mul", ["c", "s"], ["k"])]
    nodes += [w.node("Add", ["k", f"o{i}"], [f"v{i}"]) for i in range(300)]
    nodes += [w.node("Concat", [f"v{i}" for i in range(300)], ["z"], axis=0), w.node("Cast", ["z"], ["f"], to=1), w.node("ReduceSum", ["f"], ["y"], keepdims=0)]
    model = tmp_path / "lists.onnx"
    model.write_bytes(w.model(nodes, [w.value("x", w.FLOAT, ["n"])], [w.value("y", w.FLOAT, [])], [w.ints("c", [1] * 1024), *(w.ints(f"o{i}", [i]) for i in range(300))], 13))

    def call(command, *extra):
        done = parallax(command, model, "--dim", "n=3", *extra)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout

    plain = without_passes(call("plan", "--json", "-"))
    for _ in range(2):
        assert without_passes(call("plan", "--json", "-", "--cache", tmp_path / "cache")) == plain
        call("bench", "--runs", 1, "--cache", tmp_path / "cache")


def test_the_graph_is_of_its_options(parallax, bench, tmp_path):
    bench()
    done = parallax("bench", DIGITS, "--dim", "batch=4", "--runs", 1, "--cache", tmp_path / "cache", "--max-nesting", 3, "--json", "-")
    assert not reads_graph(json.loads(done.stdout))
    assert reads_graph(bench())


def test_load_times_are_split(parallax, bench):
    figures = bench()
    split = figures["load_split_ms"]
    assert set(split) == {"map", "parse", "passes", "plan", "pack"} and all(ms >= 0 for ms in split.values())
    assert split["map"] + split["parse"] + split["passes"] <= figures["load_ms"]
    assert split["plan"] + split["pack"] <= figures["first_run_ms"]
    done = parallax("bench", DIGITS, "--dim", "batch=1", "--runs", 1, "--json", "-")
    assert json.loads(done.stdout)["cache"] is None


def test_verify_holds_with_a_cache(parallax, tmp_path):
    for _ in range(2):
        done = parallax("verify", DIGITS, "--dim", "batch=2", "--cache", tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:], lambda b: os.urandom(len(b))])
def test_a_damaged_file_is_made_anew(parallax, bench, tmp_path, damage):
    first = bench()
    (file,) = (tmp_path / "cache").iterdir()
    assert str(file) == first["cache"]["file"]
    expected = outputs(parallax, tmp_path / "without")
    file.chmod(0o600)
    file.write_bytes(damage(file.read_bytes()))
    assert outputs(parallax, tmp_path / "with", "--cache", tmp_path / "cache") == expected
    repaired = bench()
    assert reads_graph(repaired)
    assert repaired["cache"]["misses"] == 0 and repaired["cache"]["problem"] == ""


def test_damage_is_a_warning(parallax, bench, tmp_path):
    file = bench()["cache"]["file"]
    os.chmod(file, 0o600)
    with open(file, "ab") as out:
        out.write(b"!")
    done = parallax("run", DIGITS, "--dim", "batch=4", "--cache", tmp_path / "cache")
    assert done.returncode == 0 and done.stderr.startswith("parallax: warning: ") and "damaged" in done.stderr


def test_a_folder_that_cannot_be_written_is_a_warning(bench, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", "/proc/nowhere"):
        figures = bench(folder=folder)
        assert figures["cache"]["hits"] == 0 and "cannot write" in figures["cache"]["problem"]
        assert figures["stderr"].startswith("parallax: warning: ") and len(figures["stderr"].splitlines()) == 1


def test_a_limit_of_the_file_size_is_a_warning(parallax, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40 << 10, 40 << 10))

    arguments = BUILD / "parallax", "run", DIGITS, "--dim", "batch=4", "--cache", tmp_path / "cache", "--output-dir", tmp_path / "with"
    done = run(*arguments, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("parallax: warning: cannot write ") and len(done.stderr.splitlines()) == 1
    assert (tmp_path / "with" / "0.npy").exists() and not list((tmp_path / "cache").iterdir())
    assert (tmp_path / "with" / "0.npy").read_bytes()[128:] == outputs(parallax, tmp_path / "without")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_file_of_another_user_is_one_that_cannot_be_read(bench, tmp_path):
    file = bench()["cache"]["file"]  # readable by its owner only
    for folder in [tmp_path / "cache", tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(0o755)
    command = [str(part) for part in (BUILD / "parallax", "run", DIGITS, "--dim", "batch=4", "--cache", tmp_path / "cache")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    except PermissionError:
        pytest.skip("this build is not for other users")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"parallax: warning: cannot read '{file}': Permission denied"), done.stderr


def test_another_model_in_the_same_place(parallax, bench, tmp_path):
    model = tmp_path / "model.onnx"
    shutil.copy(DIGITS, model)
    bench(model)
    weights = bytearray(model.read_bytes())
    weights[len(weights) // 2] ^= 1  # one bit of a weight, the file as long as before
    model.write_bytes(weights)
    changed = bench(model)
    assert changed["cache"]["hits"] == 0 and not reads_graph(changed)
    shutil.copy(DIGITS, tmp_path / "copy")
    os.replace(tmp_path / "copy", model)
    assert bench(model)["cache"]["hits"] == 0


def test_processes_may_write_at_once(bench):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda _: bench(), range(6)))
    assert all(d["stderr"] == "" for d in done)
    assert bench()["cache"]["misses"] == 0
