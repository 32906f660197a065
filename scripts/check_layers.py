#!/usr/bin/env python3
"""Checks every #include of src/, and of tests in tests/FOLDER, against the layers that CMakeLists.txt declares with px_folder(NAME
DEPENDS ... TEST_DEPENDS ...): each folder declares exactly the folders that its files include, and separately those that only its tests,
benches and fuzzers include. Also checks that public headers include public headers only, that nothing in src/ includes tools/ or
python/, and that python/ includes nothing of this tree but public headers and its own."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ("_test", "_test_util", "_bench", "_fuzz")
MAX_PAIRS = 130  # of a folder and one that its sources may include


def words(keyword, text):
    found = re.search(rf"\b(?<!_){keyword} ([\w/\s]+?)\s*(?=\b(?:TEST_DEPENDS|LIBRARIES)\b|$)", text)
    return found.group(1).split() if found else []


def declared():
    """[(folder, the folders that it may include, those that its tests may include too)], in order."""
    return [(name, words("DEPENDS", rest), words("TEST_DEPENDS", rest))
            for name, rest in re.findall(r"^px_folder\(([\w/]+)([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)]


def folder_of(file, folders):
    """The declared folder that a file of src/ lies in; its first directory where none is declared."""
    parents = [str(parent) for parent in pathlib.PurePath(file).parents][:-1]
    return next((parent for parent in parents if parent in folders), parents[-1] if parents else "")


def used(folders, wrong):
    """Returns {(folder, included folder): file and line} of sources, and the same of tests."""
    sources, tests = {}, {}
    files = [(file, file.relative_to(ROOT / "src")) for file in sorted((ROOT / "src").rglob("*"))]
    files += [(file, file.relative_to(ROOT / "tests")) for name in folders for file in sorted((ROOT / "tests" / name).rglob("*"))]
    for file, name in files:
        if file.suffix not in (".h", ".cc", ".def"):
            continue
        folder = folder_of(name, folders)
        if folder not in folders:
            wrong.append(f"{file.relative_to(ROOT)}: folder {folder} is not declared in CMakeLists.txt")
            continue
        pairs = tests if file.stem.endswith(TESTS) else sources
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#include "([^"]+)"', line)
            target = include and folder_of(include.group(1), folders)
            if target and target not in ("parallax", folder):
                pairs.setdefault((folder, target), f"{file.relative_to(ROOT)}:{number}")
    return sources, tests


def check_folders(wrong):
    """Returns the number of pairs that are declared, without those for tests."""
    order = declared()
    folders = [name for name, _, _ in order]
    sources, tests = used(folders, wrong)
    for place, (name, depends, test_depends) in enumerate(order):
        wrong += [f"CMakeLists.txt: {name} depends on {other}, which is not declared before it"
                  for other in depends if other not in folders[:place]]
        wrong += [f"{where}: {name} does not declare {target}/" for (folder, target), where in sources.items()
                  if folder == name and target not in depends]
        wrong += [f"{where}: {name} does not declare {target}/ for its tests" for (folder, target), where in tests.items()
                  if folder == name and target not in depends + test_depends]
        wrong += [f"CMakeLists.txt: {name} depends on {other}, which none of its files includes"
                  for other in depends if (name, other) not in sources]
        wrong += [f"CMakeLists.txt: tests of {name} depend on {other}, which they do not include, or which {name} depends on too"
                  for other in test_depends if (name, other) not in tests or other in depends]
    pairs = sum(len(depends) for _, depends, _ in order)
    if pairs > MAX_PAIRS:
        wrong.append(f"CMakeLists.txt: {pairs} pairs of folders, more than {MAX_PAIRS}")
    return pairs


def check_public(folder, wrong, own=False):
    """Files of `folder` include public headers, and with `own` also headers that lie next to them."""
    for file in sorted((ROOT / folder).rglob("*")):
        for number, line in enumerate(file.read_text().splitlines(), 1) if file.suffix in (".h", ".cc") else ():
            include = re.match(r'\s*#include "([^"]+)"', line)
            if not include or include.group(1).startswith("parallax/") or (own and (file.parent / include.group(1)).is_file()):
                continue
            wrong.append(f"{file.relative_to(ROOT)}:{number}: includes {include.group(1)}, which is no public header")


def main():
    wrong = []
    pairs = check_folders(wrong)
    check_public("include", wrong)
    check_public("python/native", wrong, own=True)
    if len(list((ROOT / "include" / "parallax").glob("*.h"))) > 16:
        wrong.append("include/parallax: more than 16 public headers")
    print("\n".join([*wrong, f"layers: {pairs} pairs of folders"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
