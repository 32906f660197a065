"""The delegate of docs/howto/write-a-delegate.md, built as an outsider would, and run."""
import re
import shutil
import subprocess

import numpy as np
import onnx_writer as w
import pytest
from conftest import EMULATOR, ROOT, SANITIZED

pytestmark = [
    pytest.mark.skipif(SANITIZED, reason="the sanitizers' runtime would have to come first in the library"),
    pytest.mark.skipif(bool(EMULATOR), reason="the compiler here builds for another machine"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]
PAGE = ROOT / "docs" / "howto" / "write-a-delegate.md"


def build(folder, name):
    source = re.search(r"```c\n(.*?)```", PAGE.read_text(), re.S).group(1)
    (folder / "plain.c").write_text(source.replace('.name = "plain"', f'.name = "{name}"'))
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I", ROOT / "include")
    subprocess.run(["cc", *map(str, flags), "-o", str(folder / "plain.so"), str(folder / "plain.c"), "-lm", "-lpthread"], check=True)
    return folder / "plain.so"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plain"), "plain")


@pytest.fixture
def chain(tmp_path):
    """Two regions of the delegate with the CPU between and beside them."""
    nodes = [w.node("Neg", ["x"], ["a"]), w.node("Exp", ["a"], ["b"]), w.node("Softmax", ["b"], ["c"]),
             w.node("Tanh", ["c"], ["d"]), w.node("Relu", ["x"], ["e"]), w.node("Add", ["d", "e"], ["y"])]
    path = tmp_path / "chain.onnx"
    path.write_bytes(w.model(nodes, [w.value("x", w.FLOAT, ["n", 64])], [w.value("y", w.FLOAT, ["n", 64])]))
    return path


def test_the_example_is_short():
    source = re.search(r"```c\n(.*?)```", PAGE.read_text(), re.S).group(1)
    assert source.count("\n") < 200


def test_it_is_listed(parallax, plain):
    listed = parallax("delegates", "--delegate-lib", plain).stdout
    assert f"plain ({plain})  a thread, plain 1, " in listed and "5 operators" in listed


def test_it_runs(parallax, plain, chain, tmp_path):
    outputs = []
    for folder, extra in ((tmp_path / "cpu", ()), (tmp_path / "both", ("--delegate", "plain", "--delegate-lib", plain, "--offload", "all"))):
        done = parallax("run", chain, "--dim", "n=3", "--output-dir", folder, *extra)
        assert done.returncode == 0 and not done.stderr
        outputs.append(np.load(folder / "0.npy"))
    np.testing.assert_allclose(*outputs, rtol=1e-5, atol=1e-6)
    done = parallax("verify", chain, "--dim", "n=3", "--delegate", "plain", "--delegate-lib", plain, "--offload", "all")
    assert done.returncode == 0, done.stderr
    bench = parallax("bench", chain, "--dim", "n=1..5", "--runs", "10", "--delegate", "plain", "--delegate-lib", plain, "--offload", "all")
    assert bench.returncode == 0 and "0 of them failed" in bench.stdout


def test_it_refuses_a_text(parallax, plain, chain):
    done = parallax("run", chain, "--dim", "n=1", "--delegate", "plain:fast", "--delegate-lib", plain)
    assert done.returncode == 0 and "delegate 'plain:fast': there is nothing to choose" in done.stderr


def test_a_name_that_a_built_in_delegate_has_is_refused(parallax, chain, tmp_path):
    library = build(tmp_path, "cores")
    message = f"'{library}': delegate 'cores' has the name of one that is built in; build it with another name, or leave this library out"
    command = ("run", chain, "--dim", "n=1", "--delegate-lib", library)
    done = parallax(*command, "--delegate", "cores")
    assert done.returncode == 0 and message in done.stderr and done.stderr.count("\n") == 1
    done = parallax(*command, "--delegate", "cores", "--require-full-delegation", "--offload", "all")
    assert done.returncode == 1 and message in done.stderr
    assert not parallax(*command).stderr, "it is not asked for"
    assert message in parallax("delegates", "--delegate-lib", library).stdout


def test_a_name_that_two_libraries_have_is_refused(parallax, plain, chain, tmp_path):
    other = build(tmp_path, "plain")
    command = ("run", chain, "--dim", "n=1", "--delegate", "plain", "--offload", "all", "--delegate-lib", plain, "--delegate-lib")
    done = parallax(*command, other)
    assert done.returncode == 0 and f"'{other}': delegate 'plain' has the name of the one of '{plain}'" in done.stderr
    assert not parallax(*command, plain).stderr, "a library that is named twice is one"
