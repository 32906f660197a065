"""Loads what an attacker would write (hostile/): each model comes to the end that hostile/verdicts.txt names, in one line where it
is refused, without a signal, without a hang, and within 64 MiB, 8 times the bytes of its file and 1.5 KB for each node of its main graph.

PARALLAX_UPDATE_GOLDEN=1 writes the verdicts anew; read the difference."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import BUILD, SANITIZED
from hostile import bombs, fields, flow, stored, values

HERE = pathlib.Path(__file__).parent / "hostile"
VERDICTS = HERE / "verdicts.txt"
UPDATE = os.environ.get("PARALLAX_UPDATE_GOLDEN") == "1"
CLASSES = {name: cases for module in (fields, flow, bombs, stored, values) for name, cases in module.cases().items()}
SHARE = int(os.environ.get("PARALLAX_HOSTILE_SHARE", "1"))  # looks at one case of so many, if a sanitizer makes each take long
SECONDS = 600 if SANITIZED else 60  # of processor time, for one model
MIB = 1 << 20
# Thousands of plain nodes and bodies, against work that grows with their square: minutes with a sanitizer, which sees little new there.
ABOUT_TIME = {"7 movements of one source", "7 splits", "7 choices", "7 choices of which one branch reads a hundred values", "7 a list in 4,000 branches"}


def key_of(name, case):
    return f"{name} {case.name}".encode("ascii", "backslashreplace").decode()


def job_of(case, folder, twice):
    folder.mkdir()
    if case.setup:
        case.setup(folder)
    path = folder / "model.onnx"
    path.write_bytes(case.model)
    budget = () if "--memory-budget" in case.arguments else ("--memory-budget", "64MiB")
    plan = [str(BUILD / "parallax"), "plan", str(path), *case.arguments]
    run = [str(BUILD / "parallax"), "run", str(path), *case.arguments, *case.limits, *budget]
    commands = [plan, run] if case.run else [plan]
    if twice:  # the second time what the first one kept is read
        commands += [[*plan, "--cache", str(folder / "cache")]] * 2
    return {"folder": str(folder), "commands": commands}


def results_of(jobs):
    command = [sys.executable, "-S", "-E", str(HERE / "launcher.py"), str(SECONDS)]
    done = subprocess.run(command, input=json.dumps(jobs).encode(), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def is_one_line(error):
    return error.startswith("parallax: ") and error.endswith("\n") and error[:-1].isprintable() and len(error) < 5000


def problems_of(case, commands, results):
    for number, (status, error, peak) in enumerate(results):
        command = " ".join(commands[number][1:2] + [a for a in commands[number] if a == "--cache"])
        # A run has the memory that its budget gives it besides.
        allowed = 64 * MIB + 8 * len(case.model) + 1500 * case.main_nodes + case.weights + (commands[number][1] == "run") * 64 * MIB
        # What the cache keeps of the weights is in memory once more while it is written.
        allowed += ("--cache" in commands[number]) * case.weights // 2
        if status not in (0, 1):
            yield f"{command} ends with status {status}: {error[-3000:]}"
        if status == 1 and not is_one_line(error):
            yield f"{command} fails with more than one line: {error[:3000]!r}"
        if "--cache" in commands[number] and status != results[0][0]:
            yield f"{command} with a cache ends with {status}: {error[-3000:]}"
        if status == 0 and error and "too large to hash" not in error:
            yield f"{command} warns: {error[:3000]!r}"
        if peak > allowed and not SANITIZED:
            yield f"{command} takes {peak / MIB:.0f} MiB of {allowed / MIB:.0f}"


def verdict_of(case, results):
    if case.run and results[0][0] == 0:
        return "runs" if results[1][0] == 0 else "fails"
    return "loads" if results[0][0] == 0 else "refused"


def known_verdicts():
    return dict(line.rsplit(": ", 1) for line in VERDICTS.read_text().splitlines()) if VERDICTS.exists() else {}


def keep(name, found):
    kept = {k: v for k, v in known_verdicts().items() if k.split(" ")[0] != name}
    rows = sorted({**kept, **found}.items(), key=lambda row: (int(row[0].split(" ")[0]), row[0]))
    VERDICTS.write_text("".join(f"{k}: {v}\n" for k, v in rows))


@pytest.mark.parametrize("name", sorted(CLASSES, key=int))
def test_class(name, tmp_path):
    cases = [case for case in CLASSES[name] if not (SANITIZED and key_of(name, case) in ABOUT_TIME)]
    keys = [key_of(name, case) for case in cases]
    assert len(set(keys)) == len(cases) >= 20
    cases, keys = cases[::SHARE], keys[::SHARE]
    # With a sanitizer once: large graphs take minutes then, and small ones are kept and read in other tests.
    jobs = [job_of(case, tmp_path / str(i), twice=name == "7" and not SANITIZED) for i, case in enumerate(cases)]
    results = results_of(jobs)
    found = {key: verdict_of(case, result) for key, case, result in zip(keys, cases, results)}
    if UPDATE:
        keep(name, found)
    known = known_verdicts()
    problems = [f"{key}: {problem}" for key, case, job, result in zip(keys, cases, jobs, results) for problem in problems_of(case, job["commands"], result)]
    problems += [f"{key}: {found[key]}, expected {known.get(key)}: {result[-1][1][:500]}" for key, result in zip(keys, results) if found[key] != known.get(key)]
    assert not problems, "\n".join(problems)
