"""`bench`: what it counts and reports. No test looks at how long something took."""
import json
import os
import pty
import re
import signal
import statistics
import subprocess
import termios

import pytest
from conftest import BUILD, DIGITS, ROOT

RUNS_FOR_P99 = 100


@pytest.fixture
def bench(parallax, tmp_path):
    """bench(*arguments) -> (the JSON, what was printed)"""

    def call(*arguments):
        path = tmp_path / "bench.json"
        done = parallax("bench", DIGITS, *arguments, "--json", path)
        assert done.returncode == 0, done.stderr
        return json.loads(path.read_text()), done.stdout

    return call


def test_the_contract_of_the_json(bench):
    figures, _ = bench("--dim", "batch=2", "--warmup", 1, "--runs", 3)
    assert set(figures) >= {"model", "scheduler", "threads", "load_ms", "first_run_ms", "latency_ms", "peak_rss_bytes", "arena_bytes", "cpu_ms_per_run"}
    assert set(figures["latency_ms"]) == {"min", "median", "mean", "stddev", "p90", "p95", "p99", "max"}
    assert set(figures["arena_bytes"]) == {"naive", "greedy", "lower_bound", "paper", "parallax"}


def test_runs_and_warm_ups_are_the_papers(bench, parallax):
    """P54: 20 runs after 5."""
    assert bench("--dim", "batch=2")[0]["runs"] == 20
    assert re.search(r"--warmup\b.*\(5\)", parallax("bench", "--help").stdout)


def test_samples_make_the_figures(bench):
    figures, text = bench("--dim", "batch=2", "--runs", 7)
    samples, latency = figures["samples_ms"], figures["latency_ms"]
    assert figures["runs"] == len(samples) == 7
    assert latency["min"] == min(samples) and latency["max"] == max(samples)
    assert latency["median"] == statistics.median(samples)
    assert latency["mean"] == pytest.approx(statistics.mean(samples))
    assert latency["stddev"] == pytest.approx(statistics.stdev(samples))
    assert "stddev" in text


def test_throughput_is_runs_over_time(bench):
    figures, text = bench("--dim", "batch=2", "--runs", 7)
    assert figures["runs_per_second"] == pytest.approx(7 / figures["seconds"])
    assert figures["seconds"] * 1e3 >= sum(figures["samples_ms"]) * 0.99
    assert re.search(r"throughput +[\d.]+ runs a second", text)


@pytest.mark.parametrize("runs, known", [(RUNS_FOR_P99 - 1, False), (RUNS_FOR_P99, True)])
def test_p99_needs_a_hundred_runs(bench, runs, known):
    figures, text = bench("--dim", "batch=1", "--runs", runs)
    assert (figures["latency_ms"]["p99"] is not None) == known
    assert ("p99" in text) == known


def test_one_run_has_no_deviation(bench):
    figures, text = bench("--dim", "batch=1", "--runs", 1)
    assert figures["latency_ms"]["stddev"] is None and "stddev" not in text


def test_machine_and_version(bench):
    figures, _ = bench("--dim", "batch=1", "--runs", 1)
    machine = figures["machine"]
    assert machine["cpu"] and machine["cores"] == len(os.sched_getaffinity(0))
    assert machine["instruction_set"] in ("AVX-512-BF16", "AVX-512", "AVX2", "SSE4", "SSE2", "NEON")
    version = subprocess.run([BUILD / "parallax", "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split()[-1] == figures["version"]
    if (ROOT / ".git").exists() and figures["commit"] is not None:
        assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?", figures["commit"])


@pytest.mark.parametrize("dims, runs, expected", [("batch=1..4", 6, {1: 2, 2: 2, 3: 1, 4: 1}), ("batch=1..4", 1, {1: 1, 2: 1, 3: 1, 4: 1}), ("batch=9,2", 4, {9: 2, 2: 2})])
def test_a_row_for_each_value(bench, dims, runs, expected):
    figures, text = bench("--dim", dims, "--warmup", 1, "--runs", runs)
    assert {row["dims"]["batch"]: row["runs"] for row in figures["values"]} == expected
    assert figures["runs"] == sum(expected.values())
    samples, count = figures["samples_ms"], len(expected)
    for k, row in enumerate(figures["values"]):
        assert row["latency_ms"]["max"] == max(samples[k::count])
    rows = re.findall(r"^ +(\d+) +(\d+) +[\d.]+ ", text, re.M)
    assert {int(value): int(n) for value, n in rows} == expected


def test_totals_of_operators(bench):
    figures, text = bench("--dim", "batch=2", "--runs", 2, "--ops")
    assert {total["op"] for total in figures["op_totals"]} == {op["op"] for op in figures["ops"]}
    for total in figures["op_totals"]:
        own = [op for op in figures["ops"] if op["op"] == total["op"]]
        assert total["nodes"] == len(own)
        assert total["ms"] == pytest.approx(sum(op["ms"] for op in own))
        assert total["macs"] == pytest.approx(sum(op["times"] * op["macs"] for op in own))
    assert re.search(r"nodes +operator\n", text)


def test_duration_is_a_least_time_with_each_value(bench):
    figures, _ = bench("--dim", "batch=1..3", "--duration", 0.05)
    assert figures["seconds"] >= 0.05 and figures["runs"] >= 3 and len(figures["values"]) == 3


def test_duration_and_runs_contradict_each_other(refused):
    assert "--duration" in refused(2, "bench", DIGITS, "--dim", "batch=1", "--duration", 1, "--runs", 3)


@pytest.mark.parametrize("option, value", [("--duration", 0), ("--duration", "x"), ("--concurrency", 0), ("--concurrency", -1), ("--concurrency", 1.5)])
def test_wrong_numbers(refused, option, value):
    assert option in refused(2, "bench", DIGITS, "--dim", "batch=1", option, value)


def test_callers_share_the_runs(bench):
    figures, text = bench("--dim", "batch=1..2", "--runs", 40, "--concurrency", 4)
    assert figures["concurrency"] == 4 and len(figures["samples_ms"]) == 40 and min(figures["samples_ms"]) > 0
    assert [row["runs"] for row in figures["values"]] == [20, 20]
    assert "4 callers" in text


def test_an_error_of_a_run_ends_all_callers(refused):
    assert "budget" in refused(1, "bench", DIGITS, "--dim", "batch=4", "--memory-budget", "1kB", "--concurrency", 3)


class InTerminal:
    """`bench` without an end, its standard error a terminal, past its warm-up."""

    def __init__(self, *arguments):
        self.terminal, theirs = pty.openpty()
        self.settings = termios.tcgetattr(self.terminal)
        command = [BUILD / "parallax", "bench", DIGITS, "--dim", "batch=1..2", "--runs", 1000000, "--warmup", 1, "--threads", 1, *arguments]
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.close(theirs)
        self.seen = b""
        while b"bench [" not in self.seen:
            self.seen += os.read(self.terminal, 4096)

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def interrupt(self):
        """What it printed after Ctrl-C, and all that the terminal got."""
        self.process.send_signal(signal.SIGINT)
        printed, _ = self.process.communicate(timeout=120)
        assert termios.tcgetattr(self.terminal) == self.settings, "the terminal is not as it was"
        try:
            while more := os.read(self.terminal, 4096):
                self.seen += more
        except OSError:  # the other end is closed
            pass
        os.close(self.terminal)
        return printed, self.seen


def test_ctrl_c_prints_what_there_is(tmp_path):
    running = InTerminal("--json", tmp_path / "bench.json")
    printed, terminal = running.interrupt()
    assert running.process.returncode == -signal.SIGINT  # of which a shell makes 130
    assert "until interrupted" in printed and "latency ms" in printed and "throughput" in printed
    figures = json.loads((tmp_path / "bench.json").read_text())
    assert figures["interrupted"] and 0 < figures["runs"] == len(figures["samples_ms"]) < 1000000
    assert figures["latency_ms"]["max"] == max(figures["samples_ms"])
    assert terminal.endswith(b"\r\x1b[K"), "the bar is left on the terminal"


def test_each_caller_has_a_thread():
    counts = []
    for callers in (1, 4):
        running = InTerminal("--concurrency", callers)
        counts.append(running.threads())
        running.interrupt()
    assert counts[1] - counts[0] == 3


CONVOLUTIONS = """
name = "convolutions"
[delegate]
name = "convolutions"
launch_seconds = 1e-6
macs_per_second = 1e12
bytes_per_second = 1e12
cpu_macs_per_second = 1e9
memory_bytes = 1000000000
dtypes = ["f32"]
operators = ["Conv", "Relu"]
"""


def test_the_trace_has_threads_and_the_device(parallax, tmp_path):
    path, profile = tmp_path / "trace.json", tmp_path / "convolutions.toml"
    profile.write_text(CONVOLUTIONS)
    done = parallax("bench", DIGITS, "--dim", "batch=2", "--runs", 2, "--warmup", 1, "--threads", 1, "--delegate", f"cores:{profile}", "--offload", "all", "--trace", path)
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    nodes, regions = [e for e in spans if e["cat"] == "node"], [e for e in spans if e["cat"] == "region"]
    assert nodes and all(e["dur"] >= 0 and e["args"]["op"] and e["pid"] == 1 for e in nodes)
    assert regions and all(e["args"]["predicted_ms"] > 0 and e["args"]["bytes"] > 0 and e["pid"] == 2 for e in regions)
    assert {e["args"]["name"] for e in events if e["ph"] == "M"} == {"CPU", "thread 0", "delegates", f"cores:{profile}"}
