"""`parallax plan`: delegates, structure, and reasons that agree with the plan."""
import json
import re

import onnx_writer as w
import pytest
from conftest import DIGITS, ROOT


def plan_of(parallax, *arguments):
    done = parallax("plan", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_regions_in_words_and_numbers(parallax, wide, small):
    plan = plan_of(parallax, wide, "--dim", "n=64", "--delegate", small)
    assert plan["regions"] == 1 and plan["delegate"] == "small"
    region = plan["region_list"][0]
    assert region["offloaded"] and region["nodes"] == 12 and region["offload_ms"] < region["cpu_ms"]
    assert region["boundary_bytes"] == 2 * 64 * 256 * 4 and region["macs"] == 9 * 64 * 256 * 256 + 3 * 64 * 256
    assert [n["node"] for n in plan["cpu_nodes"]] == ["last"] and plan["cpu_nodes"][0]["reason"] == "operator: small has no Exp"
    assert [b.get("region") for b in plan["branch_list"]] == [0, None]
    assert plan["structure"]["before"]["nodes"] == 13 and plan["structure"]["refined"]["nodes"] == 2
    done = parallax("plan", wide, "--dim", "n=64", "--delegate", small, "--explain")
    for words in ("region 0 on small: N 12, F 3.7", "T_offload", "T_cpu", "last (Exp) stays on the CPU: operator: small has no Exp", "region 0 on small, predicted"):
        assert words in done.stdout


def test_cost_models_and_limits(parallax, wide, small, tmp_path):
    def regions(*extra):
        plan = plan_of(parallax, wide, "--dim", "n=64", "--delegate", small, *extra)
        return plan["regions"], plan["region_list"][0]["reason"]

    calibration = tmp_path / "c.toml"
    calibration.write_text("launch_seconds = 10\n")
    assert regions("--cost-model", "exact")[0] == 1
    assert regions("--cost-model", "paper") == (0, "F = 7.555e+07 < 1e+09")
    assert regions("--cost-model", "paper", "--offload", "all") == (1, "F = 7.555e+07 < 1e+09")
    assert regions("--max-regions", 0) == (0, "other regions save more")
    assert regions("--max-regions", 1)[0] == 1
    measured, reason = regions("--cost-model", "measured", "--calibration", calibration)
    assert measured == 0 and reason.startswith("1e+04 ms offloaded >= ")


def test_require_full_delegation(parallax, wide, small):
    done = parallax("plan", wide, "--dim", "n=64", "--delegate", small, "--require-full-delegation")
    assert done.returncode == 1
    assert done.stdout == "last (Exp) stays on the CPU: operator: small has no Exp\n"
    assert done.stderr == "parallax: 1 of 13 nodes stay on the CPU instead of small; the list is on standard output\n"
    done = parallax("plan", wide, "--dim", "n=64", "--delegate", small, "--require-full-delegation", "--json", "-")
    assert done.returncode == 1 and json.loads(done.stdout)["cpu_nodes"][0]["node"] == "last"


@pytest.mark.parametrize("name", ["opencl-mobile", "npu-int8", "pixel6", "p30-pro", "redmi-k50"])
def test_shipped_profiles_by_name(parallax, name):
    plan = plan_of(parallax, DIGITS, "--dim", "batch=1", "--delegate", name)
    assert plan["regions"] == sum(r["offloaded"] for r in plan["region_list"])
    assert len(plan["cpu_nodes"]) + sum(r["nodes"] for r in plan["region_list"] if r["offloaded"]) == plan["structure"]["before"]["nodes"]


@pytest.mark.parametrize("arguments, status, words", [
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", "abacus"], 2, "one of npu-int8, opencl-mobile, p30-pro, pixel6, redmi-k50"),
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", "./no/such.toml"], 1, "no/such.toml"),
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", DIGITS.parent / "."], 1, "directory"),
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", "pixel6", "--cost-model", "measured"], 2, "--calibration"),
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", "pixel6", "--calibration", "c.toml"], 2, "--cost-model measured"),
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", "pixel6", "--cost-model", "guess"], 2, "--cost-model"),
    (["plan", DIGITS, "--dim", "batch=1", "--max-regions", "1"], 2, "--delegate"),
    (["plan", DIGITS, "--dim", "batch=1", "--require-full-delegation"], 2, "--delegate"),
    (["plan", DIGITS, "--dim", "batch=1", "--delegate", "pixel6", "--max-regions", "-1"], 2, "--max-regions"),
    (["plan", DIGITS, "--dim", "batch=1", "--refinement", "luck"], 2, "--refinement"),
    (["run", DIGITS, "--dim", "batch=1", "--delegate", "pixel6"], 2, "--delegate"),
])
def test_refusals(refused, arguments, status, words):
    assert words in refused(status, *arguments)


def test_structure(parallax, wide, small):
    done = parallax("plan", wide, "--dim", "n=64", "--structure")
    rows = {line[:16].strip(): line[16:].split() for line in done.stdout.splitlines()}
    assert rows[""] == ["before", "partitioned", "refined"]
    # The two sums and Exp are one chain.
    assert rows["nodes"] == ["11"] * 3 and rows["layers"][0] == rows["layers"][1]
    assert rows["max branches"] == ["3", "3", "3"]
    done = parallax("plan", wide, "--dim", "n=64", "--structure", "--delegate", small)
    rows = {line[:16].strip(): line[16:].split() for line in done.stdout.splitlines()}
    assert rows["nodes"] == ["13", "2", "2"] and rows["parallel layers"] == [rows["parallel layers"][0], "0", "0"]


def reasons_hold(plan):
    by_id = {b["id"]: b for b in plan["branch_list"]}
    assert sorted(i for layer in plan["layer_list"] for i in layer["branches"]) == sorted(by_id)
    for layer in plan["layer_list"]:
        members = [by_id[i] for i in layer["branches"]]
        parallel = [b for b in members if b["parallel"]]
        assert layer["parallel"] == len(parallel)
        if len(members) > 1 and parallel:
            assert layer["reason"].startswith(f"{len(parallel)} of {len(members)} branches in parallel")
        for branch in members:
            assert branch["reason"].startswith("runs in parallel with") == branch["parallel"]
    assert plan["parallel_layers"] == sum(layer["parallel"] > 0 for layer in plan["layer_list"])


@pytest.mark.parametrize("extra", [[], ["--scheduler", "sequential"], ["--refinement", "paper"], ["--refinement", "none"], ["--threads", 1]])
def test_reasons_agree_with_the_plan(parallax, wide, extra):
    reasons_hold(plan_of(parallax, wide, "--dim", "n=64", "--threads", 2, *extra) if "--threads" not in extra else plan_of(parallax, wide, "--dim", "n=64", *extra))


def test_a_budget_gives_reasons_in_bytes(parallax, wide):
    # More threads than a product has tiles, so that branches at once save time.
    free = plan_of(parallax, wide, "--dim", "n=64", "--threads", 8)
    whole = free["arena_bytes"]["parallax"] + free["scratch_bytes"]
    assert free["parallel_layers"] > 0
    needed = set()
    for share in range(40, 101, 5):
        budget = whole * share // 100
        done = parallax("plan", wide, "--dim", "n=64", "--threads", 8, "--memory-budget", budget, "--json", "-")
        if done.returncode != 0:
            assert " missing" in done.stderr
            continue
        plan = json.loads(done.stdout)
        reasons_hold(plan)
        assert plan["arena_bytes"]["parallax"] + plan["scratch_bytes"] <= budget
        for branch in plan["branch_list"]:
            said = re.fullmatch(r"waits: ([\d.]+) KiB over the budget of ([\d.]+) KiB", branch["reason"])
            if said:
                assert float(said[2]) == pytest.approx(budget / 1024, rel=0.01)
                needed.add(round(float(said[1]) + float(said[2])))
    # The bytes that all three branches at once need, whatever the budget. Without one, those run at once that save enough time here.
    assert len(needed) == 1, "no budget made a branch wait, or they say different sums"
    assert needed.pop() >= whole / 1024 * 0.99


def test_passes_say_what_they_changed_and_what_they_left(parallax, tmp_path):
    nodes = [w.node("Sigmoid", ["x"], ["s"]), w.node("Mul", ["x", "s"], ["y"], name="gate"), w.node("Neg", ["s"], ["z"])]
    path = tmp_path / "m.onnx"
    path.write_bytes(w.model(nodes, [w.value("x", w.FLOAT, [2, 4])], [w.value(n, w.FLOAT, [2, 4]) for n in "yz"]))
    passes = {p["name"]: p for p in plan_of(parallax, path)["pass_list"]}
    assert list(passes)[0] == "dead_code" and passes["fold_shapes"]["ms"] >= 0
    assert passes["fuse_silu"]["changes"] == 0
    assert passes["fuse_silu"]["near_misses"] == [{"reason": "something else reads the Sigmoid", "node": "gate", "count": 1}]
    done = parallax("plan", path, "--explain", "--disable-pass", "fuse_gelu")
    assert "  not gate: something else reads the Sigmoid\n" in done.stdout and "pass fuse_gelu: left out\n" in done.stdout
    assert re.search(r"^pass dead_code: 0 changes, \d+\.\d+ ms$", done.stdout, re.M)


def test_a_graph_from_a_cache_had_its_passes_before(parallax, tmp_path):
    for expected in (True, False):
        assert bool(plan_of(parallax, DIGITS, "--dim", "batch=1", "--cache", tmp_path)["pass_list"]) == expected
    done = parallax("plan", DIGITS, "--dim", "batch=1", "--cache", tmp_path, "--explain")
    assert "no pass ran: the graph came from the cache" in done.stdout


def test_passes_of_a_delegate_are_those_of_the_rest(parallax, wide, small):
    alone, beside = (plan_of(parallax, wide, "--dim", "n=64", *extra)["pass_list"] for extra in ([], ["--delegate", small]))
    assert [p["name"] for p in alone] == [p["name"] for p in beside]
    assert sum(p["changes"] for p in beside) <= sum(p["changes"] for p in alone)
