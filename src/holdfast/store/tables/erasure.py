"""Removes all that belongs to one owner: bounded batches, each whole or not at all.

A job goes last of all that belongs to it, in one transaction, so that what is left after a batch
that did not happen is found again by its jobs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.ids import JobId, is_marked
from holdfast.core.values.outbox import OutboxStatus
from holdfast.store.statements.sql import Sql, Steps
from holdfast.store.tables import dead_letters, deliveries, outbox, replays
from holdfast.store.tables.retention import jobs_to_go

BATCH: Final = 100
"""How many jobs, deliveries or letters go at a time."""
_START: Final = ""
_ENDED: Final = (JobState.COMPLETE, JobState.CANCELLED, JobState.FAILED)
_TO_SEND: Final = frozenset({DeliveryState.INTENT, DeliveryState.SENDING})
_KINDS: Final = (dead_letters.SUBJECT, deliveries.SUBJECT, outbox.SUBJECT, replays.SUBJECT)
_MESSAGES_AT_ONCE: Final = 8
"""How many messages of an attempt are looked for at a time: few attempts publish more."""


class Erased(NamedTuple):
    """How much went, or is there: rows by kind."""

    jobs: int = 0
    checkpoints: int = 0
    ledger: int = 0
    letters: int = 0
    deliveries: int = 0
    delivery_attempts: int = 0
    messages: int = 0
    keys: int = 0
    replays: int = 0
    audit: int = 0
    """Entries of the audit record that stay, without their reason and detail."""
    unsent: int = 0
    """Deliveries that are still to be sent, and messages still to be published."""

    def __add__(self, other: object) -> Erased:
        if not isinstance(other, Erased):
            return NotImplemented
        return Erased._make(map(sum, zip(self, other, strict=True)))


class _Found(NamedTuple):
    deliveries: list[str]
    messages: list[str]
    unsent: int


class ErasureRows:
    """Finds and removes what belongs to an owner."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def found(self, jobs: Sequence[Job]) -> Erased:
        """Return how much belongs to these jobs, themselves included."""
        belongs = _belonging(self._sql, jobs)
        return _counted(self._sql, [job.id for job in jobs], belongs)

    def remove(self, jobs: Sequence[Job]) -> Erased:
        """Remove those of these jobs that have ended, with all that belongs to them.

        A job that another transaction has locked, or that has a rerun, stays for another time.
        """

        def remove(steps: Steps) -> Erased:
            going = set(jobs_to_go(steps, [job.id for job in jobs], _ENDED))
            chosen = [job for job in jobs if job.id in going]
            return _removed(steps, chosen) if chosen else Erased()

        return self._sql.transact(remove)

    def orphans(self, owner: str, *, remove: bool) -> Iterator[Erased]:
        """Yield, page by page, how many deliveries there are of jobs that are gone.

        That they are the owner's is known by the id of the job.
        """
        after = _START
        while True:
            rows = self._sql.rows("erase_orphans", {"after": after, "limit": BATCH})
            theirs = [
                (delivery_id, state)
                for delivery_id, job_id, state, is_gone in rows
                if is_gone and job_id and is_marked(JobId(job_id), owner)
            ]
            if theirs:
                ids = [delivery_id for delivery_id, _ in theirs]
                belongs = _Found(ids, [], sum(state in _TO_SEND for _, state in theirs))
                work = partial(_remove_found if remove else _counted, job_ids=[], found=belongs)
                yield self._sql.transact(work)
            if len(rows) < BATCH:
                return
            after = rows[-1][0]

    def lone_letters(self, owner: str, *, remove: bool) -> Iterator[Erased]:
        """Yield, page by page, how many dead letters there are, with a job or without one."""
        after = _START
        while True:
            values = {"owner": owner, "after": after, "limit": BATCH}
            ids = [row[0] for row in self._sql.rows("erase_letters", values)]
            if ids and remove:
                yield self._sql.transact(partial(_remove_letters, ids=ids))
            elif ids:
                yield Erased(letters=len(ids))
            if len(ids) < BATCH:
                return
            after = ids[-1]

    def keys(self, owner: str, *, remove: bool) -> Iterator[Erased]:
        """Yield, page by page, how many keys are kept."""
        if not remove:
            yield Erased(keys=int(self._sql.rows("erase_keys_found", {"owner": owner})[0][0]))
            return
        while count := self._sql.count("erase_keys", {"owner": owner, "limit": BATCH}):
            yield Erased(keys=count)

    def replays(self, owner: str, *, remove: bool) -> Iterator[Erased]:
        """Yield the replays of the owner's letters alone, one by one."""
        for (replay_id,) in self._sql.rows("erase_replays", {"owner": owner}):
            yield Erased(replays=1) + (self._remove_replay(replay_id) if remove else Erased())

    def _remove_replay(self, replay_id: str) -> Erased:
        values = {"id": replay_id, "limit": BATCH}
        while self._sql.count("remove_replay_items", values) == BATCH:
            pass

        def remove(steps: Steps) -> Erased:
            steps.count("remove_replay", {"id": replay_id})
            return Erased(audit=_forget_why(steps, [replay_id]))

        return self._sql.transact(remove)


def _belonging(steps: Steps, jobs: Sequence[Job]) -> _Found:
    rows = steps.rows("erase_deliveries", {"jobs": json.dumps([job.id for job in jobs])})
    messages = dict(_messages_of(steps, jobs))
    unsent = sum(state in _TO_SEND for _, state in rows)
    unsent += sum(status == OutboxStatus.PENDING for status in messages.values())
    return _Found([row[0] for row in rows], list(messages), unsent)


def _messages_of(steps: Steps, jobs: Sequence[Job]) -> Iterator[tuple[str, str]]:
    """Yield the stored messages of attempts and decisions about these jobs, with their status.

    The id of a message is made of its job, the attempt's lease or the decision's revision, and its
    number there.
    """
    leases = [(job.id, token) for job in jobs for token in range(1, job.token + 1)]
    yield from _stored(steps, leases, outbox.message_id)
    revisions = [(job.id, number) for job in jobs for number in range(1, job.revision + 1)]
    yield from _stored(steps, revisions, outbox.decision_message_id)


def _stored(
    steps: Steps, sources: Sequence[tuple[str, int]], id_of: Callable[[str, int, int], str]
) -> Iterator[tuple[str, str]]:
    """Yield the stored messages of these sources, each numbered from 1 without a gap."""
    first = 1
    while sources:
        made = {
            id_of(*source, number): source
            for source in sources
            for number in range(first, first + _MESSAGES_AT_ONCE)
        }
        found = steps.rows("erase_messages_found", {"ids": json.dumps(list(made))})
        yield from ((row[0], row[1]) for row in found)
        sources = sorted({made[each] for each, _ in found})
        first += _MESSAGES_AT_ONCE


def _counted(steps: Steps, job_ids: Sequence[str], found: _Found) -> Erased:
    values = {"jobs": json.dumps(job_ids), "deliveries": json.dumps(found.deliveries)}
    [(checkpoints, ledger, of_jobs, attempts)] = steps.rows("erase_found", values)
    return Erased(
        jobs=len(job_ids),
        checkpoints=checkpoints,
        ledger=ledger,
        letters=of_jobs,
        deliveries=len(found.deliveries),
        delivery_attempts=attempts,
        messages=len(found.messages),
        unsent=found.unsent,
    )


def _removed(steps: Steps, jobs: Sequence[Job]) -> Erased:
    found = _belonging(steps, jobs)
    return _remove_found(steps, [job.id for job in jobs], found)


def _remove_found(steps: Steps, job_ids: Sequence[str], found: _Found) -> Erased:
    counted = _counted(steps, job_ids, found)
    audit = _forget_why(steps, [*job_ids, *found.deliveries, *found.messages])
    if found.deliveries:
        ids = {"ids": json.dumps(found.deliveries)}
        steps.count("remove_delivery_attempts", ids)
        steps.count("remove_deliveries", ids)
    if found.messages:
        steps.count("erase_messages", {"ids": json.dumps(found.messages)})
    if job_ids:
        ids = {"ids": json.dumps(job_ids)}
        steps.count("remove_letters", ids)
        steps.count("remove_checkpoints", ids)
        steps.count("remove_ledger", ids)
        steps.count("remove_jobs", ids)
    return counted._replace(audit=audit)


def _remove_letters(steps: Steps, ids: Sequence[str]) -> Erased:
    audit = _forget_why(steps, ids)
    return Erased(letters=steps.count("remove_letters", {"ids": json.dumps(ids)}), audit=audit)


def _forget_why(steps: Steps, subjects: Sequence[str]) -> int:
    values = {"kinds": json.dumps(_KINDS), "subjects": json.dumps(subjects)}
    return steps.count("erase_audit", values)
