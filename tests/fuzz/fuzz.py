#!/usr/bin/env python3
"""Drives px_fuzz: batches of seeds on all cores, each batch in a process of its own, compared with ONNX Runtime where it is
installed. Crashes, hangs and growing memory are findings. docs/howto/fuzz.md says how to go on from a finding.
"""
import argparse
import collections
import datetime
import importlib.util
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 50
SILENCE = 120  # seconds without a line are a hang, if the process had that much CPU time or waits: a case takes tens of milliseconds
MOST_GROWTH = 2 << 20  # bytes of heap that a batch may leave behind, caches of the process included
MOST_RESIDENT_KB = 2 << 20
SANITIZED_LIMIT = "hard_rss_limit_mb=4096"  # px_fuzz limits its addresses, but where a sanitizer needs them


def fields_of(stat):
    """/proc/PID/stat from the state on."""
    return stat.read_text().rpartition(")")[2].split()


def cpu_seconds(pid):
    fields = fields_of(pathlib.Path(f"/proc/{pid}/stat"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lacks_time(pid, used):
    """Whether a silent process is suspended, or could run but gets little of a CPU: neither hangs. `used`: its CPU seconds before."""
    states = {fields_of(task / "stat")[0] for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}
    could_run = states & set("RD") and cpu_seconds(pid) - used < SILENCE
    return bool(states & set("Tt") or could_run)


class Fuzzer:
    def __init__(self, arguments):
        self.program, self.seeds = [*arguments.emulator.split(), arguments.program], arguments.seeds
        self.next = arguments.seed
        self.end = None if arguments.cases is None else arguments.seed + arguments.cases
        self.deadline = None if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
        self.compare = importlib.util.find_spec("onnxruntime") is not None and not arguments.no_onnxruntime
        self.lock = threading.Lock()
        self.findings, self.outcomes, self.operators = {}, collections.Counter(), collections.Counter()

    def take(self):
        """The next batch of seeds; nothing when time or seeds are over."""
        with self.lock:
            if self.deadline is not None and time.monotonic() > self.deadline:
                return None
            if self.seeds is not None:
                return [self.seeds.pop()] if self.seeds else None
            first, self.next = self.next, self.next + BATCH
            seeds = range(first, self.next if self.end is None else min(self.next, self.end))
            return list(seeds) or None

    def report(self, seed, what):
        with self.lock:
            if seed not in self.findings:
                print(f"seed {seed}: {what}", flush=True)
            self.findings.setdefault(seed, what)

    def run(self):
        while (seeds := self.take()) is not None:
            with tempfile.TemporaryDirectory(prefix="px_fuzz.") as folder:
                first = seeds[0]
                while first is not None and first <= seeds[-1]:
                    first = self.run_batch(first, seeds[-1] - first + 1, folder)
                if self.compare:
                    self.compare_batch(folder)

    def run_batch(self, seed, count, folder):
        """Runs the seeds; the one to go on with where one of them ended the process."""
        command = [*self.program, "--seed", str(seed), "--count", str(count)] + (["--write", folder] if self.compare else [])
        environment = dict(os.environ, TMPDIR=folder)
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
            environment[name] = ":".join(filter(None, [environment.get(name), SANITIZED_LIMIT]))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
        errors = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr.readlines()[-400:]), daemon=True)
        reader.start()
        at, hangs, heap = None, False, []
        for line in self.lines(process):
            if line is None:
                hangs = True
                process.kill()
                break
            word, _, rest = line.partition(" ")
            if word == "begin":
                at = int(rest)
            elif word == "finding":
                self.report(*self.split(rest))
            elif word == "end":
                number, outcome, held, _ = (rest + "   ").split(" ", 3)
                heap.append(int(held))
                at = None
                self.outcomes[outcome] += 1
            elif word == "operators":
                for entry in rest.split():
                    name, _, amount = entry.partition("=")
                    self.operators[name] += int(amount)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        reader.join()
        if usage.ru_maxrss > MOST_RESIDENT_KB:
            self.report(seed, f"this seed and the {count - 1} after it took {usage.ru_maxrss >> 10} MiB")
        if len(heap) == BATCH and min(heap[-10:]) - min(heap[10:20]) > MOST_GROWTH:
            self.report(seed, f"this seed and the {count - 1} after it leave {min(heap[-10:]) - min(heap[10:20])} bytes behind")
        if not hangs and process.returncode in (0, 1):
            return None
        how = "hangs" if hangs else f"ends with {self.text_of(process.returncode)}"
        where = seed if at is None else at
        self.outcomes["crashed"] += 1
        self.report(where, f"{how} {' '.join(line.strip() for line in errors[:6])[:400]}")
        return where + 1

    @staticmethod
    def lines(process):
        """Lines as they come; None, and no more, after too long a silence."""
        text, used = "", 0.0
        while True:
            # In two parts: one may have been spent with this program suspended.
            if not any(select.select([process.stdout], [], [], SILENCE / 2)[0] for _ in range(2)):
                if lacks_time(process.pid, used):
                    continue
                yield None
                return
            used = cpu_seconds(process.pid)
            data = os.read(process.stdout.fileno(), 1 << 16).decode(errors="replace")
            if not data:
                return
            *whole, text = (text + data).split("\n")
            yield from whole

    @staticmethod
    def split(text):
        seed, _, what = text.partition(" ")
        return int(seed), what

    @staticmethod
    def text_of(code):
        return signal.Signals(-code).name if code < 0 else f"status {code}"

    def compare_batch(self, folder):
        cases = sorted(str(path) for path in pathlib.Path(folder).iterdir() if (path / "case.json").exists())
        if not cases:
            return
        script = ROOT / "tests" / "fuzz" / "compare_onnxruntime.py"
        done = subprocess.run([sys.executable, script, *cases], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word == "finding":
                self.report(*self.split(rest))
            elif word == "end":
                outcome = self.split(rest)[1]
                self.outcomes["ONNX Runtime: " + outcome.partition(":")[0]] += 1
        if done.returncode not in (0, 1):
            self.report(int(pathlib.Path(cases[0]).name), f"comparing fails: {done.stderr.strip()[-300:]}")
        ended = done.stdout.count("\nend ") + done.stdout.startswith("end ") + done.stdout.count("the comparison ")
        if ended < len(cases):
            self.report(int(pathlib.Path(cases[0]).name), f"{len(cases) - ended} of the {len(cases)} cases from here on were not compared")

    def summary(self):
        print("cases:", ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items())))
        print("nodes:", ", ".join(f"{name} {count}" for name, count in sorted(self.operators.items())))
        if not self.compare:
            print("ONNX Runtime is not installed (make venv installs it): nothing was compared with it")
        print(f"findings: {len(self.findings)}")
        for seed, what in sorted(self.findings.items()):
            print(f"  {seed}: {what[:200]}")


def kept_seeds():
    lines = (ROOT / "tests" / "fuzz" / "seeds.txt").read_text().splitlines()
    return [int(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "px_fuzz"))
    parser.add_argument("--emulator", default="", help="what runs the program, where this machine cannot: \"qemu-aarch64 -L FOLDER\"")
    parser.add_argument("--minutes", type=float, help="how long; forever without this and --cases")
    parser.add_argument("--cases", type=int, help="how many seeds")
    parser.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")) * 10_000_000, help="the first one")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kept", action="store_true", help="the seeds of seeds.txt and no others")
    parser.add_argument("--no-onnxruntime", action="store_true")
    arguments = parser.parse_args()
    arguments.seeds = kept_seeds() if arguments.kept else None
    print(f"first seed {arguments.seed}" if not arguments.kept else f"{len(arguments.seeds)} kept seeds", flush=True)
    fuzzer = Fuzzer(arguments)
    workers = [threading.Thread(target=fuzzer.run) for _ in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    fuzzer.summary()
    return 1 if fuzzer.findings else 0


if __name__ == "__main__":
    sys.exit(main())
