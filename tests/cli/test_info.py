"""`parallax info`: what a model holds, whether it can run or not; and what `run`, `plan`, `bench` and `verify` say is missing."""
import json
import shlex

import onnx_writer as w
import pytest
from conftest import DIGITS, SANITIZED

X = [w.value("x", w.FLOAT, ["n", 3])]
Y = [w.value("y", w.FLOAT, ["n", 3])]


@pytest.fixture
def write(tmp_path):
    def call(*parts, **keywords):
        path = tmp_path / "model.onnx"
        path.write_bytes(w.model(*parts, **keywords))
        return path

    return call


@pytest.fixture
def info(parallax):
    def call(model, status=0):
        done = parallax("info", model, "--json", "-")
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    return call


def graph_attribute(name, graph):
    return w.blob(5, w.blob(1, name) + w.blob(6, graph) + w.number(20, 5))


def a_graph(nodes, outputs):
    return b"".join(w.blob(1, n) for n in nodes) + w.blob(2, "body") + b"".join(w.blob(12, v) for v in outputs)


def test_json_of_a_model_that_runs(info):
    digits = info(DIGITS)
    assert digits["inputs"] == [{"name": "image", "type": "float32", "shape": ["batch", 1, 8, 8]}]
    assert digits["outputs"] == [{"name": "logits", "type": "float32", "shape": ["batch", 10]}]
    assert digits["free_dimensions"] == ["batch"] and digits["problem"] == "" and digits["bodies"] == []
    assert digits["opsets"] == {"ai.onnx": 17} and digits["nodes"] == sum(op["nodes"] for op in digits["operators"]) > digits["nodes_after_passes"] > 0
    conv = next(op for op in digits["operators"] if op["operator"] == "Conv")
    assert conv["supported"] and conv["nodes"] == 21 and "simd" in conv["kernels"] and conv["kernels"][-1] == "reference"
    assert digits["parameter_bytes"] == 4 * digits["parameters"] == sum(each["bytes"] for each in digits["weights"])


def test_the_command_that_it_names_runs(parallax, info):
    words = shlex.split(info(DIGITS)["command"])
    assert words[0] == "parallax"
    assert parallax(*words[1:]).returncode == 0


@pytest.mark.skipif(SANITIZED, reason="plans of five models take long under a sanitizer")
@pytest.mark.parametrize("name", ["yolov8n", "swinv2_tiny", "whisper_tiny", "clip_text", "distilbert"])
def test_the_command_for_the_zoo_can_be_planned(parallax, info, zoo, name):
    words = shlex.split(info(zoo[name])["command"])
    assert words[:2] == ["parallax", "run"]
    assert parallax("plan", *words[2:]).returncode == 0


def test_text(parallax):
    done = parallax("info", DIGITS)
    assert done.returncode == 0 and done.stderr == ""
    for words in ("operator sets ai.onnx 17", "image  float32 [batch, 1, 8, 8]", "Conv", "simd, ", "parameters in", "--dim batch=1"):
        assert words in done.stdout, words


def test_unsupported_operators_are_all_seen(parallax, info, write):
    model = write([w.node("Foo", ["x"], ["a"], "f1", "com.acme"), w.node("Foo", ["a"], ["b"], "f2", "com.acme"),
                   w.node("StringSplit", ["b"], ["c"]), w.node("Relu", ["c"], ["y"])], X, Y)
    seen = {(op["domain"], op["operator"]): (op["nodes"], op["supported"], op["kernels"] != []) for op in info(model)["operators"]}
    assert seen == {("com.acme", "Foo"): (2, False, False), ("ai.onnx", "StringSplit"): (1, False, False), ("ai.onnx", "Relu"): (1, True, True)}
    assert "StringSplit" in info(model)["problem"] and "command" not in info(model)
    done = parallax("info", model)
    assert done.returncode == 0 and done.stdout.count("NOT SUPPORTED") == 2 and "cannot run: " in done.stdout


def test_types_that_are_not_supported_are_seen(info, write):
    model = write([w.node("Add", ["x", "w"], ["y"])], [w.value("x", w.FLOAT16, [3])], [w.value("y", w.FLOAT16, [3])],
                  [w.tensor("w", w.FLOAT16, [3], b"\0" * 6)])
    seen = info(model)
    assert seen["inputs"][0]["type"] == "float16" and "float16" in seen["problem"]
    assert seen["weights"] == [{"type": "float16", "tensors": 1, "parameters": 3, "bytes": 6}]


def test_what_only_planning_finds_is_a_problem_too(parallax, write):
    """A size that is too large is known once there are dimensions."""
    model = write([w.node("ConstantOfShape", ["s"], ["y"])], [], [w.value("y", w.FLOAT, [])], [w.ints("s", [2**31, 2**31, 2**31])])
    done = parallax("info", model)
    assert "cannot run: " in done.stdout and "to run it" not in done.stdout and done.returncode == 1


def test_bodies_are_seen(parallax, info, write):
    body = a_graph([w.node("Relu", ["x"], ["r"])], [w.value("r", w.FLOAT, ["n", 3])])
    choice = w.node("If", ["c"], ["y"], "choice") + graph_attribute("then_branch", body) + graph_attribute("else_branch", body)
    model = write([choice], X + [w.value("c", w.BOOL, [])], Y)
    seen = info(model)
    assert [(b["node"], b["operator"], b["body"], b["nodes"]) for b in seen["bodies"]] == [("choice", "If", "then_branch", 1), ("choice", "If", "else_branch", 1)]
    assert seen["problem"] == "" and seen["nodes"] == 3
    assert "'choice', then_branch: 1 nodes" in parallax("info", model).stdout


def test_a_damaged_model_is_shown_as_far_as_it_can_be_read(parallax, write):
    done = parallax("info", write([w.node("Relu", ["ghost"], ["y"])], X, Y))
    assert done.returncode == 1 and "Relu" in done.stdout and "ghost" in done.stderr


def test_what_is_no_model_is_refused(refused, tmp_path):
    (tmp_path / "text").write_text("hello, world\n" * 9)
    assert "not an ONNX model" in refused(1, "info", tmp_path / "text")
    assert "No such file" in refused(1, "info", tmp_path / "gone.onnx")
    assert "--threads" in refused(2, "info", DIGITS, "--threads", 2)


@pytest.fixture
def three(write):
    """Free dimensions in two inputs, one of them with a name that a shell takes apart."""
    nodes = [w.node("Relu", ["x"], ["y"]), w.node("Neg", ["z"], ["v"])]
    return write(nodes, [w.value("x", w.FLOAT, ["batch", 3, "the height"]), w.value("z", w.FLOAT, ["length"])], [w.value("y", w.FLOAT, []), w.value("v", w.FLOAT, [])])


@pytest.mark.parametrize("command", ["run", "plan", "bench", "verify"])
def test_all_free_dimensions_are_named_at_once_with_a_command_that_does(parallax, refused, three, command):
    line = refused(1, command, three)
    assert all(name in line for name in ("'batch'", "'the height'", "'length'", "'x'", "'z'"))
    words = shlex.split(line.split("this would do: ")[1])
    assert words[:3] == ["parallax", command, str(three)]
    assert parallax(*words[1:]).returncode == 0


def test_what_is_given_is_kept_in_the_command(parallax, refused, three):
    line = refused(1, "plan", three, "--dim", "batch=2", "--threads", 1)
    assert "'batch'" not in line and "--dim batch=2 --threads 1 --dim" in line
    assert "the height=" in line and parallax(*shlex.split(line.split("this would do: ")[1])[1:]).returncode == 0


def test_no_command_is_named_where_none_is_known(refused, write):
    nodes = [w.node("MatMul", ["x", "w"], ["y"])]
    model = write(nodes, [w.value("x", w.FLOAT, [1, "k"])], [w.value("y", w.FLOAT, [])], [w.floats("w", [11, 1], [0] * 11)])
    line = refused(1, "plan", model)
    assert "'k'" in line and "--dim NAME=N" in line and "would do" not in line
