"""What `make demo` builds, and the wide model that it shows."""
import re
import shutil
import sys

from conftest import ROOT, needs_onnxruntime, run


def sources(*folders):
    """What the demo says that it compiles: every source that is no test."""
    return {path for folder in folders for path in (ROOT / folder).rglob("*.cc") if not path.stem.endswith(("_test", "_bench", "_fuzz"))}


def test_the_demo_compiles_what_it_shows_and_needs_no_package_of_the_tests(tmp_path):
    done = run("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DPARALLAX_BUILD_TESTS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", "-DCMAKE_BUILD_TYPE=Release")
    assert done.returncode == 0, done.stderr
    commands = run(shutil.which("ninja"), "-C", tmp_path, "-t", "commands", "parallax_cli").stdout
    compiled = set(re.findall(rf" -c ({ROOT}/\S+\.cc)", commands))
    assert compiled == {str(path) for path in sources("src", "tools/parallax")}


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
    assert "compiles 2 files (about 1 min on 2 cores" in first, done.stderr
    assert [re.sub(r"\S*scripts/", "", step) for step in steps] == ["run setup.sh run", "run build.sh --no-tests release 2 parallax_cli", "shown"]


def test_the_wide_model_runs_all_its_towers_at_once(parallax, zoo):
    for threads in (2, 8):
        assert "8 of 8 branches in parallel" in parallax("plan", zoo["sensors"], "--threads", threads, "--explain").stdout


@needs_onnxruntime
def test_the_wide_model_is_what_its_script_makes(zoo):
    sys.path.insert(0, str(ROOT / "models"))
    import onnx
    import sensors
    assert sensors.model() == onnx.load(zoo["sensors"])
