"""Named places at both sides of every effect, where a test can make the process die or stall.

Nothing happens there unless `HOLDFAST_FAILPOINTS` names them when the process starts, as in
`apply.before=kill:3,claim.after=stop`: the action takes place when the point is reached for the
third time (the first without a number). Actions: `kill` (SIGKILL), `stop` (SIGSTOP), `term`
(SIGTERM), `raise` (an exception), `exit` (at once, status 70).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from typing import Final, NamedTuple

from holdfast.errors import InvalidSetting

VARIABLE: Final = "HOLDFAST_FAILPOINTS"

OF_DELIVERIES: Final = ("send.before", "send.after", "mark.before", "mark.after")
"""Those that only a worker with providers reaches."""

OF_CONSUMERS: Final = ("settle.before", "settle.after")
"""Those that a consumer reaches, between what a message caused and what the broker hears of it."""

POINTS: Final = (
    "claim.before",
    "claim.after",
    "run.before",
    "run.after",
    "apply.before",
    "apply.after",
    "announce.before",
    "announce.after",
    "renew.before",
    "renew.after",
    "sweep.before",
    "sweep.after",
    *OF_DELIVERIES,
    "publish.before",
    "publish.after",
    "outbox.mark.before",
    "outbox.mark.after",
    *OF_CONSUMERS,
    "purge.before",
    "purge.after",
)

_SIGNALS: Final = {
    "kill": signal.SIGKILL,
    "stop": signal.SIGSTOP,
    "term": signal.SIGTERM,
}
_ACTIONS: Final = (*_SIGNALS, "raise", "exit")
_EXIT_STATUS: Final = 70


class FailpointReached(Exception):
    """What `raise` raises."""


class _Armed(NamedTuple):
    action: str
    at: int


class _Failpoints:
    def __init__(self, armed: Mapping[str, _Armed]) -> None:
        self._armed = armed
        self._reached: dict[str, int] = dict.fromkeys(armed, 0)

    def reach(self, point: str) -> None:
        armed = self._armed.get(point)
        if armed is None:
            return
        self._reached[point] += 1
        if self._reached[point] != armed.at:
            return
        if armed.action == "stop":
            # To this thread: one sent to the process lets it run on until another has taken it.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        elif armed.action in _SIGNALS:
            os.kill(os.getpid(), _SIGNALS[armed.action])
        elif armed.action == "exit":
            os._exit(_EXIT_STATUS)
        else:
            raise FailpointReached(point)


def parse(text: str) -> Mapping[str, _Armed]:
    """Return what `text` arms."""
    armed: dict[str, _Armed] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        point, _, what = item.partition("=")
        action, _, at = what.partition(":")
        if point not in POINTS or action not in _ACTIONS or not (at or "1").isdigit():
            raise InvalidSetting(
                "failpoints",
                field=VARIABLE,
                value=item,
                limit=f"point=action[:n], points {', '.join(POINTS)}, "
                f"actions {', '.join(_ACTIONS)}",
            )
        armed[point] = _Armed(action, int(at or "1"))
    return armed


_active = _Failpoints(parse(os.environ.get(VARIABLE, "")))
reach = _active.reach
"""Called by the runtime at each of `POINTS`."""
