"""scripts/setup.sh with stand-ins for dpkg-query, id, sudo and apt-get: what it would install, and what it says."""
import re
import shutil

import pytest
from conftest import ROOT, run

LINES = [line.split()[:2] for line in (ROOT / "scripts" / "packages.txt").read_text().splitlines() if not line.startswith("#")]
PACKAGES = [(name, marked.removesuffix("+arm64")) for name, marked in LINES]
APT_GET = """echo "$@" >> "$LOG"
case $* in *--assume-no*) echo "Need to get 45.6 MB of archives."; echo "After this operation, 123 MB of additional disk space will be used." ;; esac
"""


@pytest.fixture
def setup(tmp_path):
    """setup(set, missing=names, user=number, sudo=bool) -> the finished process and the lines that apt-get was given."""

    def call(*arguments, missing=(), user=0, sudo=False):
        stubs = {"dpkg-query": 'for last; do :; done\ncase " $MISSING " in *" $last "*) exit 1 ;; esac\nprintf "install ok installed"\n',
                 "id": f"echo {user}\n", "apt-get": APT_GET}
        if sudo:
            stubs["sudo"] = 'exec "$@"\n'
        for name, body in stubs.items():
            (tmp_path / name).write_text(f"#!{shutil.which('bash')}\n{body}")
            (tmp_path / name).chmod(0o755)
        for name in ("dirname", "env", "sed"):
            if not (tmp_path / name).exists():
                (tmp_path / name).symlink_to(shutil.which(name))
        log = tmp_path / "log"
        log.write_text("")
        environment = {"PATH": str(tmp_path), "MISSING": " ".join(missing), "LOG": str(log)}
        return run(shutil.which("bash"), ROOT / "scripts" / "setup.sh", *arguments, env=environment), log.read_text().splitlines()

    return call


def test_every_package_has_a_set():
    assert {chosen for _, chosen in PACKAGES} == {"run", "test", "develop", "aarch64"}
    assert dict(PACKAGES)["clang-tidy"] == "develop" and dict(PACKAGES)["libgtest-dev"] == "test"


def test_nothing_to_do_says_nothing(setup):
    done, installed = setup()
    assert (done.returncode, done.stdout, done.stderr, installed) == (0, "", "", [])


@pytest.mark.parametrize("chosen,sets", [("run", ["run"]), ("test", ["run", "test"]), ("develop", ["run", "test", "develop"]), ("aarch64", ["run", "test", "aarch64"])])
def test_a_set_takes_those_before_it(setup, chosen, sets):
    done, installed = setup(chosen, missing=[name for name, _ in PACKAGES])
    assert done.returncode == 0, done.stderr
    wanted = [name for name, of in PACKAGES if of in sets]
    assert installed[-1].split("--no-install-recommends ")[1].split() == wanted
    assert re.search(r"45\.6 MB to download, 123 MB on disk", done.stdout)


def test_without_root_and_sudo_one_line_names_what_is_missing(setup):
    done, installed = setup("run", missing=["cmake", "libfmt-dev", "clang-tidy"], user=1000)
    assert done.returncode == 1 and done.stdout == "" and not installed
    assert done.stderr == "setup: only root can install what is missing: cmake libfmt-dev\n"


def test_with_sudo(setup):
    done, installed = setup("run", missing=["cmake"], user=1000, sudo=True)
    assert done.returncode == 0, done.stderr
    assert installed[-1].startswith("install") and installed[-1].endswith(" cmake")


def test_a_package_without_a_set_is_named(setup, tmp_path, monkeypatch):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    (tmp_path / "scripts" / "packages.txt").write_text("cmake run # builds\nlibfmt-dev # text\n")
    monkeypatch.setattr("test_setup.ROOT", tmp_path)
    done, installed = setup("run", missing=["cmake", "libfmt-dev"])
    assert done.returncode == 2 and "libfmt-dev belongs to no set" in done.stderr and not installed


def test_an_unknown_set(setup):
    done, _ = setup("all")
    assert done.returncode == 2 and "no set 'all'" in done.stderr


@pytest.mark.parametrize("words", [[], ["MODEL=gone.onnx"]])
def test_make_compare_says_that_there_is_no_model_before_it_installs_anything(words):
    done = run("make", "--no-print-directory", "-C", ROOT, "compare", *words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("compare: MODEL=FILE.onnx is missing, or no such file")
