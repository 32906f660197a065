"""The tables of structure in README and docs are what the build says; how `make docs` writes a page."""
import sys

import pytest
from conftest import BUILD, ROOT, run

SCRIPT = ROOT / "scripts" / "docs.py"
sys.path.insert(0, str(ROOT / "scripts"))
import docs  # noqa: E402


@pytest.mark.skipif(BUILD != ROOT / "build" / "release", reason="tables are about the release build")
def test_structure_is_what_the_build_says():
    done = run(sys.executable, SCRIPT, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- made: one -->\nold\n<!-- end -->\nbetween\n<!-- made: two -->\n<!-- end -->\nafter\n")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    return path


def test_only_the_table_is_written_and_twice_is_once(page):
    made = {"page.md": {"one": lambda: "new\n", "two": lambda: "| a |\n"}}
    for _ in range(2):
        docs.write(made)
        assert page.read_text() == "before\n<!-- made: one -->\nnew\n<!-- end -->\nbetween\n<!-- made: two -->\n| a |\n<!-- end -->\nafter\n"


def test_what_cannot_be_made_here_stays(page):
    before = page.read_text()
    docs.write({"page.md": {"one": lambda: None}})
    assert page.read_text() == before


def test_a_stale_table_is_named(page, monkeypatch):
    monkeypatch.setattr(docs, "STRUCTURE", {"page.md": {"one": lambda: "new\n"}})
    assert list(docs.stale()) == ["page.md: the table one is not what this build says (make docs ARGS=--structure)"]
    monkeypatch.setattr(docs, "STRUCTURE", {"page.md": {"one": lambda: "old\n", "two": lambda: None}})
    assert not list(docs.stale())


def test_a_missing_place_is_named(page):
    with pytest.raises(SystemExit, match="no place for the table three"):
        docs.write({"page.md": {"three": lambda: "x\n"}})


def test_tables_of_time_carry_commit_and_machine():
    text = docs.timed(lambda: "| 1 ms |\n")
    assert text.startswith("| 1 ms |\n\n") and "commit " in text and "cores" in text
    assert docs.timed(lambda: None) is None
