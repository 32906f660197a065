"""Session.run_async: the event loop goes on, and a task that is cancelled ends its run."""
import asyncio
import gc
import os
import threading
import time

import models
import numpy as np
import pytest
from conftest import DIGITS, ROOT, script

import parallax
import parallax._async

IMAGES = np.load(ROOT / "models" / "digits" / "images.npy").astype(np.float32).reshape(-1, 1, 8, 8)
MANY = 2 * (len(os.sched_getaffinity(0)) + 4)  # more runs than a loop has threads


class Flag:
    """An input that tells whether a run reads it: NumPy asks for its values in the run's thread."""

    def __init__(self):
        self.asked = 0

    def __array__(self, dtype=None, copy=None):
        self.asked += 1
        return np.zeros((), np.float32)


@pytest.fixture
def endless():
    """A session whose runs only a stop ends, or at last the limit of time."""
    return parallax.Session(models.endless(), threads=1, max_loop_trips=(1 << 63) - 1, time_limit=60)


async def begun(session, task):
    """Returns when the task's run computes."""
    while session.peak_arena_bytes == 0 and not task.done():
        await asyncio.sleep(0.001)
    assert not task.done()


def test_outputs_are_those_of_run():
    session = parallax.Session(DIGITS)
    expected = session.run(IMAGES[:3])["logits"]
    for arguments, keywords in [((IMAGES[:3],), {}), (({"image": IMAGES[:3]}, ["logits"]), {}), ((IMAGES[:3],), {"outputs": ("logits",)})]:
        outputs = asyncio.run(session.run_async(*arguments, **keywords))
        assert list(outputs) == ["logits"]
        np.testing.assert_array_equal(outputs["logits"], expected)


def test_many_tasks_share_a_session():
    session = parallax.Session(DIGITS, threads=1)

    async def main():
        return await asyncio.gather(*[session.run_async(IMAGES[n:n + 1 + n % 3]) for n in range(10 * MANY)])

    for n, outputs in enumerate(asyncio.run(main())):
        np.testing.assert_array_equal(outputs["logits"], session.run(IMAGES[n:n + 1 + n % 3])["logits"])


def test_a_state_goes_from_run_to_run():
    session = parallax.Session(models.add())
    state = parallax.State(session, [("x", "z")])
    state.set("x", np.ones(2, np.float32))

    async def main():
        return [(await session.run_async({"y": [1.0, 2.0]}, ["z"], state=state))["z"].tolist() for _ in range(2)]

    assert asyncio.run(main()) == [[2, 3], [3, 5]]


@pytest.mark.parametrize("value, error", [([7], parallax.OutOfRangeError), ("text", parallax.Error), ({"none": 1}, parallax.InvalidInputError)])
def test_errors_are_those_of_run(value, error):
    session = parallax.Session(models.gather())
    with pytest.raises(error) as expected:
        session.run(value)
    with pytest.raises(error) as caught:
        asyncio.run(session.run_async(value))
    assert type(caught.value) is type(expected.value) and str(caught.value) == str(expected.value)


def test_a_coroutine_needs_a_loop_only_when_it_is_awaited():
    coroutine = parallax.Session(DIGITS).run_async(IMAGES[:1])
    assert asyncio.iscoroutine(coroutine)
    coroutine.close()


def test_the_loop_goes_on_and_a_cancelled_task_ends_its_run(endless):
    async def main():
        task = asyncio.create_task(endless.run_async(0))
        await begun(endless, task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())


@pytest.mark.parametrize("wait", ["timeout", "wait_for"])
def test_a_timeout_ends_the_run(endless, wait):
    async def main():
        if wait == "wait_for":
            await asyncio.wait_for(endless.run_async(0), 0.05)
        async with asyncio.timeout(0.05):
            await endless.run_async(0)

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(main())
    assert not isinstance(caught.value, parallax.Error)


def test_the_limit_of_time_is_an_error_of_the_library():
    session = parallax.Session(models.endless(), max_loop_trips=(1 << 63) - 1, time_limit=0.01)
    with pytest.raises(parallax.LimitExceededError):
        asyncio.run(session.run_async(0))


class Slow:
    """A session whose run ends long after it was stopped, with an error of its own."""

    def __init__(self):
        self.running, self.release, self.ended = threading.Event(), threading.Event(), False

    def run(self, inputs, outputs, *, state, stop):
        del inputs, outputs, state
        self.running.set()
        self.release.wait(60)
        assert stop.stop_requested
        self.ended = True
        raise parallax.InternalError("while it is cancelled")


def test_a_cancelled_task_waits_for_the_end_however_often_it_is_cancelled(caplog):
    slow = Slow()

    async def main():
        task = asyncio.create_task(parallax._async.run(slow, 0, None, None))
        while not slow.running.is_set():
            await asyncio.sleep(0.001)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done()
        slow.release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert slow.ended

    asyncio.run(main())
    gc.collect()
    assert not caplog.records  # such as exceptions that were never retrieved


def test_a_task_that_is_cancelled_before_its_run_begins_never_runs(endless):
    async def main():
        blocked = [asyncio.create_task(endless.run_async(0)) for _ in range(MANY)]
        flag = Flag()
        task = asyncio.create_task(parallax.Session(models.identity(1, [])).run_async({"x": flag}))
        early = asyncio.create_task(endless.run_async(flag))
        early.cancel()
        await begun(endless, blocked[0])
        task.cancel()
        await asyncio.wait([task, early])
        assert task.cancelled() and early.cancelled() and not any(other.done() for other in blocked)
        for other in blocked:
            other.cancel()
        await asyncio.wait(blocked)
        assert flag.asked == 0

    asyncio.run(main())


def test_one_cancelled_run_leaves_others_alone(endless):
    async def main():
        tasks = [asyncio.create_task(endless.run_async(0)) for _ in range(4)]
        await begun(endless, tasks[1])
        tasks[1].cancel()
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert [task.done() for task in tasks] == [False, True, False, False]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    asyncio.run(main())


def test_a_loop_that_ends_cancels_its_runs(endless):
    async def main():
        task = asyncio.create_task(endless.run_async(0))
        await begun(endless, task)
        return task

    assert asyncio.run(main()).cancelled()


def test_a_loop_that_is_closed_leaves_no_run_behind():
    """A run is stopped if its coroutine is destroyed, and prints nothing though its loop is closed by then."""
    text = """
import asyncio, sys
sys.path.insert(0, "python/tests")
import models, parallax, parallax._async
session = parallax.Session(models.endless(), threads=1, max_loop_trips=(1 << 63) - 1, time_limit=60)
class Seen:
    def run(self, *arguments, **keywords):
        try:
            session.run(*arguments, **keywords)
        except parallax.Error as error:
            print(type(error).__name__)
            raise
async def begin():
    coroutine.send(None)
    while session.peak_arena_bytes == 0:
        await asyncio.sleep(0.001)
loop = asyncio.new_event_loop()
coroutine = parallax._async.run(Seen(), 0, None, None)
loop.run_until_complete(begin())
loop.close()
coroutine.close()
"""
    assert script(text) == "CancelledError\n"


def test_threads_end_with_their_loop():
    def threads():
        return sum(thread.name.startswith("parallax-run") for thread in threading.enumerate())

    session = parallax.Session(DIGITS)
    asyncio.run(session.run_async(IMAGES[:1]))
    for _ in range(1000):
        gc.collect()
        if threads() == 0:
            return
        time.sleep(0.01)
    assert threads() == 0
