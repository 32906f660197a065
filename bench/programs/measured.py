"""Times one pipeline and prints what it gives: one line of JSON, the last that a program prints."""
import json
import statistics
import time


def peak_mib():
    """The most memory that this process has had since it began its program."""
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024


def libraries():
    """The shared libraries that this process has loaded: they tell which runtime computes."""
    return sorted({words[5] for words in map(str.split, open("/proc/self/maps")) if len(words) == 6 and ".so" in words[5]})


def run(load, calls=5):
    """Prints figures of a pipeline. load() returns a function without arguments that runs the whole pipeline and returns a result for JSON."""
    start = time.perf_counter()
    pipeline = load()
    result = pipeline()
    first, later = time.perf_counter() - start, []
    assert result, "nothing was found"
    for _ in range(calls):
        start = time.perf_counter()
        again = pipeline()
        later.append(time.perf_counter() - start)
        assert again == result, f"a later call gives {again}, the first {result}"
    figures = {"result": result, "first_s": first, "later_s": statistics.median(later), "peak_mib": peak_mib(), "libraries": libraries()}
    print(json.dumps(figures), flush=True)
