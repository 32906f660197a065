"""Session.run_async: runs that a coroutine awaits. The compiled module calls run()."""
import asyncio
import concurrent.futures
import contextlib
import os
import typing
import weakref

from . import Session, State, StopSource

_WAITING = 4  # threads beyond the CPUs, so that runs that wait for a device or for memory delay few others
_Results: typing.TypeAlias = dict[str, typing.Any]
# Executors belong to event loops: asyncio's own would also have the program's other work wait for runs, and threads do not survive a fork.
_executors: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, concurrent.futures.ThreadPoolExecutor] = weakref.WeakKeyDictionary()


def _executor(loop: asyncio.AbstractEventLoop) -> concurrent.futures.ThreadPoolExecutor:
    """Returns the loop's executor; its threads end with the loop."""
    if loop not in _executors:
        _executors[loop] = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) + _WAITING, "parallax-run")
    return _executors[loop]


def _notify(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Wakes the coroutine that waits for a run; a loop that was closed meanwhile has none."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)


async def run(session: Session, inputs: object, outputs: list[str] | tuple[str, ...] | None, state: State | None) -> _Results:
    """Does what Session.run() does, in a thread of the loop's executor; a task that is cancelled waits until the run has ended."""
    loop, stop, ended = asyncio.get_running_loop(), StopSource(), asyncio.Event()
    work = _executor(loop).submit(session.run, inputs, outputs, state=state, stop=stop)
    work.add_done_callback(lambda _: _notify(loop, ended))
    try:
        await ended.wait()
    except (asyncio.CancelledError, GeneratorExit) as reason:
        stop.request_stop()
        work.cancel()  # a run that has not begun never will
        # The caller may free the inputs only after the run. A coroutine that is destroyed cannot wait.
        while not ended.is_set() and isinstance(reason, asyncio.CancelledError):
            with contextlib.suppress(asyncio.CancelledError):
                await ended.wait()
        raise
    return work.result()
