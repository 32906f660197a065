"""scripts/sysroot.sh with stand-ins for apt-get and dpkg: what it fetches for 64-bit Arm, where it puts it, and what it leaves alone."""
import shutil

import pytest
from conftest import ROOT, run

# Downloads a package of each name it is given, as apt-get leaves them in its cache.
APT_GET = """echo "apt-get $@" >> "$LOG"
for word; do
  case $word in Dir::Cache=*) cache=${word#*=} ;; esac
done
case $* in *" update") exit "$FAILS" ;; esac
for word; do
  case $word in lib*-dev) : > "$cache/archives/${word}_1_arm64.deb" ;; esac
done
"""
DPKG = 'echo "dpkg $1 ${2##*/}" >> "$LOG"; echo "$2" > "$3/${2##*/}"\n'
PACKAGES = "# what for\ng++ run # compiles\nlibone-dev run+arm64 # one\nlibtwo-dev test+arm64 # two\nlibthree-dev test # three\n"


@pytest.fixture
def sysroot(tmp_path):
    """sysroot(debian=bool, fails=status of apt-get update) -> the finished process and what it called"""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "sysroot.sh", tmp_path / "scripts")
    (tmp_path / "scripts" / "packages.txt").write_text(PACKAGES)
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in ("dirname", "awk", "rm", "mkdir", "id"):
        (stubs / name).symlink_to(shutil.which(name))

    def call(debian=True, fails=0):
        for name, body in {"apt-get": APT_GET, "dpkg": DPKG}.items() if debian else ():
            (stubs / name).write_text(f"#!{shutil.which('bash')}\n{body}")
            (stubs / name).chmod(0o755)
        log = tmp_path / "log"
        log.write_text("")
        environment = {"PATH": str(stubs), "LOG": str(log), "FAILS": str(fails)}
        return run(shutil.which("bash"), tmp_path / "scripts" / "sysroot.sh", env=environment), log.read_text().splitlines()

    return call


def test_what_is_marked_is_unpacked_below_build(sysroot, tmp_path):
    done, called = sysroot()
    assert done.returncode == 0, done.stderr
    assert [line for line in called if line.startswith("dpkg")] == ["dpkg -x libone-dev_1_arm64.deb", "dpkg -x libtwo-dev_1_arm64.deb"]
    root = tmp_path / "build" / "sysroot-aarch64"
    assert sorted(path.name for path in root.iterdir()) == ["libone-dev_1_arm64.deb", "libtwo-dev_1_arm64.deb", "packages"]


def test_apt_keeps_to_a_folder_of_its_own_and_installs_nothing(sysroot, tmp_path):
    _, called = sysroot()
    calls = [line for line in called if line.startswith("apt-get")]
    assert len(calls) == 2 and calls[0].endswith(" update") and calls[1].endswith(" install libone-dev libtwo-dev") and " --download-only " in calls[1]
    for line in calls:
        assert "APT::Architecture=arm64" in line
        assert all(f"{name}={tmp_path}/build/sysroot-aarch64/apt/" in line for name in ("Dir::State", "Dir::State::status", "Dir::Cache"))


def test_a_second_time_there_is_nothing_to_do(sysroot):
    sysroot()
    done, called = sysroot()
    assert (done.returncode, done.stdout, done.stderr, called) == (0, "", "", [])


def test_another_list_is_fetched_anew(sysroot, tmp_path):
    sysroot()
    (tmp_path / "scripts" / "packages.txt").write_text("libone-dev run+arm64 # one\n")
    assert sysroot()[0].returncode == 0
    assert sorted(path.name for path in (tmp_path / "build" / "sysroot-aarch64").glob("*.deb")) == ["libone-dev_1_arm64.deb"]


def test_what_failed_is_not_taken_for_done(sysroot):
    assert sysroot(fails=1)[0].returncode != 0
    done, called = sysroot()
    assert done.returncode == 0 and any(line.startswith("dpkg") for line in called)


def test_without_apt_one_line_says_what_is_wanted(sysroot):
    done, _ = sysroot(debian=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("sysroot: this is not Debian") and "libone-dev libtwo-dev" in done.stderr
