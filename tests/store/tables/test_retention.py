"""How a purge gets on with what others do in the database, and what it reads there."""

import sqlite3
from contextlib import closing

import psycopg
import pytest

from holdfast.core.job.event import CancelRequested, Failed, RetryRequested
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import Instant
from holdfast.core.values.retention import Retention
from holdfast.store.postgres.statements import SQL as POSTGRES
from holdfast.store.sqlite.statements import SQL as SQLITE
from holdfast.store.tables.retention import Place, RetentionRows, Section
from holdfast.testing.conformance.retention.samples import (
    failed,
    id_made_now,
    left_of,
    purged,
    refused,
    resolve,
)
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PLAN,
    after,
    after_event,
    claim,
    new_job,
    submitted,
)
from tests.store.conftest import by_hand

LETTERS = 4_000
NOTHING_KEPT = Retention(complete=0, cancelled=0, failed=0)
LETTER = (
    "insert into {dead_letter} (id, kind, pipeline, stage, queue, owner, error_class, category,"
    " severity, retryable, outcome_known, attempts, first_failure_at, last_failure_at, message,"
    " exception_type, stack, fingerprint, state, updated_at, note, resolved_at)"
    " with recursive counted(n) as"
    f" (select 1 union all select n + 1 from counted where n < {LETTERS})"
    " select 'letter-' || n, 'message', 'p', 's', 'q', '', 'BUG', 'PERMANENT', 'ERROR', 0, 1, 1,"
    " 1, 1, '', '', '', 'f', 'resolved', 1, 'seen', n from counted"
)


def test_a_job_that_somebody_has_locked_is_passed_over_at_once(postgres_url, open_store):
    store = open_store(postgres_url)
    store.migrate()
    jobs = [after_event(store, job, CancelRequested("ada")) for job in _claimed(store, 5)]
    with psycopg.connect(postgres_url) as connection:
        connection.execute("set lock_timeout = '1ms'")
        connection.execute("select from holdfast.job where id = %s for update", [jobs[2].id])
        gone = purged(store, now=after(1), keep=NOTHING_KEPT)

        assert gone == {"jobs": 4}
    assert set(store.get([job.id for job in jobs])) == {jobs[2].id}
    assert purged(store, now=after(1), keep=NOTHING_KEPT) == {"jobs": 1}


@pytest.mark.parametrize("table", ["job", "dead_letter"])
def test_a_failed_job_goes_with_its_letter_or_not_at_all_when_either_is_locked(
    postgres_url, open_store, table
):
    store = open_store(postgres_url)
    store.migrate()
    jobs = [failed(store) for _ in range(3)]
    for job in jobs:
        resolve(store, job, now=NOW)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            f"select from holdfast.{table} where id::text = %s for update", [jobs[1].id]
        )
        gone = purged(store, now=after(1), keep=NOTHING_KEPT)

        assert gone == {"jobs": 2, "letters": 2}
        assert store.letters.get(jobs[1].id) is not None
    assert set(store.get([job.id for job in jobs])) == {jobs[1].id}


class Meddled:
    """A database in which something happens between what a purge reads and what it removes."""

    def __init__(self, sql, action) -> None:
        self._sql, self._action = sql, action

    def transact(self, work):
        self._action()
        return self._sql.transact(work)

    def __getattr__(self, name):
        return getattr(self._sql, name)


def purged_after(store, section, action):
    """What is removed of a section when the action comes in between."""
    rows = RetentionRows(Meddled(store._sql, action))
    return rows.purge(NOTHING_KEPT.cutoffs(after(1)), Place(section)).removed


def send_back(store, job):
    return after_event(store, job, RetryRequested("ada"), now=after(1))


def test_a_job_that_was_sent_back_since_it_was_read_stays(store):
    job = refused(store)

    gone = purged_after(store, Section.JOBS, lambda: send_back(store, job))

    assert gone == {"jobs": 0, "letters": 0}
    assert store.get([job.id])[job.id].state is JobState.QUEUED


def test_a_job_that_was_sent_back_since_its_letter_was_read_stays(store):
    job = failed(store)
    resolve(store, job, now=NOW)

    purged_after(store, Section.LETTERS, lambda: send_back(store, job))

    assert store.get([job.id])[job.id].state is JobState.QUEUED


def test_a_job_that_got_a_dead_letter_since_it_was_read_stays_with_it(store):
    job = refused(store)

    def fail_again():
        send_back(store, job)
        (claimed,) = claim(store, now=after(1))
        after_event(store, claimed, Failed(LASTING_FAILURE), now=after(1))

    gone = purged_after(store, Section.JOBS, fail_again)

    assert gone == {"jobs": 0, "letters": 0}
    assert {"job", "letter"} <= set(left_of(store, job.id))


def test_a_walk_takes_no_lock_that_a_claim_would_wait_for(postgres_url, open_store):
    store, other = open_store(postgres_url), open_store(postgres_url)
    store.migrate()
    for job in _claimed(store, 5):
        after_event(store, job, CancelRequested("ada"))
    submitted(store, 5)
    with psycopg.connect(postgres_url) as connection:
        # The walk waits for this in the middle of its transaction, its own locks in hand.
        connection.execute("lock table holdfast.ledger in share row exclusive mode")
        with pytest.raises(Exception, match="lock timeout"):
            purged(store, now=after(1), keep=NOTHING_KEPT)

        assert len(claim(other, limit=10)) == 5


def test_old_letters_are_found_by_when_they_were_resolved(shared_url, open_store):
    open_store(shared_url).migrate()
    by_hand(shared_url, LETTER)
    by_hand(shared_url, "analyze")
    place = Place(Section.LETTERS)._replace(after_at=Instant(LETTERS // 2), after="letter-1")
    values = {"resolved": 10**9, **place._asdict(), "limit": 5}

    if shared_url.startswith("sqlite:"):
        with closing(sqlite3.connect(shared_url.removeprefix("sqlite:///"))) as connection:
            rows = connection.execute(f"explain query plan {SQLITE['old_letters']}", values)
            plan = "\n".join(row[3] for row in rows)
    else:
        with psycopg.connect(shared_url) as connection:
            rows = connection.execute(f"explain {POSTGRES['old_letters']}", values)
            plan = "\n".join(row[0] for row in rows)
    assert "dead_letter_resolved" in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan


def test_letters_that_belong_to_no_job_are_walked_through_in_batches(shared_url, open_store):
    store = open_store(shared_url)
    store.migrate()
    by_hand(shared_url, LETTER)

    assert purged(store, now=Instant(LETTERS), keep=NOTHING_KEPT, limit=300) == {"letters": LETTERS}
    assert by_hand(shared_url, "select count(*) from {dead_letter}") == [(0,)]


def _claimed(store, count):
    store.save_plan(PLAN, now=NOW)
    store.insert([new_job(id=id_made_now()) for _ in range(count)])
    return claim(store, limit=count)
