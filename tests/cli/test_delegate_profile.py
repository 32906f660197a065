"""docs/delegate-profile.md is the schema of delegates' profiles: every row of its tables is what the reader does."""
import re

import pytest
from conftest import DIGITS, ROOT

PAGE = (ROOT / "docs" / "delegate-profile.md").read_text()
SOURCE = (ROOT / "src" / "device" / "profile_toml.cc").read_text()
REQUIRED = {"name": '"d"', "launch_seconds": "1e-4", "macs_per_second": "1e9", "bytes_per_second": "1e9", "cpu_macs_per_second": "1e9",
            "memory_bytes": "1000", "dtypes": '["f32"]', "operators": '["Clip", "Conv", "MatMul", "Pad"]'}
EXAMPLES = {"text": '"x"', "number": "1", "integer": "1", "flag": "true", "texts": "[]", "table": "{}"}


def rows(heading):
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| `")]


TABLES = {"[delegate]": "{}", "[delegate.limits.NAME]": "limits = {{ Conv = {{ {} }} }}",
          "[delegate.limits.NAME.attributes.ATTRIBUTE]": "limits = {{ Pad = {{ attributes = {{ mode = {{ {} }} }} }} }}"}
ROWS = [(heading, *row) for heading in TABLES for row in rows(heading)]


def profile(changed, inner=None):
    """A profile with the required keys, of which some are changed or left out (None)."""
    keys = {**REQUIRED, **changed}
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    return "\n".join(['name = "p"', "[delegate]", *lines, *([inner] if inner else []), ""])


def with_row(heading, key, value):
    if heading == "[delegate]":
        return profile({key: value})
    return profile({}, TABLES[heading].format(f"{key} = {value}"))


@pytest.fixture
def read(parallax, tmp_path):
    """read(text) -> the error of a profile; '' if it is accepted."""

    def call(text):
        file = tmp_path / "p.toml"
        file.write_text(text)
        done = parallax("plan", DIGITS, "--dim", "batch=1", "--delegate", file)
        assert done.returncode == 0 or "p.toml" in done.stderr, done.stderr
        return done.stderr

    return call


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_a_row_is_what_the_reader_does(read, row):
    heading, key, required, kind, limits, _, _ = row
    error = read(profile({key: None}))
    assert (required == "yes") == (f"'{key}'" in error), error
    good = REQUIRED.get(key) if heading == "[delegate]" and key in REQUIRED else EXAMPLES[kind]
    choices = re.findall(r"channels_\w+", limits)
    for value in [f'"{choice}"' for choice in choices] or [good]:
        assert not read(with_row(heading, key, value)), value
    if choices:
        assert read(with_row(heading, key, '"x"'))
    assert f"'{key}'" in read(with_row(heading, key, "1" if kind in ("text", "texts", "table", "flag") else '"x"'))
    if kind not in ("number", "integer"):
        return
    low, high = limits.split(" to ")
    for bound in (low, high):
        assert not read(with_row(heading, key, bound)), bound
    beyond = [f"{float(low) - max(1, abs(float(low)))}", f"{float(high) * 2}"] if kind == "number" else [str(int(low) - 1), str(int(high) + 1)]
    for bound in beyond:
        assert read(with_row(heading, key, bound)), bound


@pytest.mark.parametrize("heading", TABLES)
def test_other_keys_are_refused(read, heading):
    assert "'surprise'" in read(with_row(heading, "surprise", "1"))


def test_no_key_is_missing():
    """Every key that the functions which read a delegate ask for has a row."""
    functions = [re.search(rf"^\S[^\n]*\b{name}\(.*?^}}", SOURCE, re.DOTALL | re.MULTILINE).group(0)
                 for name in ("read_dtypes", "read_attributes", "read_operators", "read_images", "read_delegate")]
    keys = set(re.findall(r'(?:has|text|texts|number|integer|flag|table)\("(\w+)"', "".join(functions))) | {"operators", "bridges"}
    assert keys == {row[1] for row in ROWS}
