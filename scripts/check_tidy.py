#!/usr/bin/env python3
"""clang-tidy (.clang-tidy says which checks) over the sources of the library, the tools and the examples.

Sources of one folder are read as one translation unit: their headers, which take most of the time, are then parsed and matched once.
A source that Highway includes again for each instruction set, and each of the examples, which are programs, is a unit of its own. A
unit that was clean leaves a stamp in build/tidy and is not read again while neither its sources nor any header changes."""
import concurrent.futures
import hashlib
import os
import pathlib
import shlex
import subprocess
import sys

from commands import commands

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNITS = ROOT / "build" / "tidy"
SOURCES = 12  # of a unit; ten of simplify/ took 3.9 s of CPU as one, a source by itself 2.2. Other numbers were not measured
OTHERS = ("_test.cc", "_bench.cc", "_fuzz.cc")


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return listed.stdout.split()


def flags():
    """source -> the compiler's options for it, without its own name and its output's."""
    result = {}
    for entry in commands():
        words = shlex.split(entry["command"])[1:]
        del words[words.index("-o"):words.index("-c") + 2]
        result[os.path.relpath(entry["file"], ROOT)] = tuple(words)
    return result


def units():
    """[(options, sources)], those that take longest first."""
    of, groups, alone = flags(), {}, []
    for source in tracked("src/*.cc", "tools/*.cc", "examples/*.cc"):
        if source.endswith(OTHERS):
            continue
        if source.startswith("examples/") or "HWY_TARGET_INCLUDE" in (ROOT / source).read_text():
            alone.append((of[source], [source]))
        else:
            groups.setdefault((of[source], os.path.dirname(source)), []).append(source)
    return alone + [(options, sources[i:i + SOURCES]) for (options, _), sources in groups.items() for i in range(0, len(sources), SOURCES)]


def lint(options, unit):
    """What clang-tidy says of a unit."""
    command = ["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", f"--header-filter=^{ROOT}/(src|include|tools|examples)/"]
    done = subprocess.run([*command, str(unit), "--", *options, "-w"], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout or done.stderr


def check(options, sources, headers):
    """What clang-tidy says of a unit; empty when it is clean."""
    key = hashlib.sha256("\0".join([headers, *options, *sources, *((ROOT / source).read_text() for source in sources)]).encode()).hexdigest()[:32]
    stamp, unit = UNITS / f"{key}.clean", UNITS / f"{key}.cc"
    if stamp.exists():
        return ""
    unit.write_text("".join(f'#include "{ROOT / source}"\n' for source in sources))
    said = lint(options, unit)
    unit.unlink()
    if not said:
        stamp.touch()
    return said


def main():
    UNITS.mkdir(parents=True, exist_ok=True)
    headers = hashlib.sha256(b"\0".join((ROOT / file).read_bytes() for file in [".clang-tidy", *tracked("*.h", "*.def")])).hexdigest()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda unit: check(*unit, headers), units()))
    sys.stdout.write("".join(said))
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main())
