"""Migrating while somebody's own transaction is open, perhaps the caller's."""

import psycopg
import pytest

from holdfast import Holdfast, Pipeline
from holdfast.errors import StoreUnavailable
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.migrations import MIGRATIONS, PostgresDialect
from holdfast.store.schema import migrate as runner
from holdfast.store.schema.migrate import Migration

CONCURRENT = Migration(
    len(MIGRATIONS) + 1,
    "9_x",
    "-- concurrently\ncreate index concurrently extra on holdfast.job (owner);\n",
)


@pytest.fixture
def caller(empty_postgres_url):
    """A connection whose transaction sees the database as it was at its first statement."""
    with psycopg.connect(empty_postgres_url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield connection
        connection.rollback()


def test_the_first_job_of_a_new_database_may_come_with_a_transaction_that_began_before(
    empty_postgres_url, caller
):
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(lambda job, payload: 1)
    caller.execute("select count(*) from pg_class")

    with Holdfast(empty_postgres_url, pipelines=[pipeline]) as app:
        handle = app.submit(pipeline, {}, connection=caller)
        caller.commit()

        assert handle.get().state == "queued"


def test_a_new_database_has_the_same_schema_as_one_that_was_migrated_step_by_step(
    empty_postgres_url,
):
    indexes = "select indexdef from pg_indexes where schemaname = 'holdfast' order by 1"
    with Connections(empty_postgres_url, name="test", size=1).connect() as connection:
        dialect = PostgresDialect(connection)
        runner.migrate(dialect, MIGRATIONS)
        at_once = connection.execute(indexes).fetchall()
        connection.execute("drop schema holdfast cascade")
        for known in range(1, len(MIGRATIONS) + 1):
            runner.migrate(dialect, MIGRATIONS[:known])

        assert connection.execute(indexes).fetchall() == at_once


def test_a_step_that_waits_for_an_older_transaction_says_so_and_may_be_repeated(
    empty_postgres_url, caller
):
    with Connections(empty_postgres_url, name="test", size=1).connect() as connection:
        runner.migrate(PostgresDialect(connection), MIGRATIONS)
        caller.execute("select count(*) from pg_class")
        impatient = PostgresDialect(connection, patience_s=0.2)

        with pytest.raises(StoreUnavailable, match="began before it; end them"):
            runner.migrate(impatient, [*MIGRATIONS, CONCURRENT])
        caller.rollback()
        connection.execute("drop index holdfast.extra")

        assert runner.migrate(impatient, [*MIGRATIONS, CONCURRENT]) == ["9_x"]
