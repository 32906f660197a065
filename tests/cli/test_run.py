"""`parallax run`, `plan`, `bench` and `verify` as a user calls them."""
import json
import resource

import numpy as np
import onnx_writer as w
import pytest
from conftest import BUILD, DIGITS, EMULATOR, ROOT, SANITIZED, run

IMAGES = ROOT / "models" / "digits" / "images.npy"


def test_outputs_are_written_in_the_models_order(parallax, tmp_path):
    model = tmp_path / "two.onnx"
    model.write_bytes(w.model([w.node("Relu", ["x"], ["b"]), w.node("Neg", ["x"], ["a"])], [w.value("x", w.FLOAT, ["n"])],
                              [w.value("b", w.FLOAT, ["n"]), w.value("a", w.FLOAT, ["n"])]))
    x = np.array([-1, 0, 2], np.float32)
    np.save(tmp_path / "x.npy", x)
    done = parallax("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    listed = json.loads((tmp_path / "out" / "outputs.json").read_text())
    assert listed == [{"name": "b", "dtype": "float32", "shape": [3], "file": "0.npy"}, {"name": "a", "dtype": "float32", "shape": [3], "file": "1.npy"}]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "0.npy"), np.maximum(x, 0))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "1.npy"), -x)


def test_an_output_beyond_the_limit_for_files_is_an_error(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    done = run(BUILD / "parallax", "run", DIGITS, "--dim", "batch=1", "--output-dir", tmp_path, preexec_fn=limit)
    assert done.returncode == 1 and done.stderr.startswith("parallax: ") and "cannot write" in done.stderr


def test_made_up_inputs_follow_the_seed(parallax, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert parallax("run", DIGITS, "--dim", "batch=3", "--seed", seed, "--output-dir", tmp_path / name).returncode == 0
    a, b, c = (np.load(tmp_path / n / "0.npy") for n in "abc")
    assert a.shape == (3, 10)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("dtype, code, low, high", [("int64", w.INT64, 1, 9), ("int32", w.INT32, 1, 9), ("uint8", w.UINT8, 1, 9), ("bool", w.BOOL, True, True), ("float32", w.FLOAT, 0, 1)])
def test_made_up_values(parallax, tmp_path, dtype, code, low, high):
    (tmp_path / "id.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", code, [1000])], [w.value("y", code, [1000])]))
    assert parallax("run", tmp_path / "id.onnx", "--output-dir", tmp_path).returncode == 0
    y = np.load(tmp_path / "0.npy")
    assert y.dtype == np.dtype(dtype) and y.min() >= low and y.max() <= high


@pytest.mark.parametrize("model", [DIGITS, DIGITS.with_suffix(".tflite")], ids=["onnx", "tflite"])
def test_digits_are_right_and_the_same_under_every_scheduler(parallax, tmp_path, model):
    labels, seen = np.load(ROOT / "models" / "digits" / "labels.npy"), []
    for i, extra in enumerate((["--scheduler", "sequential", "--threads", 1], ["--scheduler", "layers", "--threads", 2], ["--scheduler", "dataflow", "--threads", 3], ["--threads", 8, "--memory-budget", "16MiB"])):
        done = parallax("run", model, "--input", f"image={IMAGES}", "--output-dir", tmp_path / str(i), *extra)
        assert done.returncode == 0, done.stderr
        seen.append(np.load(tmp_path / str(i) / "0.npy"))
    assert (seen[0].argmax(1) == labels).mean() >= 0.97
    assert all(np.array_equal(seen[0].view(np.uint32), other.view(np.uint32)) for other in seen[1:])


def test_plan_json(parallax):
    done = parallax("plan", DIGITS, "--dim", "batch=1", "--json", "-")
    plan = json.loads(done.stdout)
    before = plan["structure"]["before"]
    assert before["max_branches"] >= 2 and before["parallel_layers"] >= 1 and plan["max_branches"] >= 1 and plan["regions"] == 0
    assert plan["nodes"] == sum(b["nodes"] for b in plan["branch_list"]) and plan["branches"] == len(plan["branch_list"])
    arena = plan["arena_bytes"]
    assert set(arena) == {"naive", "greedy", "lower_bound", "paper", "parallax"}
    assert 0 < arena["lower_bound"] <= arena["greedy"] <= arena["naive"] and arena["lower_bound"] <= arena["paper"] <= arena["naive"]


def test_plan_table_and_reasons(parallax):
    done = parallax("plan", DIGITS, "--dim", "batch=1", "--explain")
    assert done.returncode == 0 and "layer" in done.stdout and "parallel" in done.stdout and "lower bound" in done.stdout


@pytest.mark.parametrize("dims", ["batch=1..4", "batch=2,9,2"])
def test_bench_over_several_shapes(parallax, dims):
    done = parallax("bench", DIGITS, "--dim", dims, "--warmup", 0, "--runs", 5, "--ops")
    assert done.returncode == 0, done.stderr
    assert "GFLOP/s" in done.stdout and "Conv" in done.stdout


def test_verify(parallax):
    done = parallax("verify", DIGITS, "--dim", "batch=7")
    assert done.returncode == 0 and "24 of 24 runs bit-identical" in done.stdout


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh"])
def test_nan_stays_behind_a_convolution(parallax, tmp_path, activation):
    model = tmp_path / "conv.onnx"
    weights = w.floats("w", [8, 3, 3, 3], [0.25] * 216)
    model.write_bytes(w.model([w.node("Conv", ["x", "w"], ["c"]), w.node(activation, ["c"], ["y"])], [w.value("x", w.FLOAT, [1, 3, 9, 9])],
                              [w.value("y", w.FLOAT, [1, 8, 7, 7])], [weights]))
    done = parallax("verify", model)
    assert done.returncode == 0, done.stderr
    x = np.zeros((1, 3, 9, 9), np.float32)
    x[0, 1, 4, 4] = np.nan
    np.save(tmp_path / "x.npy", x)
    assert parallax("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path).returncode == 0
    assert np.isnan(np.load(tmp_path / "0.npy")).sum() == 8 * 9


@pytest.mark.parametrize("n, m", [(1, 3), (3, 1), (3, 3), (0, 1), (2, 3)])
def test_two_free_dimensions_broadcast(parallax, refused, tmp_path, n, m):
    model = tmp_path / "add.onnx"
    model.write_bytes(w.model([w.node("Add", ["a", "b"], ["y"], "sum"), w.node("Shape", ["y"], ["s"])],
                              [w.value("a", w.FLOAT, ["n", 4]), w.value("b", w.FLOAT, ["m", 4])], [w.value("y", w.FLOAT, ["k", 4]), w.value("s", w.INT64, [2])]))
    a, b = np.arange(n * 4, dtype=np.float32).reshape(n, 4), np.ones((m, 4), np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    arguments = ["run", model, "--input", f"a={tmp_path / 'a.npy'}", "--input", f"b={tmp_path / 'b.npy'}", "--output-dir", tmp_path]
    if n == 2:
        line = refused(1, *arguments)
        assert "node 'sum'" in line and "n = 2, m = 3" in line
        return
    assert parallax(*arguments).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "0.npy"), a + b)
    assert np.load(tmp_path / "1.npy").tolist() == list((a + b).shape)


@pytest.mark.skipif(SANITIZED or bool(EMULATOR), reason="the reference kernels would take long under a sanitizer or an emulator")
@pytest.mark.parametrize("name, dims", [("yolov8n", []), ("swinv2_tiny", []), ("whisper_tiny", ["seq=5"]), ("clip_text", ["batch=2", "seq=11"]), ("distilbert", ["batch=2", "seq=9"]), ("sensors", [])])
def test_verify_the_zoo(parallax, zoo, name, dims):
    done = parallax("verify", zoo[name], *[word for d in dims for word in ("--dim", d)])
    assert done.returncode == 0, done.stderr
    assert "24 of 24 runs bit-identical" in done.stdout


@pytest.mark.parametrize("command", [[], ["run"], ["plan"], ["bench"], ["verify"]])
def test_help(parallax, command):
    done = parallax(*command, "--help")
    assert done.returncode == 0 and "--help" in done.stdout
