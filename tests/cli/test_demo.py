"""What `make demo` builds, says and shows, and its wide model."""
import re
import shutil
import sys

import numpy as np
import pytest
from conftest import BUILD, ROOT, needs_onnxruntime, run

sys.path.insert(0, str(ROOT / "scripts"))
import demo  # noqa: E402


def sources(*folders):
    """What the demo says that it compiles: every source that is no test."""
    return {path for folder in folders for path in (ROOT / folder).rglob("*.cc") if not path.stem.endswith(("_test", "_bench", "_fuzz"))}


def test_the_demo_compiles_what_it_shows_and_needs_no_package_of_the_tests(tmp_path):
    done = run("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DPARALLAX_BUILD_TESTS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", "-DCMAKE_BUILD_TYPE=Release")
    assert done.returncode == 0, done.stderr
    commands = run(shutil.which("ninja"), "-C", tmp_path, "-t", "commands", "parallax_cli").stdout
    compiled = set(re.findall(rf" -c ({ROOT}/\S+\.cc)", commands))
    assert compiled == {str(path) for path in (*sources("src", "tools/parallax"), *(ROOT / "cmake").glob("*.cc"))}


def test_the_demo_says_before_how_much_it_compiles(tmp_path):
    for name in ("scripts/demo.sh", "scripts/setup.sh", "scripts/build.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("setup.sh", "build.sh"):
        (tmp_path / "scripts" / name).write_text("#!/bin/sh\necho run $0 $@\n")
    (tmp_path / "scripts" / "demo.py").write_text("print('shown')\n")
    for name in ("a.cc", "b.cc", "a_test.cc"):
        path = tmp_path / "src" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "tools" / "parallax").mkdir(parents=True)
    done = run("bash", tmp_path / "scripts" / "demo.sh", 2)
    first, *steps = done.stdout.splitlines()
    assert "compiles 2 files (about 1 min on 2 cores" in first and re.search(r"takes \d+ MB in build/", first), done.stderr
    assert [re.sub(r"\S*scripts/", "", step) for step in steps] == ["run setup.sh run", "run build.sh --no-tests release 2 parallax_cli", "shown"]


def test_the_size_that_the_demo_says_is_that_of_its_models_and_little_more(zoo):
    said = int(re.search(r"^MB_ON_DISK=(\d+)", (ROOT / "scripts" / "demo.sh").read_text(), re.M).group(1))
    assert 0 < said - sum(model.stat().st_size for model in zoo.values()) / 2**20 < 100
    assert f"{said / 1000:.1f} GB in `build`" in (ROOT / "README.md").read_text()


@pytest.fixture
def demo_of_one(zoo, monkeypatch):
    """The demo, of the wide model only, with this build's tool and without ONNX Runtime."""
    tool = BUILD / "parallax"
    monkeypatch.setattr(demo, "CLI", tool)
    monkeypatch.setattr(demo, "SHOWN", ("sensors",))
    monkeypatch.setattr(demo, "HAS_PEER", False)
    monkeypatch.setattr(demo, "unpack_zoo", lambda: zoo.values())
    monkeypatch.setattr(demo.engines, "turn", lambda engine, case, folder, threads: demo.engines.parallax(case, folder, threads, cli=tool))
    return demo


def test_what_the_demo_shows(demo_of_one, capsys):
    assert demo_of_one.main() == 0
    digits, plans, times, branches, hint = (part.splitlines() for part in capsys.readouterr().out.strip().split("\n\n"))
    for file, line in zip(("digits.onnx", "digits.tflite"), digits, strict=True):
        assert re.fullmatch(rf"{file}: (9[789]\.\d|100\.0)% of \d+ held-out digits right; 12 schedules, the same bits", line)
    assert plans[0].split()[0] == "plan" and plans[1].split()[:2] == ["sensors", "222"]
    assert re.fullmatch(r"\d+ threads +ms +peak MiB", times[0]) and re.fullmatch(r"sensors +\d+\.\d\d +\d+", times[1])
    assert "one branch at a time" in branches[0] and "parallel branches" in branches[0]
    assert [re.fullmatch(r" (\d) threads +\d+\.\d{3} +\d+\.\d{3}(  \(this machine has \d+ CPUs\))?", line).group(1) for line in branches[1:]] == ["1", "2", "4"]
    assert "`make venv`" in hint[0]


def test_the_demo_beside_onnx_runtime(monkeypatch):
    ours, theirs = {"ms": 2.0, "mib": 30.0}, {"ms": 2.5, "mib": 60.0}
    monkeypatch.setattr(demo, "SHOWN", ("yolov8n", "sensors"))
    monkeypatch.setattr(demo, "HAS_PEER", True)
    monkeypatch.setattr(demo, "parallax", lambda *_: '{"latency_ms": {"median": 0.5}}')
    monkeypatch.setattr(demo.engines, "turn", lambda engine, case, *_: ours if engine == "parallax" else theirs if case == "yolov8n" else None)
    head, yolo, sensors = demo.times(2)
    assert head.split() == ["2", "threads", "ms", "ONNX", "Runtime", "ratio", "peak", "MiB", "ONNX", "Runtime", "ratio"]
    assert yolo.split() == ["yolov8n", "2.00", "2.50", "0.80", "30", "60", "0.50"] and sensors.split() == ["sensors", "2.00", "-", "-", "30", "-", "-"]
    assert len(head) == len(yolo) == len(sensors)
    assert [line.split()[:5] for line in list(demo.branches())[1:]] == [[str(threads), "threads", "0.500", "0.500", "-"] for threads in (1, 2, 4)]


def test_wrong_digits_and_different_bits_fail_the_demo(demo_of_one, monkeypatch):
    right = demo_of_one.parallax
    monkeypatch.setattr(demo, "plans", lambda _: [])
    monkeypatch.setattr(demo, "times", lambda _: [])
    monkeypatch.setattr(demo, "branches", lambda: [])
    for seldom in (True, False):  # one schedule, all of them

        def disturbed(*words, seldom=seldom):
            text = right(*words)
            if "--output-dir" in words and (not seldom or words[words.index("--threads") + 1] == 8):
                path = f"{words[-1]}/0.npy"
                np.save(path, -np.load(path))
            return text

        monkeypatch.setattr(demo, "parallax", disturbed)
        assert demo_of_one.main() == 1


def test_the_wide_model_runs_all_its_towers_at_once(parallax, zoo):
    for threads in (2, 8):
        assert "8 of 8 branches in parallel" in parallax("plan", zoo["sensors"], "--threads", threads, "--explain").stdout


@needs_onnxruntime
def test_the_wide_model_is_what_its_script_makes(zoo):
    sys.path.insert(0, str(ROOT / "models"))
    import onnx
    import sensors
    assert sensors.model() == onnx.load(zoo["sensors"])
