"""`cmake --install`, then an empty project that finds the package, builds and runs."""
import pytest
from conftest import BUILD, DIGITS, ROOT, SANITIZED, run


@pytest.mark.skipif(SANITIZED, reason="the package of the release build is what users install")
def test_find_package(tmp_path):
    for command in ([["cmake", "--install", BUILD, "--prefix", tmp_path / "prefix"],
                     ["cmake", "-S", ROOT / "tests" / "install", "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}", "-DCMAKE_BUILD_TYPE=Release"],
                     ["cmake", "--build", tmp_path / "build"]]):
        done = run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    done = run(tmp_path / "build" / "app", DIGITS)
    assert done.returncode == 0 and "image" in done.stdout and "batch" in done.stdout
    done = run(tmp_path / "prefix" / "bin" / "parallax", "--version")
    assert done.returncode == 0 and done.stdout.startswith("parallax ")
