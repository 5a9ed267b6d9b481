"""Replays of many dead letters as the API takes and tells them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from holdfast.api.models.letter_selection import LetterSelection
from holdfast.api.models.values.acting import Request
from holdfast.api.models.values.moment import Moment, told
from holdfast.api.models.values.texts import Plain, Text
from holdfast.api.models.values.whole import WHOLE
from holdfast.core.dead_letter.dead_letter import Cause
from holdfast.core.dead_letter.replay import Item, ItemState, ReplayState
from holdfast.engine.dead_letters.replay_terms import (
    DEFAULT_CANARY,
    DEFAULT_RATE,
    DEFAULT_STOP_AFTER,
    LEAST_PER_SECOND,
    MAX_LETTERS,
    MAX_PER_SECOND,
)

Count = Annotated[int, Field(ge=0, le=MAX_LETTERS), WHOLE]


class NewReplay(Request):
    """What is to be replayed, and how."""

    name: Plain | None = None
    letters: LetterSelection
    """Left empty it means all that wait for a person."""
    canary: Count = DEFAULT_CANARY
    """So many have to succeed before the rest is sent; 0 for none."""
    rate: Annotated[float, Field(ge=LEAST_PER_SECOND, le=MAX_PER_SECOND)] | None = DEFAULT_RATE
    """Letters a second; null for as fast as can be."""
    stop_after: Annotated[int, Field(ge=1, le=MAX_LETTERS), WHOLE] | None = DEFAULT_STOP_AFTER
    """Send nothing more once so many jobs have failed again; null for never."""
    from_start: bool = False
    confirm_idempotent: bool = False
    """Send also jobs without an idempotency key: repeating them does no harm."""
    cause: Annotated[Cause, Field(strict=False)] | None = None
    """With `evidence`, said about every letter that has yet to be triaged or remediated."""
    evidence: Text | None = None
    reason: Text | None = None
    dry_run: bool = False
    """Only tell what would be sent."""


class PreviewedLetter(BaseModel):
    """One of the letters that would be sent first."""

    id: str
    pipeline: str
    stage: str
    error_class: str
    message: str
    last_failure_at: Moment


class ReplayPreview(BaseModel):
    """What a replay would do; nothing was changed."""

    letters: int
    """How many match."""
    ready: int
    """How many of them would be sent."""
    pipelines: dict[str, int]
    stages: dict[str, int]
    error_classes: dict[str, int]
    skipped: dict[str, int]
    """Why others would not be, and how many for each reason."""
    first: list[PreviewedLetter]


class ReplayCounts(BaseModel):
    """How the letters of a replay stand."""

    pending: int
    unsent: int
    under_way: int
    succeeded: int
    failed_again: int
    cancelled: int
    skipped: int


class Replay(BaseModel):
    """A replay and how far it has come."""

    id: str
    name: str
    state: ReplayState
    asked_by: str
    owner: str | None
    """Whose letters it is about; null where it may be about everybody's."""
    reason: str | None
    note: str | None
    """Why it stopped or was cancelled."""
    created_at: Moment
    updated_at: Moment
    from_start: bool
    canary: int
    rate: float | None
    stop_after: int | None
    letters: int
    counts: ReplayCounts


class ReplayPage(BaseModel):
    """Some replays, newest first."""

    items: list[Replay]
    next_cursor: str | None


class ReplayedLetter(BaseModel):
    """A letter in the list of a replay."""

    position: int
    letter_id: str
    state: ItemState
    sent_at: Moment | None
    note: str | None
    """Why it was skipped."""

    @classmethod
    def of(cls, item: Item) -> ReplayedLetter:
        """Return a letter of the list as the API shows it."""
        return cls(
            position=item.position,
            letter_id=item.letter_id,
            state=item.state,
            sent_at=told(item.sent_at),
            note=item.note,
        )


class ReplayedLetterPage(BaseModel):
    """Some letters of a replay, in the order in which they are sent."""

    items: list[ReplayedLetter]
    next_cursor: str | None
