"""Removes what has been kept long enough: bounded batches, each whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.core.dead_letter.replay import ENDED
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.idempotency import memo_of
from holdfast.core.job.job import JobState
from holdfast.core.job.plan import Plan
from holdfast.core.values.ids import id_before
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retention import NOTHING, PLAN_SAVED_AGAIN_S, Cutoffs
from holdfast.store.statements.sql import Sql, Steps

BATCH: Final = 500
"""How many rows one batch looks at, and so how many it removes at most."""
PLANS: Final = 1_000
_START: Final = "00000000-0000-0000-0000-000000000000"
_SLACK_US: Final = SECOND_US
"""Ids made within one microsecond run ahead of the clock a little."""
_JOB: Final = "job"
"""The kind of a dead letter that shares its id with a job."""


class Section(StrEnum):
    """What is looked through, in this order."""

    LETTERS = "letters"
    """Dead letters, and the failed jobs that go with them."""
    JOBS = "jobs"
    DELIVERIES = "deliveries"
    """Deliveries that were sent or failed, and whose job is gone."""
    REPLAYS = "replays"
    AUDIT = "audit"
    MESSAGES = "messages"
    """Messages that were published."""
    INBOX = "inbox"
    """Notes of messages from outside that were handled."""
    FIGURES = "figures"
    """What happened in each minute."""
    KEYS = "keys"
    """Keys of jobs that were removed."""
    PLANS = "plans"


class Place(NamedTuple):
    """How far a walk has come: everything up to here was looked at."""

    section: Section = Section.LETTERS
    after: str = _START
    after_at: Instant = NOTHING
    plans: tuple[tuple[str, str], ...] | None = None
    """The old plans that no job looked at so far uses; None before they were read."""
    plans_until: Instant = NOTHING


class Batch(NamedTuple):
    """What one batch did: rows looked at and rows removed, by table, and where to go on."""

    section: Section
    seen: int
    removed: Mapping[str, int]
    next: Place | None
    """None once everything has been looked at."""


class _ToGo(NamedTuple):
    jobs: Sequence[str] = ()
    letters: Sequence[str] = ()


class _Asked(NamedTuple):
    cutoffs: Cutoffs
    place: Place
    limit: int
    dry_run: bool


class RetentionRows:
    """Walks through what may be old, and removes what is."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._plans_read: dict[tuple[str, str], Plan | None] = {}
        self._purge: dict[Section, Callable[[_Asked], Batch]] = {
            Section.LETTERS: self._letters,
            Section.JOBS: self._jobs,
            Section.DELIVERIES: self._deliveries,
            Section.REPLAYS: self._replays,
            Section.AUDIT: self._audit,
            Section.MESSAGES: self._messages,
            Section.INBOX: self._inbox,
            Section.FIGURES: self._figures,
            Section.KEYS: self._keys,
            Section.PLANS: self._plans,
        }

    def purge(
        self, cutoffs: Cutoffs, place: Place, *, limit: int = BATCH, dry_run: bool = False
    ) -> Batch:
        """Look at up to `limit` rows from `place` on, and remove those that may go.

        A job goes with everything that belongs to it in one transaction. With `dry_run` nothing
        is removed, and the batch says what would be.
        """
        return self._purge[place.section](_Asked(cutoffs, place, limit, dry_run))

    def _letters(self, asked: _Asked) -> Batch:
        cutoffs, place, limit, dry_run = asked
        values = {
            "resolved": cutoffs.failed,
            "after": place.after,
            "after_at": place.after_at,
            "limit": limit,
        }
        rows = [] if cutoffs.failed == NOTHING else self._sql.rows("old_letters", values)
        kinds = {letter_id: kind for letter_id, kind, _ in rows}
        removed = self._remove(
            lambda steps: _letters_to_go(steps, kinds, cutoffs.failed, lock=not dry_run),
            wanted=bool(kinds),
            dry_run=dry_run,
            now=cutoffs.now,
        )
        after = place
        if len(rows) == limit:
            after = place._replace(after=rows[-1][0], after_at=Instant(rows[-1][2]))
        return _batch(place, len(rows), removed, after)

    def _jobs(self, asked: _Asked) -> Batch:
        cutoffs, place, limit, dry_run = asked
        latest = max(cutoffs.complete, cutoffs.cancelled, cutoffs.failed)
        values = {
            "after": place.after,
            "below": id_before(Instant(latest + _SLACK_US)),
            "limit": limit,
        }
        rows = [] if latest == NOTHING else self._sql.rows("old_jobs", values)
        old = [
            job_id
            for job_id, state, finished_at, has_letter, has_reruns in rows
            if not has_letter
            and not has_reruns
            and finished_at is not None
            and finished_at <= _cutoff_of(state, cutoffs)
        ]
        removed = self._remove(
            lambda steps: _ToGo(jobs=_without_letters(steps, jobs_to_go(steps, old, _ENDED))),
            wanted=bool(old),
            dry_run=dry_run,
            now=cutoffs.now,
        )
        after = place._replace(after=rows[-1][0]) if len(rows) == limit else place
        return _batch(place, len(rows), removed, after)

    def _remove(
        self, choose: Callable[[Steps], _ToGo], *, wanted: bool, dry_run: bool, now: Instant
    ) -> dict[str, int]:
        """Remove what `choose` still finds to be old, and keep its keys, in one transaction."""
        if not wanted:
            return {}
        if dry_run:
            going = choose(self._sql)
            return {"jobs": len(going.jobs), "letters": len(going.letters)}

        def remove(steps: Steps) -> dict[str, int]:
            going = choose(steps)
            ids = {"ids": json.dumps(going.jobs)}
            if going.letters:
                steps.count("remove_letters", {"ids": json.dumps(going.letters)})
            if going.jobs:
                self._keep_keys(steps, going.jobs, now)
                steps.count("remove_checkpoints", ids)
                steps.count("remove_ledger", ids)
                steps.count("remove_jobs", ids)
            return {"jobs": len(going.jobs), "letters": len(going.letters)}

        return self._sql.transact(remove)

    def _keep_keys(self, steps: Steps, job_ids: Sequence[str], now: Instant) -> None:
        """Keep the keys of jobs that go, with what their pipelines remember of the payloads."""
        rows = steps.rows("keyed_jobs", {"ids": json.dumps(job_ids)})
        plans = {job_id: self._plan(steps, pipeline, plan) for job_id, pipeline, plan in rows}
        kept = [job_id for job_id, plan in plans.items() if plan is None or plan.keeps_keys]
        wanted = {
            job_id: plan.remembers for job_id in kept if (plan := plans[job_id]) and plan.remembers
        }
        ids = {"ids": json.dumps(list(wanted))}
        payloads = dict(steps.rows("job_payloads", ids)) if wanted else {}
        memos = {job_id: memo_of(text, wanted[job_id]) for job_id, text in payloads.items()}
        going = [{"id": job_id, "memo": memos.get(job_id)} for job_id in kept]
        if going:
            steps.count("keep_keys", {"rows": json.dumps(going), "removed_at": now})

    def _plan(self, steps: Steps, pipeline: str, digest: str) -> Plan | None:
        known = (pipeline, digest)
        if known not in self._plans_read:
            rows = steps.rows("load_plan", {"pipeline": pipeline, "digest": digest})
            found = Plan.from_document(json.loads(rows[0][0])) if rows else None
            self._plans_read[known] = found
        return self._plans_read[known]

    def _deliveries(self, asked: _Asked) -> Batch:
        cutoffs, place, limit, dry_run = asked
        until = cutoffs.deliveries
        values = {
            "after": place.after,
            "below": id_before(Instant(until + _SLACK_US)),
            "limit": limit,
        }
        rows = [] if until == NOTHING else self._sql.rows("old_deliveries", values)
        old = [
            {"id": delivery_id, "revision": revision}
            for delivery_id, revision, state, updated_at, has_job in rows
            if state in _DELIVERY_ENDED and updated_at <= until and not has_job
        ]
        removed = len(old)
        if old and not dry_run:
            removed = self._sql.transact(lambda steps: _remove_deliveries(steps, old))
        after = place._replace(after=rows[-1][0]) if len(rows) == limit else place
        return _batch(place, len(rows), {"deliveries": removed}, after)

    def _replays(self, asked: _Asked) -> Batch:
        cutoffs, place, limit, dry_run = asked
        values = {"after": place.after, "limit": limit}
        rows = [] if cutoffs.replays == NOTHING else self._sql.rows("old_replays", values)
        removed = 0
        for replay_id, state, updated_at in rows:
            if state in ENDED and updated_at <= cutoffs.replays:
                if dry_run or self._remove_replay(replay_id, limit):
                    removed += 1
                else:
                    # The rest of its list is left for the next batch.
                    return Batch(place.section, len(rows), {"replays": removed}, place)
        after = place._replace(after=rows[-1][0]) if len(rows) == limit else place
        return _batch(place, len(rows), {"replays": removed}, after)

    def _remove_replay(self, replay_id: str, limit: int) -> bool:
        """Remove a replay, or a part of its list where that is long; tell whether it is gone."""

        def remove(steps: Steps) -> bool:
            values = {"id": replay_id, "limit": limit}
            if steps.count("remove_replay_items", values) == limit:
                return False
            steps.count("remove_replay", {"id": replay_id})
            return True

        return self._sql.transact(remove)

    def _audit(self, asked: _Asked) -> Batch:
        cutoffs, place, limit, dry_run = asked
        after = 0 if place.after == _START else int(place.after)
        values = {"after": after, "limit": limit}
        rows = [] if cutoffs.audit == NOTHING else self._sql.rows("old_audit", values)
        old = [entry_id for entry_id, at in rows if at <= cutoffs.audit]
        if old and not dry_run:
            self._sql.count("remove_audit", {"ids": json.dumps(old)})
        # Entries come in the order of their time: what follows a young one is young.
        more = len(rows) == limit and len(old) == len(rows)
        following = place._replace(after=str(rows[-1][0])) if more else place
        return _batch(place, len(rows), {"audit": len(old)}, following)

    def _messages(self, asked: _Asked) -> Batch:
        values = {"published": asked.cutoffs.messages}
        return self._plain(asked, "messages", values, count="old_messages", remove="outbox_remove")

    def _inbox(self, asked: _Asked) -> Batch:
        values = {"received": asked.cutoffs.inbox}
        return self._plain(asked, "inbox", values, count="old_inbox", remove="inbox_remove")

    def _figures(self, asked: _Asked) -> Batch:
        values = {"until": asked.cutoffs.figures}
        return self._plain(asked, "figures", values, count="old_tallies", remove="tally_remove")

    def _keys(self, asked: _Asked) -> Batch:
        values = {"removed": asked.cutoffs.keys}
        return self._plain(asked, "keys", values, count="old_keys", remove="remove_keys")

    def _plain(
        self, asked: _Asked, name: str, values: Mapping[str, int], *, count: str, remove: str
    ) -> Batch:
        """Remove rows that nothing else belongs to; an index leads to the old ones alone."""
        _, place, limit, dry_run = asked
        if dry_run:
            found = int(self._sql.rows(count, values)[0][0])
        else:
            found = self._sql.count(remove, {**values, "limit": limit})
        batch = _batch(place, found, {name: found}, place)
        # A batch that was full is followed by another of the same section.
        return batch._replace(next=place) if found == limit and not dry_run else batch

    def _plans(self, asked: _Asked) -> Batch:
        cutoffs, place, limit, dry_run = asked
        if place.plans is None:
            values = {"asked_for": cutoffs.plans, "limit": PLANS}
            old = self._sql.rows("old_plans", values)
            if not old:
                return Batch(place.section, 0, {}, None)
            # Who makes a job has asked for its plan within a day, and what is asked for is
            # noted within a day, so no job made later than that uses it.
            until = max(asked_for_at for _, _, asked_for_at in old)
            place = place._replace(
                plans=tuple((pipeline, digest) for pipeline, digest, _ in old),
                plans_until=Instant(until + 3 * int(PLAN_SAVED_AGAIN_S * SECOND_US)),
            )
        page = {"after": place.after, "below": id_before(place.plans_until), "limit": limit}
        rows = self._sql.rows("plans_in_use", page)
        used = {(pipeline, digest) for _, pipeline, digest in rows}
        unused = tuple(plan for plan in place.plans or () if plan not in used)
        if unused and len(rows) == limit:
            following = place._replace(after=rows[-1][0], plans=unused)
            return Batch(place.section, len(rows), {}, following)
        removed = len(unused) if dry_run else self._remove_plans(unused, cutoffs.plans)
        return Batch(place.section, len(rows), {"plans": removed}, None)

    def _remove_plans(self, plans: Iterable[tuple[str, str]], asked_for: Instant) -> int:
        return sum(
            self._sql.count(
                "remove_plan", {"pipeline": pipeline, "digest": digest, "asked_for": asked_for}
            )
            for pipeline, digest in plans
        )


_ENDED: Final = (JobState.COMPLETE, JobState.CANCELLED, JobState.FAILED)
_DELIVERY_ENDED: Final = (DeliveryState.SENT, DeliveryState.FAILED)
_SECTIONS: Final = tuple(Section)


def _cutoff_of(state: str, cutoffs: Cutoffs) -> Instant:
    """Return until when a job without a dead letter must have ended to go."""
    if state == JobState.COMPLETE:
        return cutoffs.complete
    if state == JobState.CANCELLED:
        return cutoffs.cancelled
    return cutoffs.failed if state == JobState.FAILED else NOTHING


def jobs_to_go(steps: Steps, job_ids: Collection[str], states: Collection[JobState]) -> list[str]:
    """Lock jobs, where the database locks rows, and return those that may go."""
    if not job_ids:
        return []
    values = {"ids": json.dumps(list(job_ids)), "states": json.dumps(list(states))}
    locked = [row[0] for row in steps.rows("old_jobs_locked", values)]
    # Read after the locks: from here on nobody can make a rerun of them.
    firsts = {row[0] for row in steps.rows("firsts", {"ids": json.dumps(locked)})}
    return [job_id for job_id in locked if job_id not in firsts]


def _remove_deliveries(steps: Steps, old: Sequence[Mapping[str, object]]) -> int:
    """Remove deliveries with their logs; one that was taken up since it was read stays."""
    locked = [row[0] for row in steps.rows("old_deliveries_locked", {"rows": json.dumps(old)})]
    ids = {"ids": json.dumps(locked)}
    if locked:
        steps.count("remove_delivery_attempts", ids)
        steps.count("remove_deliveries", ids)
    return len(locked)


def _without_letters(steps: Steps, locked: Sequence[str]) -> list[str]:
    """Return those that have no dead letter: one that was sent back may have got one since."""
    letters = {row[0] for row in steps.rows("with_letters", {"ids": json.dumps(locked)})}
    return [job_id for job_id in locked if job_id not in letters]


def _letters_to_go(
    steps: Steps, kinds: Mapping[str, str], resolved: Instant, *, lock: bool
) -> _ToGo:
    """Return letters that may go, with the failed jobs that go with them.

    A letter goes with its failed job or not at all; it goes alone when the job has ended well
    since, or is gone.
    """
    values = {"ids": json.dumps(list(kinds)), "resolved": resolved}
    letters = [row[0] for row in steps.rows("old_letters_locked", values)] if lock else list(kinds)
    of_jobs = [letter_id for letter_id in letters if kinds[letter_id] == _JOB]
    rows = steps.rows("not_ended_well", {"ids": json.dumps(of_jobs)})
    bound = {row[0] for row in rows}
    jobs = jobs_to_go(steps, sorted(bound), (JobState.FAILED,))
    kept = bound.difference(jobs)
    return _ToGo(jobs, [letter_id for letter_id in letters if letter_id not in kept])


def _batch(place: Place, seen: int, removed: Mapping[str, int], following: Place) -> Batch:
    """Return a batch that goes on from `following`, or with the next section if that is `place`."""
    if following is place:
        index = _SECTIONS.index(place.section) + 1
        following = Place(_SECTIONS[index])
    return Batch(place.section, seen, removed, following)
