"""What somebody looks at may take so long and no longer."""

import time

import pytest

from holdfast.engine.opening import store_of
from holdfast.errors import ReadTooSlow
from holdfast.store.postgres.connection import Connections
from holdfast.store.statements.statement_timeout import reads_within

ENDLESS = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c"


@pytest.fixture
def store(database_url):
    opened = store_of(database_url)
    opened.migrate()
    yield opened
    opened.close()


def read(store, statement):
    if store.url.startswith("sqlite"):
        return store._database.read(lambda cursor: cursor.execute(statement).fetchall())
    return store._run(lambda own: own.execute(statement).fetchall())


def test_a_read_that_takes_too_long_is_broken_off(store):
    began = time.monotonic()

    with reads_within(0.2), pytest.raises(ReadTooSlow) as told:
        read(store, ENDLESS)

    assert told.value.limit_s == 0.2
    assert time.monotonic() - began < 20, "the store's own limit is longer than that"


def test_what_is_quick_is_read_under_a_limit_as_without(store):
    with reads_within(5):
        assert [tuple(row) for row in read(store, "select 1")] == [(1,)]


def test_the_limit_ends_with_the_block(store):
    with reads_within(0.05), pytest.raises(ReadTooSlow):
        read(store, ENDLESS)
    a_while = (
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000000)"
        " select count(*) from c"
    )

    assert [tuple(row) for row in read(store, a_while)] == [(1_000_000,)]


def test_reads_and_writes_in_turn_keep_to_connections_bounded_like_them(postgres_url):
    connections = Connections(postgres_url, name="test", size=2, statement_timeout_s=30.0)
    whose = "select pg_backend_pid(), current_setting('statement_timeout')"

    def ask(limit_s):
        with reads_within(limit_s), connections.borrowed() as connection:
            return connection.execute(whose).fetchone()

    with connections.borrowed() as long_one:
        short_pid, _ = ask(5.0)
        long_pid = long_one.info.backend_pid
    told = [ask(limit_s) for limit_s in (None, 5.0, None, 5.0, 5.0)]
    connections.close()

    long, short = (long_pid, "30s"), (short_pid, "5s")
    assert told == [long, short, long, short, short]


def test_a_connection_bounded_otherwise_is_bounded_anew_rather_than_another_opened(postgres_url):
    connections = Connections(postgres_url, name="test", size=2, statement_timeout_s=30.0)
    whose = "select pg_backend_pid(), current_setting('statement_timeout')"

    with connections.borrowed() as connection:
        first, _ = connection.execute(whose).fetchone()
    with reads_within(5.0), connections.borrowed() as connection:
        second, bound = connection.execute(whose).fetchone()
    connections.close()

    assert (second, bound) == (first, "5s")
