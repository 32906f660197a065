"""Options that mean nothing, or contradict each other, the model or the command, end with 2 before anything runs."""
import json

import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS

BATCH = ("--dim", "batch=1")


@pytest.fixture
def two_rows(tmp_path):
    np.save(tmp_path / "two.npy", np.zeros((2, 1, 8, 8), np.float32))
    return ("--input", f"image={tmp_path / 'two.npy'}")


@pytest.mark.parametrize("option, value", [
    ("--dim", "batch=abc"), ("--dim", "batch"), ("--dim", "=3"), ("--dim", "batch="), ("--dim", "batch=-1"), ("--dim", "batch=1.5"), ("--dim", f"batch={2**64}"),
    ("--dim", "batch=3..1"), ("--dim", "batch=1,"), ("--dim", "other=1"), ("--shape", "image"), ("--shape", "image="), ("--shape", "image=1x1x8xeight"),
    ("--shape", "image=1x1x8"), ("--shape", "image=1x1x8x9"), ("--shape", "other=1"), ("--input", "ok.npy"), ("--input", "other=ok.npy"), ("--threads", "0"),
    ("--threads", "two"), ("--threads", "1.5"), ("--scheduler", "fast"), ("--precision", "f64"), ("--memory-budget", "64MB5"), ("--memory-budget", "nan"),
    ("--admission", "all"), ("--refinement", "some"), ("--max-loop-trips", "-1"), ("--max-loop-trips", "1e3"), ("--time-limit", "-1"), ("--time-limit", "nan"),
    ("--time-limit", "soon"), ("--max-nesting", "65"), ("--seed", "-1"), ("--seed", "x"), ("--cache", None), ("--output-dir", None),
])
def test_values_of_run_that_mean_nothing(refused, option, value):
    line = refused(2, "run", DIGITS, option, *([] if value is None else [value]))
    assert option in line


@pytest.mark.parametrize("command, arguments, words", [
    ("bench", ["--runs", "0"], "--runs"), ("bench", ["--warmup", "-1"], "--warmup"), ("bench", ["--dim", "batch=1..abc"], "--dim"),
    ("bench", ["--dim", "batch=1..1000000000"], "--dim"), ("bench", ["--json"], "--json"),
    ("plan", ["--max-regions", "1"], "--delegate"), ("plan", ["--delegate", "abacus"], "abacus"), ("plan", ["--delegate", "pixel6", "--cost-model", "best"], "best"),
    ("plan", ["--delegate", "pixel6", "--cost-model", "measured"], "--calibration"), ("plan", ["--delegate", "pixel6", "--calibration", "x.toml"], "measured"),
    ("plan", ["--require-full-delegation"], "--delegate"), ("run", ["--rates", "measured"], "--delegate"), ("run", ["--pin-plan", "x"], "--delegate"),
    ("run", ["--delegate", "cores", "--rates", "guessed"], "guessed"), ("simulate", [], "--profile"), ("simulate", ["--profile", "abacus"], "abacus"),
    ("simulate", ["--profile", "pixel6", "--threads", "9"], "8 cores"), ("simulate", ["--profile", "opencl-mobile"], "no cores"), ("calibrate", [], "--profile"),
])
def test_values_of_other_commands(refused, command, arguments, words):
    dims = [] if "--dim" in arguments else BATCH
    assert words in refused(2, command, DIGITS, *dims, *arguments)


@pytest.mark.parametrize("command, option", [
    ("verify", ["--scheduler", "layers"]), ("verify", ["--threads", "2"]), ("verify", ["--memory-budget", "1MiB"]), ("verify", ["--json", "x"]),
    ("plan", ["--time-limit", "3"]), ("plan", ["--max-loop-trips", "3"]), ("plan", ["--input", "image=x.npy"]), ("simulate", ["--time-limit", "3"]),
    ("calibrate", ["--threads", "2"]), ("calibrate", ["--scheduler", "layers"]), ("calibrate", ["--memory-budget", "1MiB"]), ("calibrate", ["--refinement", "paper"]),
    ("info", ["--threads", 2]),
])
def test_options_that_a_command_would_ignore(refused, command, option):
    line = refused(2, command, DIGITS, *option)
    assert command in line and option[0] in line


def test_unknown_commands_and_options_are_named(refused):
    line = refused(2, "frobnicate")
    assert "unknown command 'frobnicate'" in line and "calibrate" in line and "run" in line
    assert "frobnicate" in refused(2, "frobnicate", DIGITS, "--threads", 2)
    assert "--frobnicate" in refused(2, "run", DIGITS, "--frobnicate")
    assert "--frobnicate" in refused(2, "--frobnicate")


def test_a_file_of_other_rows_than_the_dimension(refused, parallax, two_rows):
    for given in (("--dim", "batch=3"), ("--shape", "image=3x1x8x8")):
        line = refused(2, "run", DIGITS, *two_rows, *given)
        assert all(words in line for words in ("two.npy", "'batch'", "2", "3"))
    assert parallax("run", DIGITS, *two_rows, "--dim", "batch=2").returncode == 0


def test_a_dimension_that_is_given_twice(refused, parallax):
    line = refused(2, "run", DIGITS, "--dim", "batch=1", "--dim", "batch=2")
    assert "'batch'" in line and "1" in line and "2" in line
    refused(2, "run", DIGITS, "--dim", "batch=1", "--shape", "image=2x1x8x8")
    refused(2, "bench", DIGITS, "--dim", "batch=1..4", "--dim", "batch=1..5")
    refused(2, "bench", DIGITS, "--dim", "batch=1..4", "--shape", "image=2x1x8x8")
    assert parallax("run", DIGITS, "--dim", "batch=2", "--shape", "image=2x1x8x8").returncode == 0


def test_a_range_and_a_file_that_has_one_of_its_values(refused, two_rows):
    assert "'batch'" in refused(2, "bench", DIGITS, "--dim", "batch=1..4", *two_rows)


def test_an_input_that_is_given_twice(refused, two_rows):
    assert "twice" in refused(2, "run", DIGITS, *two_rows, *two_rows)


def test_two_files_that_contradict_each_other_are_inputs_at_fault(refused, tmp_path):
    model = tmp_path / "two.onnx"
    model.write_bytes(w.model([w.node("Add", ["a", "b"], ["y"])], [w.value("a", w.FLOAT, ["n"]), w.value("b", w.FLOAT, ["n"])], [w.value("y", w.FLOAT, ["n"])]))
    np.save(tmp_path / "2.npy", np.zeros(2, np.float32))
    np.save(tmp_path / "3.npy", np.zeros(3, np.float32))
    assert "'b'" in refused(1, "run", model, "--input", f"a={tmp_path / '2.npy'}", "--input", f"b={tmp_path / '3.npy'}")


def test_a_symbol_with_an_equals_sign(parallax, tmp_path):
    model = tmp_path / "m.onnx"
    model.write_bytes(w.model([w.node("Relu", ["a=b"], ["y"])], [w.value("a=b", w.FLOAT, ["n=m"])], [w.value("y", w.FLOAT, ["n=m"])]))
    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))
    assert parallax("run", model, "--dim", "n=m=2").returncode == 0
    assert parallax("run", model, "--shape", "a=b=2").returncode == 0
    assert parallax("run", model, "--input", f"a=b={tmp_path / 'x.npy'}").returncode == 0


def test_verify_takes_the_limits_and_the_rules(parallax, refused, tmp_path):
    body = (b"".join(w.blob(11, v) for v in (w.value("i", w.INT64, []), w.value("go", w.BOOL, []), w.value("s", w.FLOAT, [1])))
            + w.blob(1, w.node("Identity", ["go"], ["go2"])) + w.blob(1, w.node("Neg", ["s"], ["s2"])) + w.blob(2, "b")
            + b"".join(w.blob(12, v) for v in (w.value("go2", w.BOOL, []), w.value("s2", w.FLOAT, [1]))))
    loop = w.node("Loop", ["trips", "", "x"], ["y"], "loop") + w.blob(5, w.blob(1, "body") + w.blob(6, body) + w.number(20, 5))
    model = tmp_path / "loop.onnx"
    model.write_bytes(w.model([loop], [w.value("x", w.FLOAT, [1])], [w.value("y", w.FLOAT, [1])], [w.tensor("trips", w.INT64, [], (7).to_bytes(8, "little"))]))
    assert parallax("verify", model).returncode == 0
    assert "loop" in refused(1, "verify", model, "--max-loop-trips", 6)
    assert parallax("verify", DIGITS, *BATCH, "--refinement", "paper", "--admission", "paper").returncode == 0


@pytest.mark.parametrize("command, option", [("run", "--cache"), ("run", "--output-dir"), ("plan", "--delegate"), ("plan", "--json"), ("simulate", "--profile"), ("verify", "--expected"), ("run", "--dim"), ("run", "--input")])
def test_an_empty_value_is_wrong_usage(refused, command, option):
    """As `--cache "$UNSET"` gives it: ignoring it would be a surprise."""
    assert option in refused(2, command, DIGITS, "--dim", "batch=1", option, "")
    assert "MODEL" in refused(2, command, "")


@pytest.mark.parametrize("option, value, limits", [
    ("--seed", -1, "not a whole number from 0 to 18446744073709551615"), ("--seed", "abc", "not a whole number from 0 to 18446744073709551615"), ("--time-limit", "nan", "not a number from 0 to 100000000"),
    ("--time-limit", -1, "not a number from 0 to 100000000"), ("--threads", 0, "not a whole number from 1 to 1024"), ("--threads", 10**30, "not a whole number from 1 to 1024"), ("--top", "1.5", "not a whole number from 1 to 1000000"),
])
def test_numbers_say_their_limits(refused, option, value, limits):
    assert refused(2, "run", DIGITS, "--dim", "batch=1", option, value) == f"parallax: {option}: '{value}' is {limits} (parallax run --help lists options)"


def test_the_largest_seed_is_a_seed(parallax):
    assert parallax("run", DIGITS, "--dim", "batch=1", "--seed", 2**64 - 1).returncode == 0


def test_what_is_missing_is_named_with_the_help_that_tells_of_it(refused):
    assert refused(2, "bench") == "parallax: MODEL is required (parallax bench --help lists options)"
    assert "expected NAME=FILE" in refused(2, "run", DIGITS, "--input", "image=")
    assert "expected NAME=FILE" in refused(2, "run", DIGITS, "--image", "a.png")


def test_the_one_input_of_a_model_needs_no_name(parallax, tmp_path):
    np.save(tmp_path / "row.npy", np.zeros((1, 1, 8, 8), np.float32))
    assert parallax("run", DIGITS, "--input", f"={tmp_path / 'row.npy'}").returncode == 0


@pytest.mark.parametrize("values", ["5..1", "1..999999999"])
def test_ranges_say_what_they_may_be(refused, values):
    assert "upwards and of at most 100000 values" in refused(2, "bench", DIGITS, "--dim", f"batch={values}")


@pytest.mark.parametrize("rows", [2**21 + 1, 2**50])
def test_an_input_that_is_too_large_to_make_up_is_named(refused, rows):
    line = refused(1, "run", DIGITS, "--dim", f"batch={rows}")
    assert f"input 'image' (float32) {rows}x1x8x8 is too large" in line and "--input gives" in line


def test_passes_are_left_out_by_name(parallax, refused):
    nodes = [json.loads(parallax("plan", DIGITS, *BATCH, "--json", "-", *(f for name in names for f in ("--disable-pass", name))).stdout)["nodes"]
             for names in ([], ["fuse_activation"], ["fuse_activation", "fuse_conv_bn"])]
    assert nodes[0] < nodes[1] <= nodes[2]
    line = refused(2, "run", DIGITS, *BATCH, "--disable-pass", "fuse_nothing")
    assert "fuse_nothing" in line and "fuse_attention" in line
