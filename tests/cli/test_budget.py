"""`--memory-budget`: what reports say of it, what fits it, and what is said where nothing does."""
import json
import re

import pytest
from conftest import DIGITS

DIM = ["--dim", "batch=8"]


@pytest.mark.parametrize("text, kind, amount", [("none", "none", None), ("64MiB", "bytes", 64 << 20), ("1.5MB", "bytes", 1_500_000), ("auto", "auto", int)])
def test_reports_show_the_budget(parallax, text, kind, amount):
    for command in (["plan"], ["bench", "--warmup", 1, "--runs", 2]):
        done = parallax(*command[:1], DIGITS, *command[1:], *DIM, "--memory-budget", text, "--json", "-")
        assert done.returncode == 0, done.stderr
        budget = json.loads(done.stdout)["memory_budget"]
        assert budget["kind"] == kind and not budget["stalled"]
        assert isinstance(budget["bytes"], int) and budget["bytes"] > 1 << 20 if amount is int else budget["bytes"] == amount
    shown = parallax("plan", DIGITS, *DIM, "--memory-budget", text).stdout
    assert {"none": "memory budget: none", "bytes": "MiB", "auto": "(auto)"}[kind] in shown.splitlines()[-1]
    assert "budget" in parallax("bench", DIGITS, *DIM, "--runs", 1, "--memory-budget", text).stdout


def test_a_budget_of_megabytes_is_said_in_mib_beside_bytes(refused):
    line = refused(1, "run", DIGITS, "--dim", "batch=4096", "--threads", 1, "--memory-budget", "1.5MiB")
    needed = int(re.search(r"needs (\d+) bytes", line).group(1))
    assert f"needs {needed} bytes ({needed / 2**20:.1f} MiB), budget 1572864 bytes (1.5 MiB): {needed - 1572864} bytes" in line


def test_several_budgets_hold_and_too_small_is_one_line(parallax, refused):
    least = int(re.search(r"needs (\d+) bytes", refused(1, "run", DIGITS, *DIM, "--memory-budget", 0)).group(1))
    for command in ("run", "plan", "bench"):
        line = refused(1, command, DIGITS, *DIM, "--memory-budget", least - 1)
        assert f"needs {least} bytes ({least / 1024:.1f} KiB), budget {least - 1} bytes ({(least - 1) / 1024:.1f} KiB): 1 bytes missing" in line
    for budget in (least, least * 5 // 4, 2 * least, 8 * least):
        done = parallax("bench", DIGITS, *DIM, "--warmup", 1, "--runs", 3, "--memory-budget", budget, "--json", "-")
        assert done.returncode == 0, done.stderr
        bench = json.loads(done.stdout)
        assert 0 < bench["peak_arena_bytes"] <= budget and bench["memory_budget"] == {"kind": "bytes", "bytes": budget, "stalled": False}
        assert bench["plan_cache_bytes"] > 0


@pytest.mark.parametrize("text", ["-1", "lots", "64 MiB", "1e30GiB", "automatic", "nan", "MiB"])
def test_nonsense_is_wrong_usage(refused, text):
    assert "no amount of memory" in refused(2, "run", DIGITS, f"--memory-budget={text}")


def test_admission_by_name(parallax, refused):
    for name in ("time", "paper"):
        assert parallax("plan", DIGITS, *DIM, "--admission", name, "--memory-budget", "1MiB").returncode == 0
    assert "--admission" in refused(2, "plan", DIGITS, *DIM, "--admission", "smallest")


def test_branches_peaks_hold_alignment_and_scratch(parallax):
    plan = json.loads(parallax("plan", DIGITS, "--dim", "batch=3", "--threads", 1, "--json", "-").stdout)
    peaks = [b["peak_bytes"] for b in plan["branch_list"]]
    assert all(p % 64 == 0 for p in peaks)
    # One thread: the branch that needs most scratch needs all that is reserved.
    assert plan["scratch_bytes"] == 0 or max(peaks) >= plan["scratch_bytes"]
