"""scripts/newcomer.sh, in repositories of a few files: what it types, what it says where it may not, what it fails for."""
import os
import re
import shutil

import pytest
from conftest import ROOT, run

README = """# A project
    make nothing
```sh
echo before the quick start
```
## Quick start
Two commands:

    make demo
    make test

    not a command
```text
make no-command either
```
```sh
echo one; echo "$PWD" > build/where
echo two
```
## After it
```sh
echo behind
```
"""
MAKEFILE = """demo:
\t@mkdir -p build/release; echo demo; eval "$$DEMO"
test:
\t@echo test
"""


@pytest.fixture
def newcomer(tmp_path):
    """newcomer(*arguments, readme=TEXT, demo=COMMAND, programs={name: script}, path=True) -> the finished process."""

    def call(*arguments, readme=README, demo="true", programs=None, alone=False):
        repository, stubs = tmp_path / "repository", tmp_path / "stubs"
        stubs.mkdir()
        (repository / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "newcomer.sh", repository / "scripts")
        for name, text in {"README.md": readme, "Makefile": MAKEFILE, ".gitignore": "build/\n", "scripts/packages.txt": "# what for\nfmt run+arm64 # r\ngtest test+arm64 # t\ntidy develop # d\ncross aarch64 # a\n"}.items():
            (repository / name).write_text(text)
        for name, body in (programs or {}).items():
            (stubs / name).write_text(f"#!{shutil.which('bash')}\n{body}\n")
            (stubs / name).chmod(0o755)
        if alone:
            for name in ("dirname", "bash"):
                (stubs / name).symlink_to(shutil.which(name))
        for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"]):
            assert run("git", "-C", repository, *command).returncode == 0
        environment = os.environ | {"PATH": str(stubs) if alone else f"{stubs}:{os.environ['PATH']}", "DEMO": demo, "STATE": str(tmp_path / "state")}
        return run(shutil.which("bash"), repository / "scripts" / "newcomer.sh", *arguments, env=environment)

    return call


def typed(done):
    return re.findall(r"^newcomer: \$ (.*)$", done.stdout, re.M)


def test_usage(newcomer):
    done = newcomer("--her")
    assert done.returncode == 2 and done.stderr == "usage: newcomer.sh [--here]\n" and done.stdout == ""


def test_it_types_the_quick_start_and_nothing_else(newcomer, tmp_path):
    done = newcomer("--here")
    assert done.returncode == 0, done.stderr
    assert typed(done) == ["make demo", 'echo one; echo "$PWD" > build/where', "echo two"]
    assert done.stdout.splitlines()[-1] == "newcomer: all of README's commands work"
    assert not (tmp_path / "repository" / "build" / "where").exists() and not (tmp_path / "repository" / "build" / "newcomer").exists()


def test_it_types_all_that_this_readme_shows(newcomer):
    text = (ROOT / "README.md").read_text()
    shown = [line for block in re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M) for line in block.splitlines() if line]
    parallax = "mkdir -p build/release; printf '#!/bin/sh\\n' > build/release/parallax; chmod +x build/release/parallax"
    done = newcomer("--here", readme=text, demo=parallax)
    assert done.returncode == 0, done.stderr
    assert typed(done) == ["make demo", *shown] and len(shown) > 4


@pytest.mark.parametrize("readme, demo, wrong", [
    (README.replace("echo two", "false two"), "true", "'false two' failed"),
    (README, "false", "'make demo' failed"),
    (README.replace("echo two", "echo > litter"), "true", "the clone has changed:\n?? litter"),
    (README, "touch build/release/px_test", "the demo built tests"),
])
def test_what_it_fails_for(newcomer, readme, demo, wrong):
    done = newcomer("--here", readme=readme, demo=demo)
    assert done.returncode != 0 and wrong in done.stderr and "all of README" not in done.stdout


@pytest.mark.parametrize("package, wrong", [("fmt", False), ("gtest", True), ("tidy", True), ("cross", True), ("unknown", False)])
def test_the_demo_may_install_packages_of_its_own_only(newcomer, package, wrong):
    done = newcomer("--here", demo=f"echo {package} > $STATE", programs={"apt-mark": 'echo git\n[ ! -e "$STATE" ] || cat "$STATE"'})
    assert (done.returncode != 0) == wrong, done.stderr
    assert (f"the demo installed {package}" in done.stderr) == wrong


@pytest.mark.parametrize("programs, said", [
    ({"id": "echo 1000"}, "a bare system needs root"),
    ({"id": "echo 0"}, "debootstrap is not installed (apt-get install debootstrap)"),
])
def test_where_it_may_not_one_line_says_so(newcomer, programs, said):
    done = newcomer(programs=programs, alone=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"newcomer: skipped: {said}\n", "")


@pytest.mark.parametrize("devices, said", [(False, "this root may not make devices"), (True, "this root may not mount /proc")])
def test_what_a_container_may_not_do_is_said_too(newcomer, tmp_path, devices, said):
    """Nothing is left of the bare system then."""
    work = tmp_path / "work"
    work.mkdir()
    programs = {"id": "echo 0", "mktemp": f"mkdir {work}/root; echo {work}/root", "debootstrap": "mkdir -p ${@: -1}/etc", "mount": "exit 1", "mountpoint": "exit 1",
                "mknod": "exit 0" if devices else "exit 1"}
    done = newcomer(programs=programs)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == f"newcomer: skipped: {said}", done.stdout + done.stderr
    assert not (work / "root").exists()
