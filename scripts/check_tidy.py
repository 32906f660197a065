#!/usr/bin/env python3
"""clang-tidy (.clang-tidy says which checks) and clang's thread-safety analysis (src/base/mutex.h) over the sources of the library,
the tools and the examples: check_tidy.py [--all]

Without --all, which `make nightly` takes, only units with a file that changed lately are read (RECENT), checks that cost a quarter of the
time and seldom find what the compiler does not are left out (SLOW), and loops of kernels are read for one instruction set.

Sources of one folder are read as one translation unit: their headers, which take most of the time, are then parsed and matched once.
A source that Highway includes again for each instruction set, and each of the examples, which are programs, is a unit of its own. A
unit that was clean leaves a stamp in the user's cache folder, which all clones share. It is not read again while its sources, the
headers that they include, the options and the installed packages stay the same."""
import concurrent.futures
import functools
import hashlib
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import time

from commands import commands

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNITS = ROOT / "build" / "tidy"
STAMPS = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "parallax" / "tidy"
KEPT_DAYS = 30  # a stamp that was not used for so long is removed
RECENT = 10  # commits, more than what lands together; the rest was read when it landed
SETTINGS = {".clang-tidy", "scripts/packages.txt"}  # after a change of these, everything is read
SOURCES = 24  # of a unit; ten of simplify/ took 3.9 s of CPU as one, a source by itself 2.2. Other numbers were not measured
# The compiler's own, besides those of the build: clang refuses what GCC accepts, and the fuzzers are built with clang. Options
# and pragmas that only GCC knows are no errors.
WARNINGS = ("-Wno-unknown-warning-option", "-Wno-unused-command-line-argument", "-Wthread-safety", "-Wthread-safety-beta")
SLOW = ("bugprone-dangling-handle", "bugprone-incorrect-roundings", "bugprone-infinite-loop", "bugprone-signed-char-misuse",
        "bugprone-sizeof-expression", "bugprone-unused-raii", "bugprone-unused-return-value", "google-global-names-in-headers",
        "misc-definitions-in-headers", "performance-type-promotion-in-math-fn")
ONE_SET = ("-march=skylake-avx512", "-DHWY_COMPILE_ONLY_STATIC") if platform.machine() == "x86_64" else ("-DHWY_COMPILE_ONLY_STATIC",)
LEFT_OUT = ("bugprone-suspicious-include",)  # a unit includes sources
OTHERS = ("_test.cc", "_bench.cc", "_fuzz.cc")
FOLDERS = ("src", "include", "examples", "cmake/include")  # where the sources' includes are looked for
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tracked(*patterns):
    return output("git", "ls-files", "--", *patterns).split()


def flags():
    """source -> the compiler's options for it, without its own name and its output's."""
    result = {}
    for entry in commands():
        words = shlex.split(entry["command"])[1:]
        del words[words.index("-o"):words.index("-c") + 2]
        result[os.path.relpath(entry["file"], ROOT)] = tuple(words)
    return result


def units(everything):
    """[(options, sources)], those that take longest first."""
    of, groups, alone = flags(), {}, []
    loops = () if everything else ONE_SET
    for source in tracked("src/*.cc", "tools/*.cc", "examples/*.cc"):
        if source.endswith(OTHERS):
            continue
        if "HWY_TARGET_INCLUDE" in (ROOT / source).read_text():
            alone.append((of[source] + loops, [source]))
        elif source.startswith("examples/"):
            alone.append((of[source], [source]))
        else:
            groups.setdefault((of[source], os.path.dirname(source)), []).append(source)
    return alone + [(options, sources[i:i + SOURCES]) for (options, _), sources in groups.items() for i in range(0, len(sources), SOURCES)]


@functools.cache
def includes(file):
    """The files of this tree that `file` includes. Headers of packages and generated ones, which hold constants, are not among them."""
    found = []
    for name in INCLUDE.findall((ROOT / file).read_text()):
        for folder in (os.path.dirname(file), *FOLDERS):
            path = os.path.normpath(os.path.join(folder, name))
            if (ROOT / path).is_file():
                found.append(path)
                break
    return found


def read_by(sources):
    """All files of this tree that a unit consists of, sorted."""
    found, new = set(), set(sources)
    while new:
        found |= new
        new = {header for file in new for header in includes(file)} - found
    return sorted(found)


def changed():
    """The files that the latest commits and the working tree have changed."""
    commits = output("git", "log", f"-{RECENT}", "--format=", "--name-only")
    return set((commits + output("git", "diff", "--name-only", "HEAD")).splitlines())


def affected(work, names):
    """The units of `work` that consist of one of the files `names`, among others; all if a setting is one of these."""
    return work if names & SETTINGS else [unit for unit in work if not names.isdisjoint(read_by(unit[1]))]


def installed():
    """What is read besides the tree: the linter and the versions of the packages that have headers."""
    packages = [line.split()[0] for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if line and not line.startswith("#")]
    versions = subprocess.run(["dpkg-query", "-W", *packages, "libstdc++*-dev", "libc6-dev"], capture_output=True, text=True, check=False).stdout
    return output("clang-tidy", "--version") + versions


def key_of(options, sources, environment):
    """A hash that changes with whatever may change what clang-tidy says of a unit, and is the same in each clone."""
    parts = [environment, *WARNINGS, *(option.replace(str(ROOT), "") for option in options), *sources]
    for file in read_by(sources):
        parts += [file, (ROOT / file).read_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def lint(options, unit, left_out=LEFT_OUT):
    """What clang-tidy says of a unit."""
    checks = ",".join(f"-{name}" for name in left_out)
    command = ["clang-tidy", "--quiet", f"--checks={checks}", f"--header-filter=^{ROOT}/(src|include|tools|examples)/"]
    done = subprocess.run([*command, str(unit), "--", *options, *WARNINGS], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout or done.stderr


def check(options, sources, environment, left_out):
    """What clang-tidy says of a unit; empty when it is clean."""
    key = key_of(options, sources, environment + " ".join(left_out))
    stamp, unit = STAMPS / key, UNITS / f"{key}.cc"
    if stamp.exists():
        stamp.touch()
        return ""
    unit.write_text("".join(f'#include "{ROOT / source}"\n' for source in sources))
    said = lint(options, unit, left_out)
    unit.unlink()
    if not said:
        stamp.touch()
    return said


def remove_old_stamps():
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for stamp in STAMPS.iterdir():
        if stamp.stat().st_mtime < oldest:
            stamp.unlink(missing_ok=True)


def main(everything):
    UNITS.mkdir(parents=True, exist_ok=True)
    STAMPS.mkdir(parents=True, exist_ok=True)
    remove_old_stamps()
    environment = (ROOT / ".clang-tidy").read_text() + installed()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        left_out = LEFT_OUT if everything else LEFT_OUT + SLOW
        work = units(everything) if everything else affected(units(everything), changed())
        said = list(pool.map(lambda unit: check(*unit, environment, left_out), work))
    sys.stdout.write("".join(said))
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
