"""What scripts/check_tidy.py reads again: a unit is read until it was clean, then after a change of what it consists of."""
import importlib.util

import pytest
from conftest import ROOT


@pytest.fixture
def tidy(tmp_path, monkeypatch):
    """The script on a tree of two sources and two headers; `tidy.linted` counts the units that were read, `tidy.said` is what they get."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    spec = importlib.util.spec_from_file_location("check_tidy", ROOT / "scripts" / "check_tidy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in {"src/a/one.cc": '#include "a/one.h"\n#include <vector>\n', "src/a/one.h": '#pragma once\n#include "a/deep.h"\n',
                       "src/a/deep.h": "int deep();\n", "src/b/two.cc": "int two() { return 2; }\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "stamps").mkdir()
    (tmp_path / "units").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(module, "UNITS", tmp_path / "units")
    module.linted, module.said = 0, ""

    def lint(options, unit, left_out):
        module.linted += 1
        return module.said

    monkeypatch.setattr(module, "lint", lint)
    return module


def reads(tidy, *sources, options=("-O2",), environment="clang-tidy 14", left_out=("slow",)):
    """Whether the unit of these sources is read."""
    tidy.includes.cache_clear()
    before = tidy.linted
    tidy.check(options, list(sources), environment, left_out)
    return tidy.linted > before


def test_a_clean_unit_is_read_once(tidy):
    assert reads(tidy, "src/a/one.cc")
    assert not reads(tidy, "src/a/one.cc")


def test_a_finding_is_told_each_time(tidy):
    tidy.said = "one.cc:1: error"
    assert reads(tidy, "src/a/one.cc") and reads(tidy, "src/a/one.cc")
    assert tidy.check(("-O2",), ["src/a/one.cc"], "clang-tidy 14", ("slow",)) == tidy.said


@pytest.mark.parametrize("file, again", [("src/a/one.cc", True), ("src/a/one.h", True), ("src/a/deep.h", True), ("src/b/two.cc", False)])
def test_a_change_of_what_it_includes_is_one_of_the_unit(tidy, tmp_path, file, again):
    assert reads(tidy, "src/a/one.cc")
    with (tmp_path / file).open("a") as written:
        written.write("// more\n")
    assert reads(tidy, "src/a/one.cc") == again


def test_other_options_and_another_linter_read_again(tidy):
    assert reads(tidy, "src/a/one.cc")
    assert reads(tidy, "src/a/one.cc", options=("-O3",))
    assert reads(tidy, "src/a/one.cc", left_out=())
    assert reads(tidy, "src/a/one.cc", environment="clang-tidy 15")


UNITS = [("-O2", ["src/a/one.cc"]), ("-O2", ["src/b/two.cc"])]


@pytest.mark.parametrize("names, units", [({"src/a/deep.h", "README.md"}, UNITS[:1]), ({"src/b/two.cc"}, UNITS[1:]), ({"README.md"}, []), ({".clang-tidy"}, UNITS)])
def test_what_changed_or_includes_it_is_affected(tidy, names, units):
    assert tidy.affected(UNITS, names) == units


def test_commits_and_edits_are_changes(tidy, tmp_path, monkeypatch):
    def commit(*names):
        for name in names:
            (tmp_path / name).write_text((tmp_path / name).read_text() + "// more\n")
        tidy.output("git", "add", *names)
        tidy.output("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Change it")

    tidy.output("git", "init", "-q")
    commit("src/a/one.cc", "src/a/one.h", "src/b/two.cc")
    monkeypatch.setattr(tidy, "RECENT", 2)
    for name in ("src/b/two.cc", "src/a/one.cc", "src/a/one.cc"):
        commit(name)
    assert tidy.changed() == {"src/a/one.cc"}
    (tmp_path / "src/a/one.h").write_text("")
    assert tidy.changed() == {"src/a/one.cc", "src/a/one.h"}


def test_another_clone_has_the_same_keys(tidy, tmp_path):
    here = tidy.key_of((f"-I{tmp_path}/src",), ["src/a/one.cc"], "")
    tidy.ROOT = tmp_path / "clone"
    for name in ("src/a/one.cc", "src/a/one.h", "src/a/deep.h"):
        (tidy.ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (tidy.ROOT / name).write_text((tmp_path / name).read_text())
    tidy.includes.cache_clear()
    assert tidy.key_of((f"-I{tidy.ROOT}/src",), ["src/a/one.cc"], "") == here
