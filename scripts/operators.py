#!/usr/bin/env python3
"""Writes docs/operators.md from the lists that the build reads; with --check, says whether it is up to date."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "operators.md"
LIBRARIES = ("cpu", "reference")  # in order of preference


def table():
    rows = re.findall(r"^PX_OP\((\w+)\)(?:\s*// (.*))?", (ROOT / "src" / "ir" / "op_kinds.def").read_text(), re.M)
    kernels = [row for library in LIBRARIES for row in re.findall(r'^PX_KERNEL\((\w+), "(\w+)",', (ROOT / "src" / "kernels" / library / "kernels.def").read_text(), re.M)]
    types = re.findall(r'^PX_DTYPE\(.*"(\w+)", -?\d+, -?\d+, true\)', (ROOT / "include" / "parallax" / "dtypes.def").read_text(), re.M)
    lines = ["# Operators", "", "Made by `scripts/operators.py` from the lists that the build reads. ONNX operator sets 7 to 23; element types",
             f"{', '.join(types[:-1])} and {types[-1]}, as far as the standard allows them for the operator.", "", "| operator | kernels | |", "|---|---|---|"]
    for name, note in rows:
        lines.append(f"| {name} | {', '.join(kernel for op, kernel in kernels if op == name)} | {note} |")
    lines += ["", "Constant and Dropout (inference) are gone after loading. Operators noted as fused are made by passes, never\nread from a file. Control flow has no kernels: the executor runs its bodies, in their sequence-free forms."]
    return "\n".join(lines) + "\n"


def main():
    if "--check" not in sys.argv[1:]:
        DOCUMENT.write_text(table())
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != table():
        print("docs/operators.md is not up to date: run scripts/operators.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
