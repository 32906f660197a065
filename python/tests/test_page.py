"""The examples of docs/python.md and README run, one after the other."""
import os
import re

import numpy as np
import pytest
from conftest import ROOT

import parallax

PAGES = ["docs/python.md", "README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(monkeypatch, page, capsys):
    monkeypatch.chdir(ROOT)
    names = {"images": np.zeros((1, 1, 8, 8), np.float32)}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # pylint: disable=exec-used
    if page == PAGES[0]:
        labels = np.load(ROOT / "models" / "digits" / "labels.npy")
        assert capsys.readouterr().out == f"{labels[:4]}{os.linesep}"


def test_the_page_names_every_error():
    text = (ROOT / PAGES[0]).read_text()
    rows = dict(re.findall(r"^\| `(\w+Error)` \| (?:`(\w+)`)? ?\|", text, re.M))
    assert rows == {kind.__name__: next((base.__name__ for base in kind.__bases__ if base is not parallax.Error), "")
                    for kind in parallax.Error.__subclasses__()}
