"""`make paper`: the paper's tables, transcribed and replayed, on a model that is small."""
import re
import statistics
import sys

import pytest
from conftest import BUILD, DIGITS, ROOT, run

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import docs  # noqa: E402
import paper  # noqa: E402
import paper_figures as figures  # noqa: E402

MODEL = "Whisper-Tiny"
PAGE = "docs/paper-tables.md"


def rise(new, old):
    return round(100 * (new / old - 1), 1)


def test_the_transcription_gives_what_the_papers_text_says():
    """P68, P70, P71 and P79: the percentages that the text computes from its tables, where they can be computed."""
    for model, phone, other, percent in (("Whisper-Tiny", "p30-pro", 2, 60.9), ("YOLOv8n", "redmi-k50", 2, 23.6), ("SwinV2-Tiny", "redmi-k50", 2, 21.9)):
        peak = figures.PEAK[model][phone]
        assert rise(peak[3], peak[other]) == percent
    assert round(statistics.mean(rise(four[3], four[2]) for four, _ in figures.ARENA.values()), 1) == 45.9  # the text: 46.3
    four, naive = figures.ARENA["YOLOv8n"]
    assert rise(four[3], naive) == -57.9  # the text: 57.8
    gains = {model: [-rise(ours, theirs) for _, theirs, ours, branches in rows if branches not in ("1", "1 (D)")] for model, rows in figures.LAYERS.items()}
    assert {model: (max(g), round(statistics.mean(g), 1)) for model, g in gains.items()} == {"Whisper-Tiny": (32.8, 23.7), "SwinV2-Tiny": (43.5, 35.5)}
    assert max(rise(ours, theirs) for rows in figures.LAYERS.values() for _, theirs, ours, branches in rows if branches in ("1", "1 (D)")) == 4.4


def test_every_table_has_every_model_and_phone():
    assert set(figures.PHONES) <= {path.stem for path in (ROOT / "profiles").glob("*.toml")}
    assert set(figures.LATENCY) == set(figures.PHONES)
    tables = [*figures.LATENCY.values(), figures.PEAK, figures.ARENA, figures.STRUCTURE]
    assert all(list(table) == list(paper.MODELS) for table in tables)
    assert all(set(phones) == set(figures.PHONES) for phones in figures.PEAK.values())
    assert all(set(rows) == set(paper.NODES_OF) for rows in figures.STRUCTURE.values())
    assert all((ROOT / "models" / "zoo" / f"{file}.onnx.xz").exists() for file, _, _ in paper.MODELS.values())


def test_efficiencies_are_the_rates_over_the_peak():
    shares = {(row[0], row[1].strip("`")): float(row[3]) for row in rows_of(paper.efficiency())}
    assert len(shares) > 8 and 0.9 < shares["MatMul", "panels_f32"] < 1.05
    assert shares["Conv", "winograd_4x4"] > 2, "it multiplies less than it counts"
    assert all(share < 1.1 for (_, kernel), share in shares.items() if not kernel.startswith("winograd")), shares


@pytest.fixture
def tiny(monkeypatch):
    def call(*arguments):
        done = run(BUILD / "parallax", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    monkeypatch.setattr(paper, "call", call)
    monkeypatch.setattr(paper, "folder", lambda: DIGITS.parent)
    monkeypatch.setattr(paper, "MODELS", {MODEL: ("digits", {"batch": 1}, {"batch": 64})})
    monkeypatch.setattr(paper, "LAYERED", {MODEL: ("--delegate", "pixel6")})


def rows_of(text):
    """The cells of each row of a page's tables but their heads, which are as wide as what they head."""
    tables = [[line.strip("|").split("|") for line in block.splitlines()] for block in re.findall(r"(?:^\|.*\n)+", text, re.M)]
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    return [[cell.strip() for cell in row] for table in tables for row in table[2:]]


def test_latency(tiny):
    rows = rows_of(paper.latency())
    assert [row[2] for row in rows] == ["350 / 1780", "340 / 2239", "317 / 2010"]
    assert [row[3] for row in rows] == ["397 / 2076", "412 / 2954", "496 / 2980"]
    assert [row[6] for row in rows] == ["323 / 1706", "–", "–"]
    for row in rows:
        for pair in (row[1], row[5]):
            least, most = map(float, pair.split(" / "))
            assert 0 <= least <= most


def test_replays_have_six_threads(tiny, monkeypatch):
    """P57."""
    calls, call = [], paper.call
    monkeypatch.setattr(paper, "call", lambda *arguments: calls.append(arguments) or call(*arguments))
    for make in (paper.latency, paper.memory, paper.layers, paper.structure, paper.ablation):
        make()
    threads = {arguments[arguments.index("--threads") + 1] for arguments in calls if "--threads" in arguments}
    assert threads == {6} and sum("--threads" not in arguments for arguments in calls) <= 1, "what a core does needs no threads"


def test_memory(tiny):
    (row,) = rows_of(paper.memory())
    peak, arena, naive = (float(row[k]) for k in (1, 5, 7))
    assert 0 < arena <= naive and arena < peak + 0.05
    assert row[2:5] == ["63.6 (47.8)", "72.9 (45.3)", "71.2 (49.6)"] and row[8:] == ["43.20 (28.94)", "90.15"]


def test_layers(tiny):
    text = paper.layers()
    ours, theirs = text.split("The paper's")
    assert f"{MODEL} with the accelerator, ours" in ours and ["24", "45.37", "39.74", "8"] in rows_of(theirs)
    assert rows_of(ours) and all(float(row[1]) > 0 for row in rows_of(ours))


def test_layers_of_a_model_with_branches(tiny, monkeypatch, wide):
    monkeypatch.setattr(paper, "folder", lambda: wide.parent)
    monkeypatch.setattr(paper, "MODELS", {MODEL: (wide.stem, {"n": 64}, {"n": 64})})
    rows = paper.layer_rows(MODEL)
    assert [int(branches) > 1 for *_, branches in rows] == sorted((int(branches) > 1 for *_, branches in rows), reverse=True)
    assert "3" in [branches for *_, branches in rows]
    single = [(apart, at_once) for _, apart, at_once, branches in rows if branches == "1"]
    assert single and all(at_once <= 1.044 * apart for apart, at_once in single), "P80"
    (several,) = [(apart, at_once) for _, apart, at_once, branches in rows if branches == "3"]
    assert several[1] <= several[0]


def test_structure_has_three_stages_beside_the_papers(tiny):
    (row,) = rows_of(paper.structure())
    assert row[1].count("/") == 2 and row[2] == "627 / 202 / 367" and len(row) == 9


def test_more_big_cores_are_no_slower(tiny, monkeypatch):
    monkeypatch.setattr(paper, "MODELS", {MODEL: ("digits", {"batch": 64}, {"batch": 64})})
    (row,) = rows_of(paper.threads())
    assert len(row) == 10 and float(row[1]) >= float(row[2]) > 0 and row[9] in "12345678"


def test_ablation(tiny):
    cpu, device, memory = rows_of(paper.ablation())
    assert len(cpu) == 5 and all(float(cell) > 0 for cell in cpu[1:])
    regions = [int(re.search(r"\((\d+)\)", cell).group(1)) for cell in device[1:]]
    assert regions[3] >= max(regions[:3]), "without a cost model all that can be offloaded is"
    assert 0 < float(memory[1]) <= float(memory[3])


def test_the_phones_profile_with_another_rate_of_the_cpu(tmp_path):
    before = (ROOT / "profiles" / "pixel6.toml").read_text().splitlines()
    after = paper.profile_with(tmp_path / "p.toml", 1).read_text().splitlines()
    assert [line.split("#")[0].strip() for old, line in zip(before, after, strict=True) if old != line] == ["cpu_macs_per_second = 1"]


def test_the_page_has_a_place_for_each_table():
    page = (ROOT / PAGE).read_text()
    assert re.findall(r"<!-- made: (\w+) -->", page) == list(docs.TIMES[PAGE])
    assert all(docs.cut(page, name)[1] for name in docs.TIMES[PAGE])
