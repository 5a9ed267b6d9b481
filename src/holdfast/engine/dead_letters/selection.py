"""Which dead letters a replay is of, and why some of them cannot be in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from holdfast.core.dead_letter.dead_letter import (
    FILE,
    MESSAGE,
    WAITING,
    DeadLetter,
    LetterState,
)
from holdfast.core.dead_letter.replay import Item, ItemState, Seen, obstacle
from holdfast.core.job.job import Job
from holdfast.core.values.ids import JobId
from holdfast.engine.dead_letters.dead_letters import owned
from holdfast.engine.dead_letters.replay_terms import MAX_LETTERS
from holdfast.errors import InvalidValue
from holdfast.store.contract import Store
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.store.tables.replays import CHUNK, Frozen

NO_KEY: Final = "its job has no idempotency key, and nobody confirmed that it may be repeated"
FROM_A_FILE: Final = "it came from a file and has no job; replay it by itself, into a pipeline"
A_MESSAGE: Final = "it is a message and has no job; replay it by itself"
_WITHOUT_JOB: Final = {FILE: FROM_A_FILE, MESSAGE: A_MESSAGE}


def matching(
    store: Store, wanted: LetterFilter | str, owner: str | None
) -> Iterator[tuple[DeadLetter, Job | None]]:
    """Yield matching letters that wait for a person, the newest first."""
    asked_for = LetterFilter(fingerprint=wanted) if isinstance(wanted, str) else wanted
    chosen = owned(asked_for, owner)
    if chosen is None:
        return
    if not chosen.states:
        chosen = chosen._replace(states=tuple(sorted(WAITING)))
    before, seen = None, 0
    while page := store.letters.find(chosen, before=before, limit=CHUNK):
        jobs = store.get([JobId(letter.id) for letter in page])
        yield from ((letter, jobs.get(JobId(letter.id))) for letter in page)
        before, seen = page[-1].id, seen + len(page)
        if seen > MAX_LETTERS:
            raise InvalidValue(
                "replay", field="wanted", value=seen, limit=f"at most {MAX_LETTERS} letters"
            )


def why_not(letter: DeadLetter, job: Job | None, *, confirmed: bool, readied: bool) -> str | None:
    """Return why a letter cannot be in a replay, or None when it can."""
    if letter.kind in _WITHOUT_JOB:
        return _WITHOUT_JOB[letter.kind]
    state = LetterState.REMEDIATED if readied and letter.state in WAITING else letter.state
    retries = 0 if job is None else job.retries
    item = Item(0, letter.id, ItemState.PENDING, retries, None, None)
    why = obstacle(Seen(item, state, None if job is None else job.state, retries))
    if why is None and job is not None and job.key is None and not confirmed:
        return NO_KEY
    return why


def nothing_to_send(letters: list[Frozen]) -> str:
    """Return what to say where no letter can be sent."""
    if not letters:
        return "no dead letter matches that waits for a person; nothing was started"
    reasons = Counter(letter.note for letter in letters)
    listed = "; ".join(f"{count}: {why}" for why, count in reasons.most_common())
    return (
        f"none of the {len(letters)} dead letters can be replayed ({listed}); nothing was started"
    )
