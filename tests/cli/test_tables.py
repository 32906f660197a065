"""The tables of structure in README and docs are what the build says; how `make docs` writes a page."""
import re
import shutil
import sys

import pytest
from conftest import BUILD, ROOT, run

SCRIPT = ROOT / "scripts" / "docs.py"
sys.path.insert(0, str(ROOT / "scripts"))
import docs  # noqa: E402


@pytest.mark.skipif(BUILD != ROOT / "build" / "release", reason="tables are about the release build")
def test_check_docs_finds_every_stale_table_and_no_other(zoo, tmp_path):
    """In a copy of what it reads: the repository's own pages hold, then each table with one figure changed does not."""
    kept = ("README.md", "CMakeLists.txt", "docs", "scripts", "bench", "models", "profiles", "src", "tests", "tools", "examples", "include", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE")
    for name in kept:
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("README.md", "docs", "scripts", "bench"):
        (tmp_path / name).unlink()
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    (tmp_path / "build" / "release").mkdir(parents=True)
    (tmp_path / "build" / "release" / "parallax").symlink_to(BUILD / "parallax")
    (tmp_path / "build" / "zoo").symlink_to(zoo["sensors"].parent)
    run("git", "init", "-q", tmp_path)
    done = run(sys.executable, tmp_path / "scripts" / "check_docs.py")
    assert done.returncode == 0, done.stdout + done.stderr
    for page, tables in docs.STRUCTURE.items():
        text = (tmp_path / page).read_text()
        for name in tables:
            before, there, after = docs.cut(text, name)
            text = before + re.sub(r"\d\.\d\d?|\d+", "987", there, count=1) + after
        (tmp_path / page).write_text(text)
    wrong = run(sys.executable, tmp_path / "scripts" / "check_docs.py")
    assert wrong.returncode == 1
    assert wrong.stdout.splitlines() == [f"{page}: the table {name} is not what this build says (make docs ARGS=--structure)" for page, tables in docs.STRUCTURE.items() for name in tables]


def test_make_check_builds_what_the_docs_are_compared_with():
    steps = re.findall(r"^step (\w+)", (ROOT / "scripts" / "check.sh").read_text(), re.M)
    assert steps.index("build") < steps.index("docs")


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


def test_figures_of_the_machine_may_differ_and_no_other(page, monkeypatch):
    page.write_text(page.read_text().replace("old\n", "model  12     ~9   ~13.18\n"))
    for text, same in (("model  12    ~10    ~9.18\n", True), ("model  13     ~9   ~13.18\n", False), ("model  12      9   ~13.18\n", False)):
        monkeypatch.setattr(docs, "STRUCTURE", {"page.md": {"one": lambda text=text: text}})
        assert bool(list(docs.stale())) != same


def test_a_missing_place_is_named(page):
    with pytest.raises(SystemExit, match="no place for the table three"):
        docs.write({"page.md": {"three": lambda: "x\n"}})


def test_tables_of_time_carry_commit_and_machine(page, monkeypatch):
    text = docs.timed(lambda: "| 1 ms |\n")
    assert text.startswith("| 1 ms |\n\n") and "commit " in text and "cores" in text
    assert docs.timed(lambda: None) is None
    monkeypatch.setattr(docs, "TIMES", {"page.md": {"one": None, "two": None}})
    before = page.read_text()
    for there, named in ((text, False), (docs.NOT_MEASURED, False), ("| 1 ms |\n", True), ("", True), (text.replace("commit", "by"), True), (text + "| 2 ms |\n", True)):
        page.write_text(before.replace("old\n", there).replace("two -->\n", "two -->\n" + docs.NOT_MEASURED))
        assert list(docs.unsigned()) == (["page.md: the table one says neither machine nor commit (make docs)"] if named else [])


def test_the_tables_of_time_on_the_pages_do():
    assert not list(docs.unsigned())
