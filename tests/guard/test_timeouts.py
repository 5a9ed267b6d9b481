import asyncio
import threading

import pytest

from holdfast.guard.timeouts import Alarm, AlarmClock

PATIENCE_S = 20.0


async def timed(clock: AlarmClock, seconds: float) -> str:
    alarm = clock.start()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        return "rang" if alarm.stop() else "cancelled"
    return "late" if alarm.stop() else "in time"


def test_alarms_ring_one_after_another_each_when_its_own_time_is_up():
    async def scenario() -> list[float]:
        loop, clock, rang = asyncio.get_running_loop(), AlarmClock(0.05), []

        async def hang() -> None:
            begun = loop.time()
            assert await timed(clock, PATIENCE_S) == "rang"
            rang.append(loop.time() - begun)

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(hang())
                await asyncio.sleep(0.02)
        return rang

    took = asyncio.run(scenario())

    assert len(took) == 3
    assert min(took) >= 0.05


def test_one_that_was_stopped_does_not_ring():
    async def scenario() -> str:
        clock = AlarmClock(0.01)
        first = await timed(clock, 0)
        await asyncio.sleep(0.03)
        return first

    assert asyncio.run(scenario()) == "in time"


def test_one_timer_is_enough_for_many():
    async def scenario() -> int:
        clock = AlarmClock(60)
        async with asyncio.TaskGroup() as group:
            for _ in range(500):
                group.create_task(timed(clock, 0))
        return len(asyncio.get_running_loop()._scheduled)

    assert asyncio.run(scenario()) == 1


def test_a_cancellation_from_outside_is_told_from_its_own():
    async def scenario() -> list[str]:
        clock, found = AlarmClock(60), []
        for cancelled in (True, False):
            task = asyncio.create_task(timed(clock, 0.01))
            await asyncio.sleep(0)
            if cancelled:
                task.cancel()
            found.append(await task)
        return found

    assert asyncio.run(scenario()) == ["cancelled", "in time"]


def test_threads_have_loops_and_alarms_of_their_own():
    clock, found = AlarmClock(0.02), []

    def run() -> None:
        found.append(asyncio.run(timed(clock, PATIENCE_S)))

    threads = [threading.Thread(target=run, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert found == ["rang"] * 4


@pytest.mark.parametrize("start", [AlarmClock(1).start, lambda: Alarm.alone(1)])
def test_what_runs_in_no_task_cannot_be_timed(start):
    async def scenario() -> None:
        loop, refused = asyncio.get_running_loop(), asyncio.Event()

        def outside() -> None:
            with pytest.raises(RuntimeError, match="runs in a task"):
                start()
            refused.set()

        loop.call_soon(outside)
        await asyncio.wait_for(refused.wait(), PATIENCE_S)

    asyncio.run(scenario())
