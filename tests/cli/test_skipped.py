"""What `make test` says at its end of the tests that were skipped."""
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
    assert done.stdout.splitlines()[-3:] == ["skipped: 28 tests", "    27  no peer: `make venv` installs it", "     1  this CPU does not have it"]


def test_nothing_was_skipped(tested):
    assert tested("4 passed\n").stdout.splitlines()[-1] == "skipped: no test"


def test_a_failure_stays_one(tested):
    done = tested(PYTEST, status=1)
    assert done.returncode != 0 and "skipped: 27 tests" in done.stdout
