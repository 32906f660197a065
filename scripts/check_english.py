#!/usr/bin/env python3
"""Checks the English of sources and docs: words that a reader stumbles over, comments that do not begin with a verb or with the name of
the thing, the share of comments in headers, and subjects of commits.

    check_english.py [PATH...]    without a path: src, include, tools, python, docs, the pages at the top, and commits
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATHS = ("src", "include", "tools", "python", "docs", "*.md")
WORDS = {
    "anew": "again",
    "as far as": "if, up to, or to the extent that",
    "at once": "concurrently, or immediately",
    "beside": "next to, or also",
    "in turns": "alternating, or one after the other",
    "is none": "there is no ..., or null",
    "nobody": "nothing, or no caller",
    "none where": "empty if, or null if",
    "nothing where": "nullopt if, null if, or empty if",
    "of the user's": "the user's ...",
}
GAP = r"(?:\s|//+<?|#)+"  # between two words: they may stand in two lines of a comment
WORD = re.compile(r"(?<![\w/:])(" + "|".join(words.replace(" ", GAP) for words in WORDS) + r")(?![\w/])", re.I)
OPENING = re.compile(r"(Of|What|Where|Whose|By)\b", re.I)
COMMENT = re.compile(r"^\s*(?:///?<?|/\*|\*(?!/)) ?(.*)$")
TRAILING = re.compile(r"\S.*\s(?:///?<?|/\*) (.*)$")
HASH = re.compile(r"^\s*# (.*)$")
SHARES = {"include": 0.40, "src": 0.33}  # of the lines of headers that are not blank
MAX_SUBJECT = 72
COMMITS = 20
VERBS = set("""Add Allow Append Ask Avoid Begin Build Bump Cache Call Change Check Clear Close Compare Compile Compute Copy Count Cover Cut Declare Decompose
Delete Describe Disable Discard Disturb Document Draw Drop Enable End Evict Expect Explain Expose Fail Fix Fold Follow Format Free Fuse Generate Give
Guard Handle Have Hide Hold Ignore Implement Import Improve Include Infer Install Join Keep Leave Let Limit Link List Load Lock Look Lower Make Mark Match
Measure Merge Move Name Open Pack Pass Pin Plan Print Publish Raise Read Record Refuse Reject Release Remove Rename Replace Report Reserve Restore
Retry Return Reuse Revert Rewrite Run Save Say Set Share Shorten Show Simplify Skip Sort Split State Stop Store Support Take Tell Test Time
Trim Tune Turn Unify Unmap Update Use Validate Verify Wait Wake Warn Wrap Write""".split())


def tracked(paths):
    listed = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines()
            if name.endswith((".cc", ".h", ".cl", ".def", ".fbs", ".py", ".md", ".cmake", "CMakeLists.txt")) and "testdata/" not in name and (ROOT / name).exists()]


def comments(name, lines):
    """Yields (number, first words) of each comment."""
    inside = False
    for number, line in enumerate(lines, 1):
        found = (HASH if name.endswith((".py", ".cmake", ".txt")) else COMMENT).match(line)
        if found and not inside:
            yield number, found.group(1)
        elif not found and (trailing := TRAILING.search(line)):
            yield number, trailing.group(1)
        inside = bool(found)


def check_file(name):
    lines = (ROOT / name).read_text(errors="replace").splitlines()
    text = "\n".join(lines)
    wrong = []
    for found in WORD.finditer(text):
        words = re.sub(GAP, " ", found.group().lower())
        if "None" in found.group():
            continue  # Python's
        wrong.append((text.count("\n", 0, found.start()) + 1, f'"{words}": write {WORDS[words]}'))
    if not name.endswith(".md"):
        wrong += [(number, f'begins with "{found.group(1)}": {words[:60]}') for number, words in comments(name, lines) if (found := OPENING.match(words))]
    return [f"{name}:{number}: {what}" for number, what in sorted(wrong)]


def share_of_comments(folder):
    """Returns the share of comments among lines of the folder's headers that are not blank."""
    lines = [line.strip() for name in tracked([f"{folder}/*.h"]) if not name.endswith(("_test.h", "_test_util.h"))
             for line in (ROOT / name).read_text().splitlines() if line.strip()]
    return sum(line.startswith(("//", "/*", "* ")) or "///<" in line or "/* " in line for line in lines) / max(len(lines), 1)


def check_commits():
    log = subprocess.run(["git", "log", f"-{COMMITS}", "--no-merges", "--format=%h %s"], cwd=ROOT, capture_output=True, text=True)
    wrong = []
    for line in log.stdout.splitlines():
        commit, subject = line.split(" ", 1)
        if len(subject) > MAX_SUBJECT:
            wrong.append(f"commit {commit}: a subject of {len(subject)} characters")
        if subject.split(" ")[0] not in VERBS:
            wrong.append(f"commit {commit}: a subject begins with a verb: {subject}")
    return wrong


def main():
    paths = sys.argv[1:] or PATHS
    wrong = [line for name in tracked(paths) for line in check_file(name)]
    if not sys.argv[1:]:
        wrong += check_commits()
        wrong += [f"{folder}: comments are {share:.1%} of headers, at least {least:.0%} are wanted"
                  for folder, least in SHARES.items() if (share := share_of_comments(folder)) < least]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
