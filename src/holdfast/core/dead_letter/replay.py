"""The one place that says how a replay of many dead letters goes on.

A replay has a frozen list of letters. `next_step` takes the replay as it was read, how its letters
stand, and the instant, and returns what to do: send some, send again what a crash left behind,
move on, or wait. `obstacle` says why a letter cannot be sent any more, `run_of` what became of one
that was. All three are pure; what is done about it is written under the replay's revision, so two
runners of one replay never both send.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.job.job import ACTIVE, JobState
from holdfast.core.values.instant import SECOND_US, Instant, later

if TYPE_CHECKING:
    from collections.abc import Sequence

POLL_US: Final = SECOND_US // 5
"""How often to look at jobs that are under way."""
CATCH_UP_US: Final = SECOND_US // 10
"""A runner that is late makes up for so much of its rate, and never for more."""
BATCH: Final = 100
"""At most so many letters are sent in one step."""
MAX_UNDER_WAY: Final = 100
"""Without a rate, so many may be under way at a time: a stop rule has to hear of those that fail
before all the others are sent."""


class ReplayState(StrEnum):
    """How far a replay has come."""

    PLANNED = "planned"
    CANARY = "canary"
    """The first few were sent, and the rest wait for their success."""
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    """By its own rule: too many of the jobs failed again."""
    CANCELLED = "cancelled"


ENDED: Final = frozenset({ReplayState.DONE, ReplayState.STOPPED, ReplayState.CANCELLED})


class ItemState(StrEnum):
    """How a letter in the list of a replay stands."""

    PENDING = "pending"
    SENT = "sent"
    """To be sent by the process that reads this, unless its job shows that it was."""
    SUCCEEDED = "succeeded"
    FAILED_AGAIN = "failed_again"
    CANCELLED = "cancelled"
    """Its job was cancelled, or is no longer there."""
    SKIPPED = "skipped"


class Run(StrEnum):
    """What became of a letter that is marked as sent."""

    UNSENT = "unsent"
    """Its job never got it: the process that marked it died before sending."""
    UNDER_WAY = "under_way"
    SUCCEEDED = "succeeded"
    FAILED_AGAIN = "failed_again"
    CANCELLED = "cancelled"


class Replay(NamedTuple):
    """A replay as the store holds it, in the order of its columns."""

    id: str
    name: str
    asked_by: str
    reason: str | None
    created_at: Instant
    updated_at: Instant
    revision: int
    state: ReplayState
    from_start: bool
    canary: int
    """How many have to succeed before the rest is sent; 0 for none."""
    every_us: int
    """The time between two letters; 0 for no limit."""
    stop_after: int
    """Stop once so many jobs failed again; 0 for never."""
    last_sent_at: Instant | None
    note: str | None
    """Why it stopped or was cancelled."""
    owner: str | None = None
    """Whose letters it is about; None where it may be about everybody's."""


class Item(NamedTuple):
    """A letter in the list of a replay."""

    position: int
    letter_id: str
    state: ItemState
    retries: int
    """How often the job had been sent back when the list was frozen: the fence of its replay."""
    sent_at: Instant | None
    note: str | None


class Seen(NamedTuple):
    """An item, with what its letter and its job look like now; None for what is not there."""

    item: Item
    letter_state: LetterState | None
    job_state: JobState | None
    job_retries: int | None


class Counts(NamedTuple):
    """How the letters of a replay stand."""

    pending: int = 0
    unsent: int = 0
    under_way: int = 0
    succeeded: int = 0
    failed_again: int = 0
    cancelled: int = 0
    skipped: int = 0

    @property
    def sent(self) -> int:
        """How many were sent, however their jobs ended."""
        return self.unsent + self.under_way + self.succeeded + self.failed_again + self.cancelled

    @property
    def total(self) -> int:
        """How many letters the list holds."""
        return sum(self)


@dataclass(frozen=True, slots=True)
class Send:
    """Send the next letters of the list, at most so many."""

    count: int


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Send what is marked as sent and never reached its job."""


@dataclass(frozen=True, slots=True)
class Move:
    """The replay enters another state."""

    state: ReplayState
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing to do before then."""

    until: Instant


ReplayStep: TypeAlias = Send | SendAgain | Move | Pause


_UNREADY: Final = {
    LetterState.OPEN: "it has not been triaged",
    LetterState.TRIAGED: "it has not been remediated",
    LetterState.REPLAYED: "it was replayed already",
    LetterState.RESOLVED: "it is resolved",
}
"""Why a letter in each of these states is not replayed."""


def next_step(replay: Replay, counts: Counts, now: Instant) -> ReplayStep | None:
    """Return what to do at `now`, or None when the replay has ended."""
    if replay.state in ENDED:
        return None
    why = _why_stop(replay, counts)
    if why is not None:
        return Move(ReplayState.STOPPED, why)
    if counts.unsent:
        return SendAgain()
    if replay.state is ReplayState.PLANNED:
        return Move(ReplayState.CANARY if replay.canary else ReplayState.RUNNING)
    if not counts.pending:
        return Pause(later(now, POLL_US)) if counts.under_way else Move(ReplayState.DONE)
    if replay.state is ReplayState.RUNNING:
        return _send(replay, counts.pending, counts.under_way, now)
    missing = replay.canary - counts.sent
    if missing > 0:
        return _send(replay, min(missing, counts.pending), counts.under_way, now)
    return Pause(later(now, POLL_US)) if counts.under_way else Move(ReplayState.RUNNING)


def _why_stop(replay: Replay, counts: Counts) -> str | None:
    """Return why nothing more is to be sent; where nothing is left to send, nothing is stopped."""
    if not counts.pending and not counts.unsent:
        return None
    if replay.state is ReplayState.CANARY and counts.failed_again:
        return f"the canary failed: {_jobs(counts.failed_again)} failed again"
    if replay.state is ReplayState.CANARY and counts.cancelled:
        return f"the canary did not succeed: {_jobs(counts.cancelled)} cancelled"
    if replay.stop_after and counts.failed_again >= replay.stop_after:
        return f"{_jobs(counts.failed_again)} failed again"
    return None


def _send(replay: Replay, most: int, under_way: int, now: Instant) -> Send | Pause:
    """Send as many as the rate allows by now; a clock that was set back costs one turn early."""
    last, every_us = replay.last_sent_at, replay.every_us
    if not every_us:
        room = max(MAX_UNDER_WAY - under_way, 0) if replay.stop_after else BATCH
        return Send(min(most, room, BATCH)) if room else Pause(later(now, POLL_US))
    if last is None:
        return Send(1)
    waited_us = now - last
    if 0 <= waited_us < every_us:
        return Pause(min(later(last, every_us), later(now, POLL_US)))
    late_us = min(max(waited_us - every_us, 0), CATCH_UP_US)
    return Send(min(most, 1 + late_us // every_us, BATCH))


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def obstacle(seen: Seen) -> str | None:
    """Return why a letter cannot be replayed, or None when it can."""
    if seen.letter_state is None:
        return "the dead letter is no longer there"
    if seen.job_state is None:
        return "its job is no longer there"
    if seen.job_retries != seen.item.retries:
        return "somebody else sent its job back"
    if seen.job_state is not JobState.FAILED:
        return f"its job is {seen.job_state}"
    return _UNREADY.get(seen.letter_state)


def run_of(*, job_state: JobState | None, sent_back: int | None) -> Run:
    """Return what became of a letter that is marked as sent.

    `sent_back` is how often its job was sent back since the list was frozen. More than once means
    that it failed in between: only failed jobs are sent back.
    """
    if job_state is None or sent_back is None:
        return Run.CANCELLED
    if sent_back > 1:
        return Run.FAILED_AGAIN
    if job_state is JobState.FAILED:
        return Run.FAILED_AGAIN if sent_back else Run.UNSENT
    if job_state in ACTIVE:
        return Run.UNDER_WAY
    return Run.SUCCEEDED if job_state is JobState.COMPLETE else Run.CANCELLED


def run_of_seen(seen: Seen) -> Run:
    """Return what became of an item that is marked as sent."""
    retries = seen.job_retries
    return run_of(
        job_state=seen.job_state,
        sent_back=None if retries is None else retries - seen.item.retries,
    )


class Choice(NamedTuple):
    """Which of the items looked at are sent now, and which never, with the reason."""

    send: tuple[Item, ...]
    skip: tuple[tuple[Item, str], ...]


def choose(seen: Sequence[Seen], count: int) -> Choice:
    """Return the first `count` items that can be replayed, and those before them that cannot."""
    send: list[Item] = []
    skip: list[tuple[Item, str]] = []
    for each in seen:
        if len(send) == count:
            break
        why = obstacle(each)
        if why is None:
            send.append(each.item)
        else:
            skip.append((each.item, why))
    return Choice(tuple(send), tuple(skip))
