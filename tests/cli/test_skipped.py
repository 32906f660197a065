"""What `make test` says at its end of the tests that were skipped, and of those that failed."""
import pytest
from conftest import ROOT, run

PYTEST = "...s [100%]\nSKIPPED [24] tests/cli/test_parity.py:30: no peer: `make venv` installs it\nSKIPPED [3] tests/cli/test_run.py:9: no peer: `make venv` installs it\n"
GOOGLETEST = "[ RUN      ] Bf16.Rounds\nsrc/kernels/cpu/util.h:16: Skipped\nthis CPU does not have it\n\n[  SKIPPED ] Bf16.Rounds (0 ms)\n"


@pytest.fixture
def tested(tmp_path):
    """tested(what a test prints, its exit status) -> scripts/test.sh, finished, on a folder with that one test."""

    def call(output, status=0):
        (tmp_path / "output").write_text(output)
        (tmp_path / "CTestTestfile.cmake").write_text(f'add_test(one bash -c "cat {tmp_path}/output; exit {status}")\n')
        return run(ROOT / "scripts" / "test.sh", tmp_path, 1)

    return call


def test_reasons_are_counted(tested):
    done = tested(PYTEST + GOOGLETEST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-4:-1] == ["skipped: 28 tests", "    27  no peer: `make venv` installs it", "     1  this CPU does not have it"]


def test_nothing_was_skipped(tested):
    assert tested("4 passed\n").stdout.splitlines()[-2] == "skipped: no test"


def test_a_failure_stays_one_and_the_last_line_names_it(tested, tmp_path):
    done = tested(PYTEST, status=1)
    assert done.returncode != 0 and "skipped: 27 tests" in done.stdout
    assert done.stdout.splitlines()[-1] == f"test: failed in {tmp_path}: one"


def test_tests_of_a_whole_program_are_named(tested, tmp_path):
    done = tested("[ RUN      ] A/B.C/1\n[  FAILED  ] A/B.C/1, where GetParam() = 2 (3 ms)\n[ RUN      ] D.one\n[  FAILED  ] D.one (0 ms)\n[  FAILED  ] D.one\n", status=1)
    assert done.stdout.splitlines()[-1] == f"test: failed in {tmp_path}: one A/B.C/1 D.one"


def test_an_earlier_failure_is_not_told_again(tested, tmp_path):
    assert tested("", status=1).returncode != 0
    assert tested("").stdout.splitlines()[-1] == f"test: no test of {tmp_path} failed"
