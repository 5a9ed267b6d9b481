"""Replays of many dead letters: the list that was frozen, and how far each has come.

Letters leave `pending` only in a write that names the revision of their replay, so of two runners
that read the same one is first and the other reads again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.dead_letter.replay import (
    Counts,
    Item,
    ItemState,
    Replay,
    ReplayState,
    Seen,
    run_of,
)
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql, Steps
from holdfast.store.tables.audit import AuditEntry, record

SUBJECT: Final = "replay"
"""The kind of subject under which the audit record keeps what is done with replays."""
HANDED_OVER: Final = "handed over"
"""What the audit log says of a replay that the server is to run."""
CHUNK: Final = 1_000
_ITEM: Final = len(Item._fields)


class Frozen(NamedTuple):
    """A letter as it enters the list of a replay; one with a note is skipped from the start."""

    letter_id: str
    retries: int
    note: str | None = None


class Mark(NamedTuple):
    """Letters in one state that enter another, by their positions in the list."""

    positions: tuple[int, ...]
    from_state: ItemState
    state: ItemState
    sent_at: Instant | None = None
    note: str | None = None


class ReplayRows:
    """Reads and writes replays."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def create(
        self,
        replay: Replay,
        letters: Sequence[Frozen],
        *,
        audit: AuditEntry,
        handed_over: AuditEntry | None = None,
    ) -> None:
        """Write a replay, its frozen list and the record of who asked for it, in one commit.

        With `handed_over` the audit log also says that the server is to run it. A replay that is
        there already stays as it is, so a lost reply may be answered by a repeat.
        """
        values = {**replay._asdict(), "state": replay.state.value}
        values["from_start"] = int(replay.from_start)

        def write(steps: Steps) -> None:
            if steps.count("replay_insert", values) != 1:
                return
            for start in range(0, len(letters), CHUNK):
                items = [
                    [position, letter.letter_id, _first_state(letter), letter.retries, letter.note]
                    for position, letter in enumerate(letters[start : start + CHUNK], start + 1)
                ]
                steps.count(
                    "replay_items_insert", {"replay_id": replay.id, "items": json.dumps(items)}
                )
            record(steps, audit)
            if handed_over is not None:
                record(steps, handed_over)

        self._sql.transact(write)

    def handed_over(self) -> list[Replay]:
        """Return the replays that have not ended and were handed over, the oldest first."""
        rows = self._sql.rows("replays_handed_over", {"action": HANDED_OVER})
        return [_replay(row) for row in rows]

    def get(self, replay_id: str, *, owner: str | None = None) -> Replay | None:
        """Return a replay, or None when there is none of that id, or none of that owner's."""
        rows = self._sql.rows("replay", {"id": replay_id, "owner": owner})
        return _replay(rows[0]) if rows else None

    def latest(
        self, *, limit: int, before: str | None = None, owner: str | None = None
    ) -> list[Replay]:
        """Return the latest replays, newest first, from those whose id is below `before`."""
        rows = self._sql.rows("replays", {"before": before, "owner": owner, "limit": limit})
        return [_replay(row) for row in rows]

    def items(self, replay_id: str, *, after: int, limit: int) -> list[Item]:
        """Return letters of the list behind the position `after`, in order."""
        values = {"replay_id": replay_id, "after": after, "limit": limit}
        return [_item(row) for row in self._sql.rows("replay_items", values)]

    def seen(
        self, replay_id: str, state: ItemState, *, after: int = 0, limit: int = CHUNK
    ) -> list[Seen]:
        """Return letters of the list in one state, with what they and their jobs look like now."""
        values = {"replay_id": replay_id, "state": state.value, "after": after, "limit": limit}
        return [_seen(row) for row in self._sql.rows("replay_items_seen", values)]

    def counts(self, replay_id: str) -> Counts:
        """Return how the letters of a replay stand, as their jobs show it now."""
        counted: Counter[str] = Counter()
        rows = self._sql.rows("replay_counts", {"replay_id": replay_id})
        for state, job_state, sent_back, count in rows:
            if state == ItemState.SENT:
                known = None if job_state is None else JobState(job_state)
                counted[run_of(job_state=known, sent_back=sent_back)] += count
            else:
                counted[state] += count
        return Counts(**counted)

    def advance(
        self, replay: Replay, *, marks: Iterable[Mark] = (), audit: Sequence[AuditEntry] = ()
    ) -> Replay | None:
        """Write a replay as decided from its `revision`, and what its letters enter.

        Returns it with its new revision, or None when another was first.
        """
        values = {
            "id": replay.id,
            "revision": replay.revision,
            "state": replay.state.value,
            "last_sent_at": replay.last_sent_at,
            "note": replay.note,
            "updated_at": replay.updated_at,
        }
        kept = [mark for mark in marks if mark.positions]

        def write(steps: Steps) -> bool:
            if steps.count("replay_update", values) != 1:
                return False
            for mark in kept:
                _mark(steps, replay.id, mark)
            for entry in audit:
                record(steps, entry)
            return True

        written = self._sql.transact(write)
        return replay._replace(revision=replay.revision + 1) if written else None

    def settle(self, replay_id: str, marks: Iterable[Mark]) -> None:
        """Keep what became of letters that were sent; those that have moved on are left alone."""
        kept = [mark for mark in marks if mark.positions]

        def write(steps: Steps) -> None:
            for mark in kept:
                _mark(steps, replay_id, mark)

        if kept:
            self._sql.transact(write)


def _mark(steps: Steps, replay_id: str, mark: Mark) -> None:
    steps.count(
        "replay_items_mark",
        {
            "replay_id": replay_id,
            "positions": json.dumps(mark.positions),
            "from_state": mark.from_state.value,
            "state": mark.state.value,
            "sent_at": mark.sent_at,
            "note": mark.note,
        },
    )


def _first_state(letter: Frozen) -> str:
    return ItemState.PENDING.value if letter.note is None else ItemState.SKIPPED.value


def _replay(row: Sequence[Any]) -> Replay:
    replay = Replay._make(row)
    return replay._replace(state=ReplayState(replay.state), from_start=bool(replay.from_start))


def _item(row: Sequence[Any]) -> Item:
    item = Item._make(row)
    return item._replace(state=ItemState(item.state))


def _seen(row: Sequence[Any]) -> Seen:
    letter_state, job_state, job_retries = row[_ITEM:]
    return Seen(
        _item(row[:_ITEM]),
        None if letter_state is None else LetterState(letter_state),
        None if job_state is None else JobState(job_state),
        job_retries,
    )
