"""The table of README that compares models in 8 bits with the same models in f32, of those that $MODELS has in both forms."""
import statistics

import engines
from cases import ALL, EIGHT_BITS, models_folder
from report import NAMES, cell, table

ROUNDS = 3
KEYS = ("ms", "mib", "first")


def medians(case, folder, threads, names):
    """{engine: {key: the median over the rounds}}, the engines taking turns."""
    turns = {}
    for _ in range(ROUNDS):
        for name in names:
            if figures := engines.turn(name, case, folder, threads):
                turns.setdefault(name, []).append(figures)
    return {name: {key: statistics.median(f[key] for f in each) for key in KEYS} for name, each in turns.items()}


def row(case, folder, threads):
    wide = medians(EIGHT_BITS[case], folder, threads, ["parallax"])["parallax"]
    narrow = medians(case, folder, threads, NAMES)
    ours = narrow["parallax"]
    peers = [name for name in NAMES if name not in ("parallax", "litert")]
    return [case, f"{wide['ms']:.1f}", f"{ours['ms']:.1f}", f"{ours['ms'] / wide['ms']:.2f}", *(cell(narrow, name, "ms", 1) for name in peers),
            f"{wide['mib']:.0f}", f"{ours['mib']:.0f}", *(cell(narrow, name, "mib", 0) for name in peers)]


def eight_bits(threads):
    """None if $MODELS has no such models: the project has none of its own."""
    folder = models_folder()
    cases = [case for case, wide in EIGHT_BITS.items() if all((folder / f"{ALL[each][0]}.onnx").exists() for each in (case, wide))]
    peers = [label for name, label in NAMES.items() if name not in ("parallax", "litert")]
    head = ["model", "f32, ms", "8 bits, ms", "ratio", *(f"{peer}, 8 bits, ms" for peer in peers), "f32, peak MiB", "8 bits, peak MiB", *(f"{peer}, peak MiB" for peer in peers)]
    return table(head, [row(case, folder, threads) for case in cases]) if cases else None
