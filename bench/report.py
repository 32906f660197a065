"""docs/performance.md and its plots from the results of compare.py: everything is written again but what a person wrote between
`<!-- NAME -->` and `<!-- end -->`. NAME is a case that has not reached its goal, `threads` or `layers`.
"""
import math
import re

from cases import CASES, ROOT
from engines import PEERS

PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance"
OURS = "Parallax"
NAMES = {"parallax": OURS} | PEERS
COLOURS = {OURS: "#0072b2", "ONNX Runtime": "#e69f00", "OpenVINO": "#009e73", "LiteRT": "#cc79a7"}
GREYS = ("#d9d9d9", "#b3b3b3", "#8c8c8c")  # of what is no engine
SHADES = ("#9ecae1", "#4292c6", COLOURS[OURS], "#08306b")  # of one engine, series by series


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def best(row, key):
    return min((f[key] for e, f in row.items() if e != "parallax"), default=None)


def cell(row, engine, key, digits):
    return f"{row[engine][key]:.{digits}f}" if engine in row else "–"


def ratio(row, key):
    return row["parallax"][key] / best(row, key) if best(row, key) else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def versus(cases):
    rows = []
    for case, row in cases.items():
        r = ratio(row, "ms")
        rows.append([case, *(cell(row, e, "ms", 2) for e in NAMES), f"{r:.2f}" if r else "–", f"{CASES[case][2]:.2f}"])
    ratios = [ratio(row, "ms") for row in cases.values() if ratio(row, "ms")]
    mean = f"\nGeometric mean of the ratios: **{geometric_mean(ratios):.2f}**; the largest: {max(ratios):.2f}.\n" if ratios else ""
    return table(["case", *(f"{n} ms" for n in NAMES.values()), "ratio to the best peer", "goal"], rows) + mean


def resources(cases):
    rows = []
    for case, row in cases.items():
        rows.append([case, *(f"{cell(row, 'parallax', key, 0)} / " + (f"{best(row, key):.0f} = {ratio(row, key):.2f}" if best(row, key) else "–") for key in ("mib", "first", "cpu"))])
    return table(["case", "peak resident MiB, ours / lowest peer's", "load + first run ms, ours / fastest peer's", "CPU ms a run, ours / lowest peer's"], rows)


def spread(cases):
    return table(["case", *NAMES.values()], [[case, *(f"{cell(row, e, 'min', 1)} / {cell(row, e, 'max', 1)}" if e in row else "–" for e in NAMES)] for case, row in cases.items()])


def threads_text(count):
    return f"{count} thread{'' if int(count) == 1 else 's'}"


def threads(results):
    counts = list(next(iter(results["threads_ms"].values())))
    return table(["case", *(f"{threads_text(t)} ms" for t in counts)], [[case, *(f"{ms:.2f}" for ms in row.values())] for case, row in results["threads_ms"].items()])


def layers(results):
    parts = []
    for case, rows in sorted(results["layers"].items()):
        body = [[r["layer"], r["branches"], f"{r['sequential']:.3f}", f"{r['layers']:.3f}", f"{r['layers'] / r['sequential']:.2f}"] for r in rows]
        parts.append(f"{case}:\n\n" + table(["layer", "branches", "one after the other ms", "layers ms", "ratio"], body))
    return "\n".join(parts)


def kept_paragraphs():
    text = PAGE.read_text() if PAGE.exists() else ""
    return dict(re.findall(r"<!-- (\S+) -->\n(.*?)<!-- end -->", text, re.S))


def note(name):
    """The place for what a person has to say of a section, with what stands there."""
    return f"<!-- {name} -->\n{kept_paragraphs().get(name, '')}<!-- end -->\n"


def paragraphs(cases):
    """A place for each case that missed its goal; what stood there stays, also of cases that were not measured."""
    kept, parts = kept_paragraphs(), []
    for case, (_, _, goal) in CASES.items():
        r = ratio(cases[case], "ms") if case in cases else None
        if case in kept or (r and r > goal):
            parts.append(f"### {case}: {f'{r:.2f}' if r else 'not measured'}, goal {goal:.2f}\n\n{note(case)}")
    return "\n".join(parts)


def plot(name, title, cases, values, unit, colours, ours):
    """Grouped bars, one group a case, one bar a series; the bars of the series in `ours` carry their values."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = name  # the same picture for the same figures
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(12, 4))
    series = list(values)
    width = 0.8 / len(series)
    for k, label in enumerate(series):
        heights = [v or 0 for v in values[label]]
        bars = axes.bar([i + (k - (len(series) - 1) / 2) * width for i in range(len(cases))], heights, width, label=label, color=colours[label])
        if label in ours:
            axes.bar_label(bars, [f"{h:.2f}" if h else "" for h in heights], padding=2, fontsize=7, rotation=90)
    axes.margins(x=0.01, y=0.12)
    axes.set_xticks(range(len(cases)), cases, rotation=20, ha="right")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.tight_layout()
    figure.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def plots(results):
    PLOTS.mkdir(exist_ok=True)
    cases, unit = results["cases"], "ratio, lower is better"
    for key, name, title in (("ms", "latency", "Latency, relative to the best peer"), ("mib", "memory", "Peak resident memory, relative to the lowest peer"), ("first", "first-run", "Load and first run, relative to the fastest peer")):
        values = {label: [row[e][key] / best(row, key) if e in row and best(row, key) else None for row in cases.values()] for e, label in NAMES.items()}
        plot(name, title, list(cases), values, unit, COLOURS, {OURS})
    keys = ("greedy", "lower_bound", "paper", "parallax")
    plot("arena", "Bytes of activations, relative to a buffer per tensor", list(results["arena"]), {k: [row[k] / row["naive"] for row in results["arena"].values()] for k in keys}, unit,
         dict(zip(keys, (*GREYS, COLOURS[OURS]))), {"parallax"})
    counts = list(next(iter(results["threads_ms"].values())))
    values = {threads_text(t): [row[t] / row[counts[0]] for row in results["threads_ms"].values()] for t in counts}
    plot("threads", f"Threads: {OURS}'s latency relative to one", list(results["threads_ms"]), values, unit, dict(zip(values, SHADES)), set(values))


def write(results):
    plots(results)
    cases, m = results["cases"], results["machine"]
    text = f"""# Performance

Written by `make bench`, but for the notes below two tables and on single cases, which are by hand. {m['cpu']}; {m['date']}, commit {m['commit']}. f32,
{results['threads']} threads. Engines take turns, each in a process of its own. Each of {results['rounds']} rounds has 20 runs after 5
warm-up runs; a time is the median of the rounds' medians. On a shared
machine only ratios within one line mean something. {results['models']}

## Compared with the peers

{versus(cases)}
![latency](performance/latency.svg)

{resources(cases)}
![memory](performance/memory.svg) ![first run](performance/first-run.svg)

## Fastest and slowest run

Milliseconds, fastest / slowest of 20 (30 lengths for `dyn`), inputs from one seed, after 5 warm-ups.

{spread(cases)}
## Threads

Medians of rounds in which the numbers of threads take turns.

{threads(results)}
![threads](performance/threads.svg)

{note('threads')}
## Arena bytes

[In figures](planner.md#bytes), [what the five mean](architecture.md#memory). 2 threads.

![arena](performance/arena.svg)

## Layer by layer

The longest layers that have several branches: their nodes one after the other, each node's tiles on all threads, against the
`layers` scheduler. A time is that in which at least one node of the layer runs.

{layers(results)}
{note('layers')}
## Cases that have not reached their goal

{paragraphs(cases)}"""
    PAGE.write_text(text)
    print(f"written: {PAGE.relative_to(ROOT)} and {PLOTS.relative_to(ROOT)}/; by hand, to be read again: {', '.join(name for name, words in kept_paragraphs().items() if words) or 'nothing'}")
