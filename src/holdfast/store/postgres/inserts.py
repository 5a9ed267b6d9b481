"""Stores new jobs: plain ones by the shortest way, and any by one that knows about taken keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

from holdfast.core.values.ids import JobId
from holdfast.store.contract import ExistingJob, NewJob
from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.lean import fields_of, run_lean
from holdfast.store.postgres.rows import arrays, plain_array, text_array
from holdfast.store.postgres.statements import AnyConnection, fetch
from holdfast.store.rows import twin_from_row

_SHARED: Final = ("pipeline", "plan", "queue", "owner", "version", "created_at", "stage")
_DIFFERING: Final = ("id", "priority", "payload", "run_at")
_shared = attrgetter(*_SHARED)
_differing = attrgetter(*_DIFFERING)
_extras = attrgetter("key", "rerun_of", "trace", "deadline_at")
_NO_EXTRAS: Final = (None, None, None, None)
_plain_values = attrgetter(*fields_of("insert_plain"))
_ANY_VERSION: Final = 0
"""Whatever version of a key is kept, a plain submission makes no job of it."""
_alike_values = itemgetter(*fields_of("insert_alike"))


class Stored(NamedTuple):
    """For each job the one that has its key, or None when it is new; and where any is due."""

    twins: list[ExistingJob | None]
    due_in: int | None
    """The number of the transaction that stored a job which is due; None when none is."""


def any_due(jobs: Iterable[NewJob]) -> bool:
    """Return whether a job is due as soon as it is stored."""
    return any(job.run_at <= job.created_at for job in jobs)


def are_plain(jobs: Sequence[NewJob]) -> bool:
    """Whether nothing but their ids could clash, and one statement can name what they share."""
    if len(jobs) == 1:
        return _extras(jobs[0]) == _NO_EXTRAS
    return set(map(_extras, jobs)) == {_NO_EXTRAS} and len(set(map(_shared, jobs))) == 1


def insert_plain(
    connection: BoundedConnection, jobs: Sequence[NewJob], *, then: str | None = None
) -> None:
    """Store plain jobs; `UniqueViolation` when they are stored already.

    The server runs `then` after the commit; see `run_lean`.
    """
    if len(jobs) == 1:
        run_lean(connection, "insert_plain", _plain_values(jobs[0]), then=then)
        return
    columns = zip(*map(_differing, jobs), strict=True)
    shared = dict(zip(_SHARED, _shared(jobs[0]), strict=True))
    values = shared | arrays(dict(zip(_DIFFERING, columns, strict=True)))
    run_lean(connection, "insert_alike", _alike_values(values), then=then)


def insert(connection: AnyConnection, jobs: Sequence[NewJob]) -> Stored:
    """Store jobs, and return what has become of each."""
    if len(jobs) == 1:
        values = {**jobs[0]._asdict(), "from_version": _ANY_VERSION}
        rows = fetch(connection, "insert_one", values)
    else:
        columns = dict(zip(NewJob._fields, zip(*jobs, strict=True), strict=True))
        rows = fetch(connection, "insert", arrays(columns))
    stored = {row[0] for row in rows}
    due_in = next((row[1] for row in rows if row[1] is not None), None)
    if len(stored) == len(jobs):
        return Stored([None] * len(jobs), due_in)
    missing = [job for job in jobs if job.id not in stored]
    stored.update(
        row[0]
        for row in fetch(connection, "present", {"ids": plain_array(job.id for job in missing)})
    )
    refused = [job for job in missing if job.id not in stored]
    twins: dict[JobId, ExistingJob | None] = {**_twins_of(connection, refused)}
    freed = [job for job in refused if job.id not in twins]
    if freed:
        # The jobs that had their keys were removed between the two statements.
        again = insert(connection, freed)
        twins.update(zip((job.id for job in freed), again.twins, strict=True))
        due_in = due_in or again.due_in
    return Stored([None if job.id in stored else twins[job.id] for job in jobs], due_in)


def insert_anew(connection: AnyConnection, job: NewJob) -> Stored:
    """Store the first job of a key of which nothing but the key is left, in lower versions."""
    rows = fetch(connection, "insert_one", {**job._asdict(), "from_version": job.version})
    if rows:
        return Stored([None], rows[0][1])
    if _is_stored(connection, job):
        return Stored([None], None)
    values = {"owner": job.owner, "pipeline": job.pipeline, "key": job.key}
    return Stored([twin_from_row(fetch(connection, "twins", values)[-1])], None)


def _is_stored(connection: AnyConnection, job: NewJob) -> bool:
    return bool(fetch(connection, "present", {"ids": plain_array([job.id])}))


def _twins_of(connection: AnyConnection, jobs: Sequence[NewJob]) -> dict[JobId, ExistingJob]:
    columns = {
        "owner": text_array(job.owner for job in jobs),
        "pipeline": text_array(job.pipeline for job in jobs),
        "key": text_array(job.key for job in jobs),
    }
    return {
        jobs[position - 1].id: twin_from_row(row)
        for position, *row in fetch(connection, "twins_of_many", columns)
    }
