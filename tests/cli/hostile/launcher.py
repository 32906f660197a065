"""Runs commands one after the other and says how each ended: `python -S -E launcher.py SECONDS < jobs > results`.

A process of its own, and small: the peak that the system counts for a child begins with its parent's. SECONDS of processor time
bound a hang, however busy the machine is.
"""
import json
import os
import resource
import sys


def ended(command, folder):
    """[exit status or minus the signal, standard error, peak bytes]."""
    error = os.path.join(folder, "error")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, error, flags, 0o600)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=files)
    _, status, usage = os.wait4(child, 0)
    with open(error, errors="replace") as text:
        return [os.waitstatus_to_exitcode(status), text.read(100_000), usage.ru_maxrss * 1024]


resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), resource.RLIM_INFINITY))
results = []
for job in json.load(sys.stdin):  # {"folder": ..., "commands": those after one that fails are left out}
    results.append([])
    for command in job["commands"]:
        results[-1].append(ended(command, job["folder"]))
        if results[-1][-1][0] != 0:
            break
json.dump(results, sys.stdout)
