#!/usr/bin/env python3
"""Compares cases that px_fuzz has written with ONNX Runtime: compare_onnxruntime.py FOLDER...

Prints `finding SEED WHAT` for each difference that explained.toml does not explain, `end SEED WHAT`.
Exit status: 1 where there was a finding.
"""
import json
import os
import pathlib
import re
import resource
import signal
import sys
import tomllib

import numpy as np
import onnxruntime

TOLERANCE = 1e-3  # of the largest magnitude: docs/architecture.md, "The same outputs"
SECONDS, MOST_BYTES = 60, 8 << 30  # for each case
EXPLAINED = tomllib.loads((pathlib.Path(__file__).parent / "explained.toml").read_text())["difference"]


def options():
    chosen = onnxruntime.SessionOptions()
    chosen.log_severity_level = 4
    chosen.intra_op_num_threads = chosen.inter_op_num_threads = 1
    chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return chosen


def difference(ours, theirs, stable):
    """How one output differs, in words; nothing where it does not."""
    if not isinstance(theirs, np.ndarray):
        return None
    same_shape = ours.ndim == theirs.ndim if stable == "type" else ours.shape == theirs.shape
    if ours.dtype != theirs.dtype or not same_shape:
        return f"{ours.dtype} {ours.shape}, ONNX Runtime says {theirs.dtype} {theirs.shape}"
    if stable != "elements" or ours.size == 0:
        return None
    if ours.dtype != np.float32:
        wrong = ours != theirs
    else:
        finite = np.isfinite(theirs)
        scale = max(1e-6, np.abs(theirs[finite]).max(initial=0))
        with np.errstate(invalid="ignore"):
            same = np.where(finite & np.isfinite(ours), np.abs(ours.astype(np.float64) - theirs) <= TOLERANCE * scale,
                            (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
        wrong = ~same
    if not wrong.any():
        return None
    return f"{ours[wrong].ravel()[0]}, ONNX Runtime says {theirs[wrong].ravel()[0]} at {np.argwhere(wrong)[0].tolist()} of {ours.shape}"


def explained(what, operators, open_operators):
    """`open_operators` are those behind the output that were given what tests/fuzz/open.cc says."""
    return any(re.search(row["finding"], what) and any(re.fullmatch(row["operator"], name)
                                                       for name in (open_operators if row.get("open", False) else operators))
               for row in EXPLAINED)


def differences(folder, case):
    """What became of the case, and (difference, whether it is explained) for each."""
    if "refusal" in case:
        return "refused", []
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options(), providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has no base class for what it throws
        return f"not loaded by ONNX Runtime: {str(error)[:200]}".replace("\n", " "), []
    found, outcome = [], "compared"
    for number, run in enumerate(case["runs"]):
        feeds = {name: np.load(folder / file) for name, file in run["inputs"].items()}
        try:
            theirs = session.run(None, feeds)
        except Exception as error:
            outcome = f"not run by ONNX Runtime: {str(error)[:200]}".replace("\n", " ")
            continue
        if "error" in run:
            what = f"run {number}: {run['error']}; ONNX Runtime runs it"
            found.append((what, explained(what, case["operators"], [])))
            continue
        for output, (entry, their) in enumerate(zip(run["outputs"], theirs, strict=True)):
            what = difference(np.load(folder / entry["file"]), their, entry["stable"])
            if what:
                what = f"run {number}, output {output}: {what}"
                found.append((what, explained(what, entry["operators"], entry["open"])))
    return outcome, found


def compare(folder):
    """Prints what is found; whether anything was."""
    case = json.loads((folder / "case.json").read_text())
    outcome, found = differences(folder, case)
    unexplained = [what for what, known in found if not known]
    for what in unexplained:
        print(f"finding {case['seed']} {what}")
    print(f"end {case['seed']} {outcome if len(unexplained) == len(found) else 'explained'}", flush=True)
    return bool(unexplained)


def compare_apart(folder):
    """The same in a process of its own: ONNX Runtime crashes on some models."""
    child = os.fork()
    if child == 0:
        signal.alarm(10 * SECONDS)  # it may have been suspended meanwhile
        try:
            for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MOST_BYTES)):
                hard = resource.getrlimit(limit)[1]
                resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
            status = 1 if compare(folder) else 0
        except BaseException as error:  # nothing may end the child as its parent would
            print(f"finding {folder.name} the comparison fails: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
            status = 2
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status in (-signal.SIGALRM, -signal.SIGXCPU):
        print(f"finding {folder.name} the comparison takes more than {SECONDS} s", flush=True)
    elif status < 0:
        print(f"end {folder.name} ONNX Runtime ends with {signal.Signals(-status).name}", flush=True)
        return False
    return status != 0


def main():
    return 1 if any([compare_apart(pathlib.Path(name)) for name in sys.argv[1:]]) else 0


if __name__ == "__main__":
    sys.exit(main())
