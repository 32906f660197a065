"""The fuzzer finds what is planted in its own results, and nothing where nothing is (docs/howto/fuzz.md)."""
import importlib.util
import json
import subprocess
import sys

import conftest
import numpy as np
import pytest
from conftest import BUILD, ROOT, SANITIZED, needs_onnxruntime

CASES = 40
SEEDS = ("--seed", "1", "--count", CASES)


def fuzz(*options):
    """The exit status, the seeds of the cases by their end, and those with a finding."""
    done = conftest.run(BUILD / "px_fuzz", *SEEDS, *options)
    lines = [line.split() for line in done.stdout.splitlines()]
    ends = {}
    for line in lines:
        if line[0] == "end":
            ends.setdefault(line[2], set()).add(line[1])
    assert sum(map(len, ends.values())) == CASES, done.stderr
    return done.returncode, ends, {line[1] for line in lines if line[0] == "finding"}


def test_nothing_is_found_where_nothing_is_planted():
    assert fuzz()[::2] == (0, set())


# A few cases have no output with bytes, no float, no dimension.
@pytest.mark.parametrize("defect, of, least", [("bit", "checked", 0.9), ("element", "checked", 0.3), ("shape", "checked", 0.9),
                                               ("error", "checked", 1.0), ("code", "failing", 1.0), ("refusal", "checked", 1.0),
                                               ("guard", "checked", 1.0)])
def test_what_is_planted_is_found(defect, of, least):
    status, ends, found = fuzz("--plant", defect)
    assert status == 1
    assert len(found & ends[of]) >= least * len(ends[of])


def module_of(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "fuzz" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["input()", "while True: pass"], ids=["waits", "is busy"])
def silent(request):
    """A process that prints a line, then no more."""
    program = [sys.executable, "-c", f"print('a line', flush=True)\n{request.param}"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_silent_process_hangs(silent, monkeypatch):
    driver = module_of("fuzz")
    monkeypatch.setattr(driver, "SILENCE", 0.2)
    assert list(driver.Fuzzer.lines(silent)) == ["a line", None]


def test_a_silent_process_that_got_little_time_does_not_hang(monkeypatch):
    driver = module_of("fuzz")
    monkeypatch.setattr(driver, "SILENCE", 0.2)
    monkeypatch.setattr(driver, "cpu_seconds", lambda pid: 0.0)
    busy = "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\nprint('a line')"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE, text=True) as process:
        assert list(driver.Fuzzer.lines(process)) == ["a line"]


@pytest.fixture(scope="module")
def comparison():
    return module_of("compare_onnxruntime")


@pytest.fixture
def compared(tmp_path, comparison, capfd):
    """compared(disturb) -> the lines of the comparison of a written case, of whose first run disturb(run, folder) changed something."""
    assert conftest.run(BUILD / "px_fuzz", *SEEDS, "--write", tmp_path).returncode == 0

    def is_plain(folder):
        case = json.loads((folder / "case.json").read_text())
        outputs = case["runs"][0]["outputs"] if "refusal" not in case else []
        return (bool(outputs) and comparison.differences(folder, case) == ("compared", []) and outputs[0]["stable"] == "elements"
                and outputs[0]["file"] and (first := np.load(folder / outputs[0]["file"])).dtype == np.float32 and first.ndim and first.size)

    folder = next(folder for folder in sorted(tmp_path.iterdir()) if is_plain(folder))

    def call(disturb=None):
        case = json.loads((folder / "case.json").read_text())
        if disturb:
            disturb(case["runs"][0], folder)
        (folder / "case.json").write_text(json.dumps(case))
        capfd.readouterr()
        comparison.compare_apart(folder)
        return capfd.readouterr().out.splitlines()

    return call


def change(file, function):
    np.save(file, function(np.load(file)))


@needs_onnxruntime
@pytest.mark.skipif(SANITIZED, reason="compared in the release build")
@pytest.mark.parametrize("disturb, said", [
    (lambda run, folder: change(folder / run["outputs"][0]["file"], lambda x: x + 1), "ONNX Runtime says"),
    (lambda run, folder: change(folder / run["outputs"][0]["file"], lambda x: x[None]), "ONNX Runtime says float32"),
    (lambda run, folder: run.update(error="planted"), "planted; ONNX Runtime runs it"),
    (lambda run, folder: run["outputs"].pop(), "the comparison fails: ValueError"),
    (lambda run, folder: (folder / run["outputs"][0]["file"]).unlink(), "the comparison fails: FileNotFoundError"),
])
def test_what_is_planted_in_a_comparison_is_found(compared, disturb, said):
    assert not [line for line in compared() if line.startswith("finding")]
    found = [line for line in compared(disturb) if line.startswith("finding")]
    assert found and said in found[0]


@needs_onnxruntime
def test_a_row_explains_what_is_behind_its_operator_alone(comparison):
    what = "run 0, output 1: 1.0, ONNX Runtime says 2.0 at [0] of (3,)"
    assert comparison.explained(what, ["NonZero", "Relu"], ["NonZero"])
    assert not comparison.explained(what, ["NonZero", "Relu"], [])
    assert not comparison.explained("run 0: Relu fails; ONNX Runtime runs it", ["NonZero", "Pad", "Relu"], [])
