#!/usr/bin/env python3
"""clang's thread-safety analysis (src/base/mutex.h) of every source of the library that includes the annotations, directly
or not."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

from commands import commands

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
ANNOTATIONS = "base/mutex.h"
MISTAKES = ROOT / "tests/threads/mistakes.cc"  # what the analysis must find, line by line
ANALYSIS = ("-fsyntax-only", "-Wthread-safety", "-Werror", "-Wno-unknown-warning-option")
NOT_ANALYSED = re.compile(r"std::(\w*mutex|condition_variable\w*|(shared|unique|scoped)_lock|lock_guard)\b")


def including(header):
    """Files of src/ that include `header`, directly or not."""
    includes = {}
    for file in (*SRC.rglob("*.h"), *SRC.rglob("*.cc")):
        includes[file.relative_to(SRC).as_posix()] = set(re.findall(r'^#include "(.+)"', file.read_text(), re.MULTILINE))
    found, new = set(), {header}
    while new:
        new = {file for file, names in includes.items() if names & new} - found
        found |= new
    return found


def not_annotated():
    for file in sorted(SRC.rglob("*.[hc]*")):
        name = file.relative_to(SRC).as_posix()
        if name == ANNOTATIONS or name.endswith("_test.cc"):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if found := NOT_ANALYSED.search(line):
                yield f"src/{name}:{number}: {found[0]} is not analysed, what {ANNOTATIONS} has is"


def analyse(entry):
    """The mistakes in one file of compile_commands.json, in clang's words."""
    words = shlex.split(entry["command"])
    flags = words[next(i for i, word in enumerate(words) if word.startswith("-")):words.index("-o")]
    done = subprocess.run(["clang++", *flags, *ANALYSIS, entry["file"]], cwd=entry["directory"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    files = {str(SRC / name) for name in including(ANNOTATIONS) if not re.search(r"_(test|bench|fuzz)\.cc$", name)}
    entries = [entry for entry in commands() if entry["file"] in files]
    wrong = list(not_annotated())
    found = subprocess.run(["clang++", "-std=c++20", f"-I{SRC}", *ANALYSIS, "-Xclang", "-verify", "-Xclang", "-verify-ignore-unexpected=note", MISTAKES], capture_output=True, text=True, check=False)
    wrong += [found.stderr] if found.returncode else []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong += [text for text in pool.map(analyse, entries) if text]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
