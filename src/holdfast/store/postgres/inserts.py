"""Stores new jobs: plain ones by the shortest way, and any by one that knows about taken keys."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import Final

from holdfast.core.ids import JobId
from holdfast.store.contract import NewJob, Twin
from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.connection import Connection
from holdfast.store.postgres.lean import fields_of, run_lean
from holdfast.store.postgres.rows import arrays, plain_array, text_array
from holdfast.store.postgres.statements import fetch
from holdfast.store.rows import twin_from_row

_SHARED: Final = ("pipeline", "plan", "queue", "owner", "version", "created_at", "stage")
_DIFFERING: Final = ("id", "priority", "payload", "run_at")
_shared = attrgetter(*_SHARED)
_differing = attrgetter(*_DIFFERING)
_extras = attrgetter("key", "rerun_of", "trace", "deadline_at")
_NO_EXTRAS: Final = (None, None, None, None)
_plain_values = attrgetter(*fields_of("insert_plain"))
_alike_values = itemgetter(*fields_of("insert_alike"))


def are_plain(jobs: Sequence[NewJob]) -> bool:
    """Whether nothing but their ids could clash, and one statement can name what they share."""
    if len(jobs) == 1:
        return _extras(jobs[0]) == _NO_EXTRAS
    return set(map(_extras, jobs)) == {_NO_EXTRAS} and len(set(map(_shared, jobs))) == 1


def insert_plain(connection: BoundedConnection, jobs: Sequence[NewJob]) -> None:
    """Store plain jobs; `UniqueViolation` when they are stored already."""
    if len(jobs) == 1:
        run_lean(connection, "insert_plain", _plain_values(jobs[0]))
        return
    columns = zip(*map(_differing, jobs), strict=True)
    shared = dict(zip(_SHARED, _shared(jobs[0]), strict=True))
    values = shared | arrays(dict(zip(_DIFFERING, columns, strict=True)))
    run_lean(connection, "insert_alike", _alike_values(values))


def insert(connection: Connection, jobs: Sequence[NewJob]) -> list[Twin | None]:
    """Store jobs, and return for each the one that has its key, or None when it is new."""
    if len(jobs) == 1:
        rows = fetch(connection, "insert_one", jobs[0]._asdict())
    else:
        columns = dict(zip(NewJob._fields, zip(*jobs, strict=True), strict=True))
        rows = fetch(connection, "insert", arrays(columns))
    stored = {row[0] for row in rows}
    if len(stored) == len(jobs):
        return [None] * len(jobs)
    missing = [job for job in jobs if job.id not in stored]
    stored.update(
        row[0]
        for row in fetch(connection, "present", {"ids": plain_array(job.id for job in missing)})
    )
    refused = [job for job in missing if job.id not in stored]
    twins: dict[JobId, Twin | None] = {**_twins_of(connection, refused)}
    freed = [job for job in refused if job.id not in twins]
    if freed:
        # The jobs that had their keys were removed between the two statements.
        twins.update(zip((job.id for job in freed), insert(connection, freed), strict=True))
    return [None if job.id in stored else twins[job.id] for job in jobs]


def _twins_of(connection: Connection, jobs: Sequence[NewJob]) -> dict[JobId, Twin]:
    columns = {
        "owner": text_array(job.owner for job in jobs),
        "pipeline": text_array(job.pipeline for job in jobs),
        "key": text_array(job.key for job in jobs),
    }
    return {
        jobs[position - 1].id: twin_from_row(row)
        for position, *row in fetch(connection, "twins_of_many", columns)
    }
