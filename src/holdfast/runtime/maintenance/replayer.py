"""Runs a replay: reads how it stands, takes the next step, and says when to look again.

A letter is marked as sent, under the replay's revision, before its job is sent back. Who finds
a mark whose job never got it sends it; that happens once, because a job is sent back only while it
has been sent back as often as when the list was frozen.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias, assert_never

from holdfast.core.dead_letter.replay import (
    Item,
    ItemState,
    Move,
    Pause,
    Replay,
    Run,
    Seen,
    Send,
    SendAgain,
    choose,
    next_step,
    run_of_seen,
)
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Store
from holdfast.store.tables.audit import ENGINE, AuditEntry
from holdfast.store.tables.replays import CHUNK, SUBJECT, Mark

LOGGER: Final = logging.getLogger("holdfast.replay")
LOOK_AHEAD: Final = 100
"""So many letters that cannot be sent are passed over in one step."""

SendBack: TypeAlias = Callable[[Replay, Item], str | None]
"""Sends the job of a letter back, or returns why it cannot be; it may be called twice for one."""

_ENDS: Final = {
    Run.SUCCEEDED: ItemState.SUCCEEDED,
    Run.FAILED_AGAIN: ItemState.FAILED_AGAIN,
    Run.CANCELLED: ItemState.CANCELLED,
}


class Replayer:
    """Takes one replay to its end, turn by turn. Any number of them may run one replay."""

    name = "replayer"

    def __init__(self, store: Store, replay_id: str, *, send_back: SendBack) -> None:
        self.wake = threading.Event()
        self.over = False
        """Whether there is nothing left to do."""
        self._store = store
        self._rows = store.replays
        self._id = replay_id
        self._send_back = send_back

    def tick(self, now: Instant) -> Instant:
        """Take the step that is due, and return the instant of the next turn."""
        replay = self._rows.get(self._id)
        if replay is None:
            self.over = True
            return now
        self._settle()
        step = next_step(replay, self._rows.counts(self._id), now)
        match step:
            case None:
                self.over = True
            case Pause():
                return step.until
            case Move():
                self._move(replay, step, now)
            case Send():
                self._send(replay, step.count, now)
            case SendAgain():
                self._send_again(replay)
            case _:
                assert_never(step)
        return now

    def _settle(self) -> None:
        """Keep what became of letters whose jobs have ended."""
        ended: dict[ItemState, list[int]] = defaultdict(list)
        for seen in self._marked():
            end = _ENDS.get(run_of_seen(seen))
            if end is not None:
                ended[end].append(seen.item.position)
        self._rows.settle(
            self._id,
            [Mark(tuple(found), ItemState.SENT, end) for end, found in ended.items()],
        )

    def _marked(self) -> Iterable[Seen]:
        after = 0
        while page := self._rows.seen(self._id, ItemState.SENT, after=after):
            yield from page
            if len(page) < CHUNK:
                return
            after = page[-1].item.position

    def _move(self, replay: Replay, step: Move, now: Instant) -> None:
        moved = replay._replace(state=step.state, note=step.note, updated_at=now)
        entry = AuditEntry(now, ENGINE, step.state.value, SUBJECT, replay.id, step.note)
        if self._rows.advance(moved, audit=[entry]) is not None:
            LOGGER.info(
                "replay %s is %s",
                replay.name,
                step.state.value,
                extra={
                    "event": "replay",
                    "replay": replay.id,
                    "state": step.state.value,
                    "note": step.note,
                },
            )

    def _send(self, replay: Replay, count: int, now: Instant) -> None:
        """Mark the next letters that can be sent, pass over those that cannot, and send."""
        seen = self._rows.seen(replay.id, ItemState.PENDING, limit=count + LOOK_AHEAD)
        choice = choose(seen, count)
        skips: dict[str, list[int]] = defaultdict(list)
        for item, why in choice.skip:
            skips[why].append(item.position)
        marks = [
            Mark(tuple(found), ItemState.PENDING, ItemState.SKIPPED, note=why)
            for why, found in skips.items()
        ]
        marks.append(
            Mark(
                tuple(item.position for item in choice.send),
                ItemState.PENDING,
                ItemState.SENT,
                sent_at=now,
            )
        )
        sent_at = now if choice.send else replay.last_sent_at
        marked = replay._replace(last_sent_at=sent_at, updated_at=now)
        if self._rows.advance(marked, marks=marks) is None:
            return
        self._send_all(replay, choice.send)

    def _send_again(self, replay: Replay) -> None:
        """Send what was marked and never reached its job, unless it cannot be sent any more."""
        unsent = [seen for seen in self._marked() if run_of_seen(seen) is Run.UNSENT]
        choice = choose(unsent, len(unsent))
        for item, why in choice.skip:
            self._take_back(replay, item, why)
        self._send_all(replay, choice.send)

    def _send_all(self, replay: Replay, items: Iterable[Item]) -> None:
        sent = False
        for item in items:
            why = self._send_back(replay, item)
            if why is None:
                sent = True
            else:
                self._take_back(replay, item, why)
        if sent:
            self._store.announce_due()

    def _take_back(self, replay: Replay, item: Item, why: str) -> None:
        skipped = Mark((item.position,), ItemState.SENT, ItemState.SKIPPED, note=why)
        self._rows.settle(replay.id, [skipped])
