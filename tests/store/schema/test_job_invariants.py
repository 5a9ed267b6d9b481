"""The invariants of jobs become constraints in a database that has jobs, beside its workers."""

import threading

import psycopg
import pytest

from holdfast.core.job.event import CancelRequested, Done, Failed, RetryRequested, Suspended
from holdfast.errors import UsageError
from holdfast.store.contract import Store
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.migrations import MIGRATIONS, PostgresDialect
from holdfast.store.schema import migrate as runner
from holdfast.store.sqlite.connection import Database
from holdfast.store.sqlite.migrations import MIGRATIONS as SQLITE_MIGRATIONS
from holdfast.store.sqlite.migrations import SqliteDialect
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PLAN,
    after,
    after_event,
    claim,
    started,
    submitted,
)
from tests.store.conftest import by_hand

ADDS = next(migration.version for migration in MIGRATIONS if "not valid" in migration.text)
HOLDS = next(migration.version for migration in MIGRATIONS if "validate" in migration.text)
CONSTRAINTS = (
    "select conname, convalidated from pg_constraint"
    " where contype = 'c' and conrelid = 'holdfast.job'::regclass order by 1"
)


def migrate(url: str, *, constraints_to: int) -> None:
    """Bring a database forward, but with the constraints only as far as one version has them.

    What else is newer is there: the statements of today's store need it.
    """
    left_out = {version for version in (ADDS, HOLDS) if version > constraints_to}
    if url.startswith("sqlite:"):
        database = Database(url)
        steps = [step for step in SQLITE_MIGRATIONS if step.version not in left_out]
        runner.migrate(SqliteDialect(database, lambda: 0), steps)
        database.close()
        return
    with Connections(url, name="test", size=1).connect() as connection:
        steps = [step for step in MIGRATIONS if step.version not in left_out]
        runner.migrate(PostgresDialect(connection), steps)


@pytest.fixture
def old_store(empty_database_url: str, open_store) -> Store:
    """A store of a database without the constraints, with a job in every state."""
    migrate(empty_database_url, constraints_to=0)
    store = open_store(empty_database_url)
    store.save_plan(PLAN, now=NOW)
    after_event(store, started(store, stage="send"), Done('"sent"'))
    after_event(store, started(store), Failed(LASTING_FAILURE))
    after_event(store, started(store), CancelRequested("ada"))
    after_event(store, started(store), Suspended())
    submitted(store)
    return store


def test_a_database_with_jobs_in_every_state_gets_the_constraints(
    old_store: Store, empty_database_url: str
) -> None:
    job = started(old_store)
    before = by_hand(empty_database_url, "select * from {job} order by id")

    old_store.migrate()

    old_store.check_schema()
    assert by_hand(empty_database_url, "select * from {job} order by id") == before
    assert old_store.verify(now=NOW) == []
    with pytest.raises(Exception, match="job_"):
        by_hand(
            empty_database_url,
            f"update {{job}} set holder = null where id = '{job.id}'",
            unchecked=False,
        )


@pytest.mark.parametrize("version", [ADDS, HOLDS])
def test_a_worker_of_the_version_before_goes_on_with_its_jobs(
    old_store: Store, empty_database_url: str, version: int
) -> None:
    """Its statements know nothing of the constraints, and keep them."""
    for _ in range(4):
        submitted(old_store)
    doing = claim(old_store, limit=2)
    migrate(empty_database_url, constraints_to=version)

    after_event(old_store, doing[0], Done('"drafted"'), now=after(1))
    failed = after_event(old_store, doing[1], Failed(LASTING_FAILURE), now=after(1))
    after_event(old_store, failed, RetryRequested("ada"), now=after(2))
    more = claim(old_store, limit=2, now=after(3))
    after_event(old_store, more[0], Suspended(), now=after(3))
    after_event(old_store, more[1], CancelRequested("ada"), now=after(3))

    found = old_store.verify(now=after(3))
    assert [one.invariant for one in found if one.invariant != "database_is_sound"] == []


class TestOnPostgres:
    """What only PostgreSQL has: constraints that hold for new rows first, then for all."""

    @pytest.fixture
    def jobs(self, empty_postgres_url: str, open_store) -> Store:
        migrate(empty_postgres_url, constraints_to=0)
        store = open_store(empty_postgres_url)
        store.save_plan(PLAN, now=NOW)
        submitted(store, 3)
        return store

    def test_a_transaction_that_writes_jobs_does_not_keep_the_check_of_old_rows_waiting(
        self, jobs: Store, empty_postgres_url: str
    ) -> None:
        migrate(empty_postgres_url, constraints_to=ADDS)
        with psycopg.connect(empty_postgres_url) as writer:
            writer.execute("update holdfast.job set trace = 'x'")
            holding = threading.Thread(
                target=migrate, args=(empty_postgres_url,), kwargs={"constraints_to": HOLDS}
            )
            holding.start()
            holding.join(20)
            done = not holding.is_alive()
            writer.execute("update holdfast.job set trace = 'y'")
            writer.commit()
            holding.join(20)

        assert done
        found = by_hand(empty_postgres_url, CONSTRAINTS)
        assert [valid for _, valid in found] == [True] * 3

    def test_new_writes_are_refused_before_old_rows_are_checked(
        self, jobs: Store, empty_postgres_url: str
    ) -> None:
        migrate(empty_postgres_url, constraints_to=ADDS)

        assert by_hand(empty_postgres_url, CONSTRAINTS) == [
            ("job_error_only_when_failed", False),
            ("job_lease_only_while_processing", False),
            ("job_result_only_when_complete", False),
        ]
        with pytest.raises(psycopg.errors.CheckViolation):
            by_hand(empty_postgres_url, "update {job} set result = '1'", unchecked=False)

    def test_rows_that_break_them_are_named_and_may_be_corrected(
        self, jobs: Store, empty_postgres_url: str
    ) -> None:
        [(job_id,)] = by_hand(
            empty_postgres_url,
            "update {job} set result = '1' where id = (select max(id::text)::uuid from {job})"
            " returning id::text",
        )

        with pytest.raises(UsageError, match=f"job_result_only_when_complete, such as {job_id}"):
            jobs.migrate()
        by_hand(empty_postgres_url, "update {job} set result = null")

        assert jobs.migrate()[0] == MIGRATIONS[HOLDS - 1].name
        jobs.check_schema()
