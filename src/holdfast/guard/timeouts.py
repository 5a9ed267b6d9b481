"""Timeouts of coroutines, many of them with one timer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any


class Alarm:
    """Cancels a task when its time is up, unless it is stopped before."""

    __slots__ = ("_cancels", "_rang", "_task", "_timer", "ends_s", "ringing")

    def __init__(
        self, task: asyncio.Task[Any], ends_s: float, ringing: dict[Alarm, None] | None
    ) -> None:
        self.ends_s = ends_s
        self.ringing = ringing
        self._task = task
        # The one who cancelled the task before is not to be taken for this alarm.
        self._cancels = task.cancelling()
        self._rang = False
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def alone(cls, seconds: float) -> Alarm:
        """Return an alarm for the current task, with a timer of its own."""
        loop = asyncio.get_running_loop()
        alarm = cls(_current_task(loop), loop.time() + seconds, None)
        alarm._timer = loop.call_at(alarm.ends_s, alarm.ring)
        return alarm

    def ring(self) -> None:
        """Cancel the task."""
        self._rang = True
        self._task.cancel()

    def stop(self) -> bool:
        """End it; True when the cancellation that has come is its own and nobody else's."""
        if self.ringing is not None:
            self.ringing.pop(self, None)
        elif self._timer is not None:
            self._timer.cancel()
        return self._rang and self._task.uncancel() <= self._cancels


class Alarms:
    """Alarms of one length on one loop: who began first ends first, so one timer is enough."""

    __slots__ = ("_ringing", "_span_s", "_timer", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, span_s: float) -> None:
        self.loop = loop
        self._span_s = span_s
        self._ringing: dict[Alarm, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, task: asyncio.Task[Any]) -> Alarm:
        """Return an alarm for a task of the loop."""
        ends_s = self.loop.time() + self._span_s
        alarm = Alarm(task, ends_s, self._ringing)
        self._ringing[alarm] = None
        if self._timer is None:
            self._timer = self.loop.call_at(ends_s, self._ring)
        return alarm

    def _ring(self) -> None:
        now_s, due = self.loop.time(), []
        self._timer = None
        for alarm in self._ringing:
            if alarm.ends_s > now_s:
                self._timer = self.loop.call_at(alarm.ends_s, self._ring)
                break
            due.append(alarm)
        for alarm in due:
            del self._ringing[alarm]
            alarm.ring()


class AlarmClock(threading.local):
    """Alarms of one length, on whichever loop this thread runs."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._alarms: Alarms | None = None

    def start(self) -> Alarm:
        """Return an alarm for the current task."""
        alarms = self._alarms
        # Asked for the running loop, asyncio asks the system for the process first.
        task = None if alarms is None else asyncio.current_task(alarms.loop)
        if alarms is None or task is None:
            loop = asyncio.get_running_loop()
            task = _current_task(loop)
            alarms = self._alarms = Alarms(loop, self._span_s)
        return alarms.start(task)


def _current_task(loop: asyncio.AbstractEventLoop) -> asyncio.Task[Any]:
    task = asyncio.current_task(loop)
    if task is None:
        raise RuntimeError("only what runs in a task can be timed")
    return task
