"""What is in the package's folder apart from Python: headers for delegates, the tool, and what a wheel says of itself."""
import importlib.metadata
import pathlib
import shutil
import subprocess

import pytest

import parallax

FOLDER = pathlib.Path(parallax.__file__).parent
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(Delegate LANGUAGES C)
find_package(Parallax {version} EXACT REQUIRED)
add_library(delegate MODULE delegate.c)
target_link_libraries(delegate PRIVATE Parallax::headers)
"""
SOURCE = """
#include "parallax/delegate.h"
#include "parallax/version.h"
const char version[] = PARALLAX_VERSION;
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_cmake_finds_the_headers(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(version=parallax.__version__))
    (tmp_path / "delegate.c").write_text(SOURCE)
    for command in (["-S", tmp_path, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={FOLDER}"], ["--build", tmp_path]):
        done = subprocess.run(["cmake", *command], text=True, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert parallax.__version__.encode() in (tmp_path / "libdelegate.so").read_bytes()


def test_the_tool_is_that_of_the_package():
    done = subprocess.run([FOLDER / "bin" / "parallax", "--version"], text=True, capture_output=True)
    assert done.stdout.split()[:2] == ["parallax", parallax.__version__], done.stderr


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
@pytest.mark.parametrize("file", [FOLDER / "bin" / "parallax", *FOLDER.glob("_native*.so")], ids=lambda file: file.name)
def test_nothing_can_use_the_network(file):
    done = subprocess.run(["nm", "-D", "--undefined-only", file], text=True, capture_output=True, check=True)
    called = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    assert "mmap" in called or "mmap64" in called
    assert not called & {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "send", "sendto", "sendmsg", "recv", "recvfrom",
                         "recvmsg", "getaddrinfo", "gethostbyname", "gethostbyname_r", "res_query"}


def test_a_wheel_says_what_it_is():
    try:
        wheel = importlib.metadata.distribution("parallax-runtime")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed from a wheel")
    files = {str(file) for file in wheel.files or []}
    assert wheel.version == parallax.__version__ and FOLDER.is_relative_to(wheel.locate_file(""))
    assert wheel.metadata["License-Expression"] == "Apache-2.0" and any(file.endswith("licenses/LICENSE") for file in files)
    assert files >= {"parallax/py.typed", "parallax/_native.pyi"}
    for library in ("libfmt-dev", "libre2-dev", "libflatbuffers-dev", "nlohmann-json3-dev", "nanobind"):
        assert "opyright" in (FOLDER / "licenses" / f"{library}.txt").read_text(encoding="utf-8"), library
    assert [(script.name, script.value) for script in wheel.entry_points] == [("parallax", "parallax.__main__:main")]
