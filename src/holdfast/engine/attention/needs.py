"""Reads what needs a person, and ranks it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Final

from holdfast.core.dead_letter.replay import ItemState, Replay, ReplayState, obstacle
from holdfast.core.values.instant import Instant
from holdfast.engine.attention.entry import Attention, Kind, Urgency
from holdfast.engine.attention.leftovers import deliveries, letters, outbox, replays
from holdfast.engine.attention.need import Need
from holdfast.engine.attention.read import DueRoute, Read
from holdfast.engine.attention.work import breakers, due_jobs, pauses, workers
from holdfast.engine.jobs.waits import Waits
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.engine")
MAX_COUNTED_CAUSES: Final = 100
MAX_REPLAYS: Final = 20
"""So many of the latest replays are looked at."""
MAX_ITEMS: Final = 200
"""So many unsent letters of a replay are looked at."""


def ranked(read: Read, more: Iterable[Attention] = ()) -> list[Attention]:
    """Return everything that needs a person, what to look at first before the rest.

    `more` is what systems say of themselves.
    """
    found = [
        *more,
        *due_jobs(read),
        *outbox(read),
        *letters(read.groups, read.called),
        *deliveries(read.unattended),
        *breakers(read),
        *pauses(read),
        *replays(read.stopped),
        *workers(read),
    ]
    return sorted(found, key=_rank)


_URGENCIES: Final = list(Urgency)
_KINDS: Final = list(Kind)


def _rank(each: Attention) -> tuple[int, int, int, str]:
    kind = _KINDS.index(each.kind)
    return (_URGENCIES.index(each.urgency), kind, -each.count, each.subject)


class Needs:
    """Reads what needs a person."""

    def __init__(self, store: Callable[[], Store], *, waits: Waits, clock: Clock) -> None:
        self._store = store
        self._waits = waits
        self._clock = clock
        self._more: tuple[Callable[[], Iterable[Need]], ...] = ()

    def add(self, read: Callable[[], Iterable[Need]]) -> None:
        """List what `read` returns as well from now on."""
        self._more = (*self._more, read)

    def read(self) -> list[Attention]:
        """Return everything that needs a person, the most urgent first."""
        store, now = self._store(), self._clock.now()
        messages = store.outbox.standing()
        groups = store.letters.groups(limit=MAX_COUNTED_CAUSES)
        return ranked(
            Read(
                now,
                around=self._waits.around(),
                due=self._due(store, now),
                groups=groups,
                called=store.upstreams.callers() if groups else MappingProxyType({}),
                unattended=store.deliveries.unattended(),
                stopped=_stopped(store),
                outbox=messages,
                message_due_at=store.outbox.next_due() if messages.pending else None,
            ),
            self._of_systems(),
        )

    def _of_systems(self) -> list[Attention]:
        """Return what systems say; one that fails takes nothing from the rest of the list."""
        found: list[Attention] = []
        for read in self._more:
            try:
                found.extend([need.entry() for need in read()])
            except Exception:
                LOGGER.exception(
                    "what needs a person in a system cannot be read",
                    extra={"event": "needs_failed"},
                )
        return found

    def _due(self, store: Store, now: Instant) -> list[DueRoute]:
        return [
            DueRoute(route, due, since, self._waits.upstream_of_route(route))
            for route, due, since in store.routes(now=now)
        ]


def _stopped(store: Store) -> list[tuple[Replay, int]]:
    """Return the latest replays that stopped, with letters that nobody has sent since."""
    found = []
    for replay in store.replays.latest(limit=MAX_REPLAYS):
        if replay.state is ReplayState.STOPPED:
            unsent = store.replays.seen(replay.id, ItemState.PENDING, limit=MAX_ITEMS)
            left = sum(obstacle(each) is None for each in unsent)
            if left:
                found.append((replay, left))
    return found
