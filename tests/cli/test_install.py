"""What `make build` leaves is what `cmake --install` wants; projects outside find the package, or take the source as a folder of theirs."""
import pathlib
import re

import pytest
from conftest import BUILD, DIGITS, ROOT, SANITIZED, run

pytestmark = pytest.mark.skipif(SANITIZED, reason="the package of the release build is what users install")
APP = ROOT / "tests" / "install"


def succeed(*command):
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_find_package(tmp_path):
    succeed("cmake", "--install", BUILD, "--prefix", tmp_path / "prefix")
    succeed("cmake", "-S", APP, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}", "-DCMAKE_BUILD_TYPE=Release")
    succeed("cmake", "--build", tmp_path / "build")
    said = succeed(tmp_path / "build" / "app", DIGITS)
    assert "image" in said and "batch" in said
    assert succeed(tmp_path / "prefix" / "bin" / "parallax", "--version").startswith("parallax ")


def test_add_subdirectory(tmp_path):
    """Compiles the program alone: the library would be built a second time."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(App LANGUAGES CXX)\n"
        f"add_subdirectory({ROOT} parallax)\nadd_executable(app {APP / 'app.cc'})\ntarget_link_libraries(app PRIVATE Parallax::parallax)\n")
    succeed("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release")
    targets = succeed("ninja", "-C", tmp_path / "build", "-t", "targets", "all")
    [program] = re.findall(r"^(CMakeFiles/app\.dir/\S+): CXX", targets, re.M)
    succeed("cmake", "--build", tmp_path / "build", "--target", program)
    assert "libparallax.a" in targets and not re.search(r"_test:|px_fuzz:|parallax_cli:", targets), "tools and tests are not the outer project's"


def test_make_build_makes_all_that_is_installed():
    targets = re.search(r"^build:.*\n(?:\t.*\n)*?\t@scripts/build\.sh \S+ release \S+ (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split()
    made = set(re.findall(r" (?:-o|qc) (\S+)", succeed("ninja", "-C", BUILD, "-t", "commands", *targets)))
    wanted = [pathlib.Path(file) for script in BUILD.rglob("cmake_install.cmake")
              for file in re.findall(r'TYPE (?:EXECUTABLE|STATIC_LIBRARY) FILES "([^"]*)"', script.read_text())]
    assert len(wanted) >= 3
    for file in wanted:
        assert str(file.relative_to(BUILD)) in made, f"make build does not make {file.name}"
