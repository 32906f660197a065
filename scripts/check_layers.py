#!/usr/bin/env python3
"""Checks every #include of src/ against the layers that CMakeLists.txt declares with px_folder(NAME DEPENDS ...), that
public headers include public headers only, and that nothing in src/ includes tools/ or python/."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def declared():
    """folder -> every folder it may include (itself and its dependencies, transitively)."""
    allowed = {}
    for name, rest in re.findall(r"px_folder\(([\w/]+)([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()):
        depends = re.search(r"DEPENDS ([\w/ ]+?)(?: LIBRARIES|$)", rest)
        allowed[name] = {name}.union(*(allowed[d] for d in (depends.group(1).split() if depends else [])))
    return allowed


def folder_of(file, folders):
    """The declared folder that a file of src/ lies in; its first directory where none is declared."""
    parents = [str(parent) for parent in pathlib.PurePath(file).parents][:-1]
    return next((parent for parent in parents if parent in folders), parents[-1] if parents else "")


def main():
    allowed, wrong = declared(), []
    for file in sorted((ROOT / "src").rglob("*")):
        if file.suffix not in (".h", ".cc", ".def"):
            continue
        folder = folder_of(file.relative_to(ROOT / "src"), allowed)
        if folder not in allowed:
            wrong.append(f"{file.relative_to(ROOT)}: folder {folder} is not declared in CMakeLists.txt")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#include "([^"]+)"', line)
            target = include and folder_of(include.group(1), allowed)
            if target and target != "parallax" and target not in allowed[folder]:
                wrong.append(f"{file.relative_to(ROOT)}:{number}: {folder} may not include {target}/")
    for file in sorted((ROOT / "include").rglob("*.h")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#include "([^"]+)"', line)
            if include and not include.group(1).startswith("parallax/"):
                wrong.append(f"{file.relative_to(ROOT)}:{number}: a public header includes {include.group(1)}")
    if len(list((ROOT / "include" / "parallax").glob("*.h"))) > 13:
        wrong.append("include/parallax: more than 13 public headers")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
