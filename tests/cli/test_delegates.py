"""Delegates on the command line: what is listed, what runs, what is refused."""
import json

import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS

BATCH = ("--dim", "batch=2")


def test_cores_is_listed(parallax):
    listed = json.loads(parallax("delegates", "--json", "-").stdout)
    cores = next(d for d in listed if d["name"] == "cores")
    assert cores["shares_memory"] and cores["operators"] > 50 and not cores["problem"]
    assert "cores  1 thread of the CPU" in parallax("delegates").stdout


@pytest.mark.parametrize("name", ["cores", "cores:2", "cores:opencl-mobile", "cores:2,npu-int8"])
def test_the_outputs_are_the_cpus(parallax, tmp_path, name):
    outputs = []
    for folder, extra in ((tmp_path / "cpu", ()), (tmp_path / "both", ("--delegate", name, "--offload", "all"))):
        done = parallax("run", DIGITS, *BATCH, "--output-dir", folder, *extra)
        assert done.returncode == 0 and not done.stderr
        outputs.append(np.load(folder / "0.npy"))
    assert np.array_equal(*outputs)


def test_verify_goes_through_all_schedules(parallax):
    done = parallax("verify", DIGITS, *BATCH, "--delegate", "cores:opencl-mobile", "--offload", "all")
    assert done.returncode == 0 and "24 runs" in done.stdout and "with delegate 'cores:" in done.stdout


def test_sizes_that_only_running_tells_are_a_delegates_too(parallax, tmp_path):
    model = tmp_path / "picked.onnx"
    model.write_bytes(w.model(
        [w.node("NonZero", ["x"], ["found"]), w.node("Transpose", ["found"], ["rows"]),
         w.node("GatherND", ["x", "rows"], ["picked"]), w.node("Exp", ["picked"], ["y"])],
        [w.value("x", w.FLOAT, ["n", 8])], [w.value("y", w.FLOAT, ["k"])]))
    delegate = ("--delegate", "cores", "--offload", "all")
    plan = json.loads(parallax("plan", model, "--dim", "n=4", *delegate, "--json", "-").stdout)
    assert plan["regions"] == 1 and [n["op"] for n in plan["cpu_nodes"]] == ["NonZero"]
    assert "only running tells taken as 256" in plan["region_list"][0]["reason"]
    for zeros in (0, 9, 32):
        x = np.ones((4, 8), np.float32)
        x.flat[:zeros] = 0
        np.save(tmp_path / "x.npy", x)
        outputs = []
        for folder, extra in ((tmp_path / "cpu", ()), (tmp_path / "both", delegate)):
            done = parallax("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", folder, *extra)
            assert done.returncode == 0 and not done.stderr
            outputs.append(np.load(folder / "0.npy"))
        assert np.array_equal(*outputs) and outputs[0].shape == (32 - zeros,)


@pytest.fixture
def opencl(parallax):
    listed = json.loads(parallax("delegates", "--json", "-").stdout)
    found = next(d for d in listed if d["name"] == "opencl")
    if found["problem"]:
        pytest.skip("no OpenCL device: install pocl-opencl-icd")
    return found


def test_opencl_runs_within_its_tolerance(parallax, tmp_path, opencl):
    assert opencl["device"] and opencl["driver"] and opencl["operators"] > 60
    verified = parallax("verify", DIGITS, *BATCH, "--delegate", "opencl", "--offload", "all")
    assert verified.returncode == 0 and "1e-03 is allowed" in verified.stdout, verified.stderr
    outputs = []
    for folder, extra in ((tmp_path / "cpu", ()), (tmp_path / "gpu", ("--delegate", "opencl", "--offload", "all", "--require-full-delegation"))):
        assert parallax("run", DIGITS, *BATCH, "--output-dir", folder, *extra).returncode == 0
        outputs.append(np.load(folder / "0.npy"))
    assert np.abs(outputs[0] - outputs[1]).max() <= 1e-5 * np.abs(outputs[0]).max()


def test_what_stores_floats_in_16_bits_may_differ_by_more(parallax, opencl):
    done = parallax("verify", DIGITS, *BATCH, "--delegate", "opencl:f16", "--offload", "all")
    assert done.returncode == 0 and "2e-02 is allowed" in done.stdout, done.stderr


def test_opencl_takes_a_device_by_name(parallax, opencl):
    named = parallax("run", DIGITS, *BATCH, "--delegate", "opencl:" + opencl["device"][:6], "--offload", "all")
    assert named.returncode == 0 and not named.stderr
    missing = parallax("run", DIGITS, *BATCH, "--delegate", "opencl:abacus")
    assert missing.returncode == 0 and missing.stderr.startswith("parallax: warning: ") and "abacus" in missing.stderr


def test_bench_and_plan_say_what_it_gets(parallax):
    bench = json.loads(parallax("bench", DIGITS, *BATCH, "--runs", 2, "--delegate", "cores", "--offload", "all", "--json", "-").stdout)
    assert bench["regions"] == 1 and bench["delegates"][0]["failures"] == []
    plan = json.loads(parallax("plan", DIGITS, *BATCH, "--delegate", "cores", "--offload", "all", "--json", "-").stdout)
    assert plan["delegate"] == "cores" and plan["regions"] == 1


def test_several_get_what_those_before_them_left(parallax, refused, tmp_path):
    both = ("--delegate", "cores:opencl-mobile", "--delegate", "cores", "--offload", "all")
    plan = json.loads(parallax("plan", DIGITS, *BATCH, *both, "--json", "-").stdout)
    assert len({r["delegate"] for r in plan["region_list"] if r["offloaded"]}) <= 2 and not plan["cpu_nodes"]
    bench = json.loads(parallax("bench", DIGITS, *BATCH, "--runs", 2, *both, "--json", "-").stdout)
    assert [d["failures"] for d in bench["delegates"]] == [[], []]
    assert sum(d["held_bytes"] for d in bench["delegates"]) > 0
    assert parallax("run", DIGITS, *BATCH, *both, "--require-full-delegation").returncode == 0
    assert "named twice" in refused(1, "run", DIGITS, *BATCH, "--delegate", "cores", "--delegate", "cores")
    assert "not a number of bytes" in refused(2, "run", DIGITS, *BATCH, "--delegate", "cores", "--delegate-memory", "auto")


def test_full_delegation(parallax, refused):
    assert parallax("run", DIGITS, *BATCH, "--delegate", "cores", "--offload", "all", "--require-full-delegation").returncode == 0
    assert "nodes stay on the CPU" in refused(1, "run", DIGITS, *BATCH, "--delegate", "cores:npu-int8", "--offload", "all", "--require-full-delegation")


@pytest.mark.parametrize("command, more", [
    ("plan", ()), ("run", ("--delegate", "cores", "--delegate", "cores:2")), ("bench", ("--delegate", "cores", "--offload", "all")),
    ("verify", ("--delegate", "cores", "--require-full-delegation")), ("plan", ("--delegate", "cores", "--pin-plan", "no/plan.toml")),
    ("plan", ("--delegate", "cores", "--max-regions", 1)), ("simulate", ("--delegate", "opencl-mobile", "--cost-model", "paper"))])
def test_co_execution_is_refused_where_nothing_is_split(refused, command, more):
    assert ("splits nothing" if more else "requires --delegate") in refused(2, command, DIGITS, *BATCH, "--co-execution", "on", *more)


@pytest.mark.parametrize("file", ["no/such.so", DIGITS])
def test_a_library_that_does_not_load_costs_a_warning(parallax, refused, file):
    done = parallax("run", DIGITS, *BATCH, "--delegate", "mine", "--delegate-lib", file)
    assert done.returncode == 0 and done.stdout.startswith("logits")
    assert done.stderr.startswith("parallax: warning: the CPU runs everything: ") and "does not load" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "does not load" in refused(1, "run", DIGITS, *BATCH, "--delegate", "mine", "--delegate-lib", file, "--require-full-delegation")
    assert "not available" in parallax("delegates", "--delegate-lib", file).stdout


@pytest.mark.parametrize("name, message", [("abacus", "available: cores, opencl built in"), ("cores:abacus", "no device profile 'abacus'")])
def test_unknown_names_are_wrong_usage(refused, name, message):
    assert message in refused(2, "run", DIGITS, *BATCH, "--delegate", name)


def test_a_text_that_it_refuses_costs_a_warning(parallax):
    done = parallax("run", DIGITS, *BATCH, "--delegate", "cores:0")
    assert done.returncode == 0 and "delegate 'cores:0': 0 threads" in done.stderr


def test_rates_are_timed_once_and_kept(parallax, tmp_path):
    command = ("bench", DIGITS, *BATCH, "--runs", 2, "--delegate", "cores", "--cache", tmp_path, "--json", "-")

    def kept_rates():
        for _ in range(20):  # a busy machine keeps none
            done = parallax(*command)
            kept = [file for file in tmp_path.glob("rates-*.toml") if "[[samples]]" in file.read_text()]
            if kept:
                return json.loads(done.stdout), kept
        pytest.fail("no rates were kept")

    bench, kept = kept_rates()
    # On a busy machine a region may lose, and is returned then.
    assert bench["predicted_ms"] > 0 and all(r["node"] and r["reason"] for r in bench["delegates"][0]["returned"])
    assert len(kept) == 1
    kept[0].chmod(0o600)
    kept[0].write_text("garbage")
    assert kept_rates()[1] == kept
    assert "predicted_ms" in json.loads(parallax("plan", DIGITS, *BATCH, "--delegate", "cores", "--rates", "described", "--json", "-").stdout)


def test_a_pinned_plan_is_kept(parallax, refused, tmp_path):
    file = tmp_path / "plan.toml"
    delegate = ("--delegate", "cores", "--rates", "described", "--pin-plan", file)
    def regions(*more):
        return json.loads(parallax("plan", DIGITS, *BATCH, *delegate, *more, "--json", "-").stdout)["regions"]

    assert regions("--offload", "all") == 1 and 'delegate = "cores"' in file.read_text()
    assert regions() == 1 and regions("--offload", "all") == 1
    assert parallax("run", DIGITS, *BATCH, *delegate).returncode == 0
    file.write_text("\n".join("model = 7" if line.startswith("model") else line for line in file.read_text().splitlines()))
    assert "another model" in refused(1, "run", DIGITS, *BATCH, *delegate)
    file.write_text("[[plans")
    assert f"{file}:1: " in refused(1, "run", DIGITS, *BATCH, *delegate)
    assert "--pin-plan" in refused(2, "plan", DIGITS, *BATCH, "--delegate", "pixel6", "--pin-plan", file)


@pytest.fixture
def loop(tmp_path):
    """Three trips of two regions: a product and a Softmax, and the condition that is given back."""
    body = w.graph([w.node("MatMul", ["v", "weights"], ["p"]), w.node("Add", ["p", "x"], ["s"]), w.node("Softmax", ["s"], ["next"]),
                    w.node("Identity", ["go"], ["stay"])],
                   [w.value("i", w.INT64, []), w.value("go", w.BOOL, []), w.value("v", w.FLOAT, [4, 32])],
                   [w.value("stay", w.BOOL, []), w.value("next", w.FLOAT, [4, 32])])
    path = tmp_path / "loop.onnx"
    path.write_bytes(w.model([w.node("Loop", ["trips", "", "x"], ["y"], name="loop", body=body)], [w.value("x", w.FLOAT, [4, 32])],
                             [w.value("y", w.FLOAT, [4, 32])],
                             [w.ints("trips", [3]), w.floats("weights", [32, 32], [1 / 16] * 1024)]))
    return path


def test_a_loop_runs_its_regions_in_each_trip(parallax, tmp_path, loop):
    delegate = ("--delegate", "cores", "--offload", "all", "--rates", "described")
    plan = parallax("plan", loop, *delegate, "--explain")
    assert plan.returncode == 0 and "loop (Loop x 3) body: " in plan.stdout and ", 2 regions, " in plan.stdout, plan.stderr
    assert "region 0 on cores in loop/body/ x 3: " in plan.stdout and "loop/body/matmul ... loop/body/softmax" in plan.stdout
    assert "loop (Loop) stays on the CPU: operator: " in plan.stdout
    plan = json.loads(parallax("plan", loop, *delegate, "--json", "-").stdout)
    assert plan["regions"] == plan["body_list"][0]["regions"] == 2
    assert (plan["region_list"][0]["body"], plan["region_list"][0]["trips"]) == ("loop/body/", 3)
    outputs = []
    for folder, extra in ((tmp_path / "cpu", ()), (tmp_path / "both", delegate)):
        done = parallax("run", loop, "--output-dir", folder, *extra)
        assert done.returncode == 0 and not done.stderr
        outputs.append(np.load(folder / "0.npy"))
    assert np.array_equal(*outputs)
    assert parallax("bench", loop, *delegate, "--runs", 1, "--trace", tmp_path / "trace.json").returncode == 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["body"] for event in events if event.get("cat") == "region"] == ["loop/body/"] * 6
    assert parallax("verify", loop, *delegate).returncode == 0
