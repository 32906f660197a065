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
    assert conv["supported"] and conv["nodes"] == 21 and "winograd_4x4" in conv["kernels"] and conv["kernels"][-1] == "reference"
    assert digits["parameter_bytes"] == 4 * digits["parameters"] == sum(each["bytes"] for each in digits["weights"])


def test_the_machine_is_that_of_bench(parallax, info):
    machine = info(DIGITS)["machine"]
    caches = machine["cache_bytes"]
    assert machine["vector_bytes"] in (4, 16, 32, 64) and 0 < caches["l1"] <= caches["l2"] <= caches["last"]
    bench = parallax("bench", DIGITS, "--dim", "batch=1", "--runs", "1", "--json", "-")
    assert json.loads(bench.stdout)["machine"] == machine
    assert f"{machine['instruction_set']} with vectors of {machine['vector_bytes']} bytes" in parallax("info", DIGITS).stdout


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
    for words in ("operator sets ai.onnx 17", "image  float32 [batch, 1, 8, 8]", "Conv", "winograd_4x4, ", "parameters in", "--dim batch=1", "kernels that it gets", "with batch=1 (--dim gives other values):", "weights packed for kernels", "the least budget"):
        assert words in done.stdout, words


def names_of(need):
    return [word for dim, value in need["dims"].items() for word in ("--dim", f"{dim}={value}")]


def test_the_bytes_that_it_names_are_those_that_a_run_needs(parallax, info, zoo):
    """A run fits the least budget to the byte; without one it takes what is said."""
    for model in (DIGITS, zoo["sensors"]):
        need = info(model)["need"]
        assert [row["threads"] for row in need["thread_bytes"]] == [1, 2, 4, 8]
        for row in need["thread_bytes"]:
            words = [model, *names_of(need), "--threads", row["threads"]]
            assert parallax("run", *words, "--memory-budget", row["min_bytes"]).returncode == 0
            less = parallax("run", *words, "--memory-budget", row["min_bytes"] - 1)
            assert less.returncode == 1 and "1 bytes missing" in less.stderr
            plan = json.loads(parallax("plan", *words, "--json", "-").stdout)
            assert (plan["arena_bytes"]["parallax"], plan["scratch_bytes"]) == (row["arena_bytes"], row["scratch_bytes"])
            assert plan["packed_weight_bytes"] == need["packed_weight_bytes"] > 0


def test_bytes_are_those_of_the_dimensions_that_are_given(parallax, info):
    figures = {}
    for batch in (1, 64):
        seen = json.loads(parallax("info", DIGITS, "--dim", f"batch={batch}", "--json", "-").stdout)
        assert seen["need"]["dims"] == {"batch": batch} and seen["need"]["chosen"] == [] and seen["command"].endswith(f"--dim batch={batch}")
        figures[batch] = seen["need"]["thread_bytes"][0]["arena_bytes"]
    assert info(DIGITS)["need"]["chosen"] == ["batch"]
    assert figures[64] > 32 * figures[1] and figures[1] == info(DIGITS)["need"]["thread_bytes"][0]["arena_bytes"]
    by_shape = json.loads(parallax("info", DIGITS, "--shape", "image=64x1x8x8", "--json", "-").stdout)
    assert by_shape["need"]["thread_bytes"][0]["arena_bytes"] == figures[64]


def test_dimensions_that_do_not_fit_are_a_problem(parallax, refused, info, write):
    assert "no dimension 'bach'" in refused(2, "info", DIGITS, "--dim", "bach=1")
    model = write([w.node("MatMul", ["x", "w"], ["y"])], [w.value("x", w.FLOAT, [1, "k"])], [w.value("y", w.FLOAT, [])], [w.floats("w", [11, 1], [0] * 11)])
    assert info(model)["need"] is None and "give each free dimension a value" in parallax("info", model).stdout
    assert json.loads(parallax("info", model, "--dim", "k=11", "--json", "-").stdout)["need"]["dims"] == {"k": 11}
    wrong = parallax("info", model, "--dim", "k=12")
    assert wrong.returncode == 1 and "cannot run: " in wrong.stdout and "MatMul" in wrong.stderr


def test_kernels_are_those_that_the_nodes_get(parallax, info, write):
    seen = info(DIGITS)
    assert sum(row["nodes"] for row in seen["need"]["kernel_list"]) == seen["nodes_after_passes"]
    traced = json.loads(parallax("bench", DIGITS, "--dim", "batch=1", "--warmup", 1, "--runs", 1, "--ops", "--json", "-").stdout)["ops"]
    ran = {}
    for op in traced:
        ran[op["op"], op["kernel"]] = ran.get((op["op"], op["kernel"]), 0) + 1
    assert {(row["operator"], row["kernel"]): row["nodes"] for row in seen["need"]["kernel_list"] if row["kernel"] != "none"} == ran
    # A view needs no kernel, the size of what NonZero finds is known when it has run, and bodies count.
    body = a_graph([w.node("Exp", ["x"], ["r"])], [w.value("r", w.FLOAT, ["n", 3])])
    choice = w.node("If", ["c"], ["a"], "choice") + graph_attribute("then_branch", body) + graph_attribute("else_branch", body)
    model = write([choice, w.node("Reshape", ["a", "shape"], ["f"]), w.node("NonZero", ["f"], ["i"]), w.node("Cast", ["i"], ["y"], to=w.FLOAT)],
                  X + [w.value("c", w.BOOL, [])], [w.value("y", w.FLOAT, [1, "found"])], [w.ints("shape", [-1])])
    kernels = {(row["operator"], row["kernel"]): row["nodes"] for row in info(model)["need"]["kernel_list"]}
    assert kernels[("If", "none")] == 1 and kernels[("Reshape", "none")] == 1 and kernels[("Exp", "vector")] == 2 and kernels[("Cast", "run time")] == 1
    assert "of which only running tells the size" in parallax("info", model).stdout


def test_unsupported_operators_are_all_seen(parallax, info, write):
    model = write([w.node("Foo", ["x"], ["a"], "f1", "com.acme"), w.node("Foo", ["a"], ["b"], "f2", "com.acme"),
                   w.node("StringSplit", ["b"], ["c"]), w.node("Relu", ["c"], ["y"])], X, Y)
    seen = {(op["domain"], op["operator"]): (op["nodes"], op["supported"], op["kernels"] != []) for op in info(model)["operators"]}
    assert seen == {("com.acme", "Foo"): (2, False, False), ("ai.onnx", "StringSplit"): (1, False, False), ("ai.onnx", "Relu"): (1, True, True)}
    assert "StringSplit" in info(model)["problem"] and "command" not in info(model)
    done = parallax("info", model)
    assert done.returncode == 0 and done.stdout.count("NOT SUPPORTED") == 2 and "cannot run: " in done.stdout


def test_types_that_are_not_supported_are_seen(info, write):
    complex64 = 14
    model = write([w.node("Add", ["x", "w"], ["y"])], [w.value("x", complex64, [3])], [w.value("y", complex64, [3])],
                  [w.tensor("w", complex64, [3], b"\0" * 24)])
    seen = info(model)
    assert seen["inputs"][0]["type"] == "complex64" and "complex64" in seen["problem"]
    assert seen["weights"] == [{"type": "complex64", "tensors": 1, "parameters": 3, "bytes": 24}]


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


@pytest.mark.parametrize("command, options", [("run", []), ("plan", []), ("bench", []), ("verify", []), ("simulate", ["--profile", "pixel6"]), ("calibrate", ["--profile", "FILE"])])
def test_all_free_dimensions_are_named_at_once_with_a_command_that_does(parallax, refused, three, tmp_path, command, options):
    line = refused(1, command, three, *(tmp_path / "device.toml" if word == "FILE" else word for word in options))
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


def test_metadata(parallax, info, write):
    model = write([w.node("Relu", ["x"], ["y"])], X, Y)
    assert info(model)["metadata"] == {"producer_name": "", "producer_version": "", "domain": "", "model_version": 0, "graph_name": "test", "doc_string": "", "properties": [], "truncated": False}
    pairs = [("author", "A"), ("author", "B\x1b[31m\u0085")] + [(f"k{i}", "v") for i in range(20)]
    model.write_bytes(model.read_bytes() + w.blob(2, "maker") + w.blob(3, "1.2") + w.blob(4, "com.acme") + w.number(5, 7) + w.blob(6, "One\nTwo" + "é" * 200)
                      + b"".join(w.blob(14, w.blob(1, key) + w.blob(2, value)) for key, value in pairs))
    metadata = info(model)["metadata"]
    assert [(each["key"], each["value"]) for each in metadata["properties"]] == pairs
    assert metadata["doc_string"] == "One\nTwo" + "é" * 200 and metadata["model_version"] == 7
    text = parallax("info", model).stdout
    for line in ("producer: maker 1.2", "domain: com.acme", "model version: 7", "graph: test", "description: One\\nTwo" + "é" * 96 + "...", "  author: A", "  author: B\\x1b[31m\\x85", "  ... and 2 more"):
        assert line + "\n" in text, line


def test_nodes_that_cannot_run(parallax, info, write):
    assert info(DIGITS)["unsupported_nodes"] == []
    model = write([w.node("Gelu", ["x"], ["a"], name="first", approximate="odd"), w.node("Gelu", ["x"], ["y"], name="second", approximate="even"), w.node("Foo", ["a"], ["b"], domain="com.acme")], X, Y, opset=20)
    rows = [(each["node"], each["operator"], each["domain"]) for each in info(model)["unsupported_nodes"]]
    assert rows == [("foo", "Foo", "com.acme"), ("first", "Gelu", "ai.onnx"), ("second", "Gelu", "ai.onnx")]
    text = parallax("info", model).stdout
    assert "  Foo (com.acme) 'foo': unsupported operator" in text and "  Gelu 'second': Gelu: approximate 'even' is not covered" in text
