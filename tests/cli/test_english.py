"""scripts/check_english.py on sentences that it refuses, and on others."""
import importlib.util

import pytest
from conftest import ROOT

spec = importlib.util.spec_from_file_location("check_english", ROOT / "scripts" / "check_english.py")
english = importlib.util.module_from_spec(spec)
spec.loader.exec_module(english)

REFUSED = [
    ("a.h", "/// Of all blocks.\nint n;", '1: begins with "Of": Of all blocks.'),
    ("a.h", "int n;  ///< where it ends", '1: begins with "where": where it ends'),
    ("a.h", "/* What a device runs. */", '1: begins with "What": What a device runs. */'),
    ("a.cc", "// Runs all of them at\n// once.", '1: "at once": write concurrently, or immediately'),
    ("a.md", "# A\n\nIt begins anew.", '3: "anew": write again'),
    ("a.cc", 'log("the memory of the user\'s.");', '1: "of the user\'s": write the user\'s ...'),
    ("a.h", "/// The user's allocator, null if there is\n/// none.", '1: "is none": write there is no ..., or null'),
    ("a.h", "/// The axes; nothing where they are\n/// unknown.", '1: "nothing where": write nullopt if, null if, or empty if'),
    ("a.md", "Two builds\nrun in turns.", '2: "in turns": write alternating, or one after the other'),
    ("a.md", "It holds as far as it is known.", '1: "as far as": write if, up to, or to the extent that'),
    ("a.py", "# By name.", '1: begins with "By": By name.'),
]
ALLOWED = [
    ("a.h", "/// Returns the number\n/// of blocks."),
    ("a.h", "/// The user's memory, null if there is no allocator; allocations run in turn."),
    ("a.py", "if it is None:\n    run_beside_it()"),
    ("a.md", "What could not be kept stands next to it."),
]


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.setattr(english, "ROOT", tmp_path)

    def run(name, text):
        (tmp_path / name).write_text(text)
        return english.check_file(name)
    return run


@pytest.mark.parametrize("name, text, message", REFUSED)
def test_what_is_refused(check, name, text, message):
    assert check(name, text) == [f"{name}:{message}"]


@pytest.mark.parametrize("name, text", ALLOWED)
def test_what_is_allowed(check, name, text):
    assert check(name, text) == []


def test_the_share_of_comments(tmp_path, monkeypatch):
    (tmp_path / "a.h").write_text("// One\n\n/* two */\nint a;\nint b;  ///< three\n")
    monkeypatch.setattr(english, "ROOT", tmp_path)
    monkeypatch.setattr(english, "tracked", lambda paths: ["a.h"])
    assert english.share_of_comments("src") == 0.75
