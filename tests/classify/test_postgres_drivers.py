"""psycopg and asyncpg against a real PostgreSQL that refuses, collides and goes away."""

import asyncio
import os
import socket
import threading
from contextlib import closing, contextmanager

import asyncpg
import psycopg
import psycopg_pool
import pytest
from psycopg.conninfo import make_conninfo

from tests.classify import rows
from tests.classify.rows import caught, retried, row_of
from tests.classify.servers import LOOPBACK, Server, unused_port

DATABASE_TIMEOUT = retried("NETWORK_TIMEOUT", known=True, blames=False)
SERVER_SHORT = retried("IO_ERROR", known=True, blames=True)
LIMITED = retried("UPSTREAM_5XX", known=False, blames=True, attempts=3)

LOST_ITS_WAY = retried("NETWORK", known=False, blames=True, attempts=3)

BY_STATE = {
    "23505": rows.CONFLICT_FINAL,
    **dict.fromkeys(("23502", "23503", "23514", "22001", "22003", "22P02"), rows.INVALID),
    **dict.fromkeys(("40001", "40P01"), rows.CONFLICT),
    **dict.fromkeys(("55P03", "57014"), DATABASE_TIMEOUT),
    **dict.fromkeys(("57P01", "57P02", "08006", "08003"), rows.NETWORK),
    "57P03": rows.UNSENT,
    **dict.fromkeys(("53000", "53100", "53200", "53300", "58030"), SERVER_SHORT),
    **dict.fromkeys(("28000", "28P01", "42501"), rows.AUTH),
    "25006": rows.UNSENT,
    **dict.fromkeys(("42601", "42P01", "42703", "25P02", "0A000"), rows.MISCONFIGURED),
    "P0001": rows.INVALID,
    "XX000": LIMITED,
}
"""Rows by SQLSTATE, the same for every driver."""

RAISE = "do $$ begin raise exception 'on purpose' using errcode = '{state}'; end $$"
TABLE = "create table thing (id int primary key, note text not null)"
LONG = "select pg_sleep(20)"


@contextmanager
def connected(url, **options):
    with psycopg.connect(url, autocommit=True, **options) as connection:
        yield connection


@pytest.mark.parametrize("state", sorted(BY_STATE))
def test_a_state_that_the_server_reports_to_psycopg(postgres_url, state):
    with connected(postgres_url) as connection:
        error = caught(connection.execute, RAISE.format(state=state))

    assert error.sqlstate == state
    assert row_of(error) == BY_STATE[state]


@pytest.mark.parametrize("state", sorted(BY_STATE))
def test_a_state_that_the_server_reports_to_asyncpg(postgres_url, state):
    error = caught(ask_with_asyncpg, postgres_url, RAISE.format(state=state))

    assert error.sqlstate == state
    assert row_of(error) == BY_STATE[state]


def ask_with_asyncpg(url, *statements, **options):
    async def ask():
        connection = await asyncpg.connect(url, **options)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            connection.terminate()

    return asyncio.run(ask())


def test_two_transactions_that_cannot_be_put_in_order(postgres_url):
    with connected(postgres_url) as first, connected(postgres_url) as second:
        first.execute(TABLE)
        first.execute("insert into thing values (1, 'a')")
        for connection in (first, second):
            connection.execute("begin isolation level serializable")
            connection.execute("select * from thing")
        first.execute("update thing set note = 'b'")
        first.execute("commit")
        error = caught(second.execute, "update thing set note = 'c'")

    assert isinstance(error, psycopg.errors.SerializationFailure)
    assert row_of(error) == rows.CONFLICT


def test_two_transactions_that_wait_for_each_other(postgres_url):
    with connected(postgres_url) as first, connected(postgres_url) as second:
        first.execute(TABLE)
        first.execute("insert into thing values (1, 'a'), (2, 'a')")
        for connection, row in ((first, 1), (second, 2)):
            connection.execute("set deadlock_timeout = '50ms'")
            connection.execute("begin")
            connection.execute("update thing set note = 'b' where id = %s", [row])
        errors = []
        waiting = threading.Thread(
            target=lambda: errors.append(
                _error_of(first, "update thing set note = 'c' where id = 2")
            )
        )
        waiting.start()
        errors.append(_error_of(second, "update thing set note = 'c' where id = 1"))
        second.execute("rollback")
        waiting.join()

    (error,) = [each for each in errors if each is not None]
    assert isinstance(error, psycopg.errors.DeadlockDetected)
    assert row_of(error) == rows.CONFLICT


def _error_of(connection, statement):
    try:
        connection.execute(statement)
    except psycopg.Error as error:
        return error
    return None


def test_a_lock_that_is_not_to_be_had(postgres_url):
    with connected(postgres_url) as holder, connected(postgres_url) as waiter:
        holder.execute(TABLE)
        holder.execute("begin")
        holder.execute("lock table thing")
        waiter.execute("set lock_timeout = '50ms'")
        slow = caught(waiter.execute, "select * from thing")
        refused = caught(waiter.execute, "select * from thing for update nowait")

    assert isinstance(slow, psycopg.errors.LockNotAvailable)
    assert row_of(slow) == DATABASE_TIMEOUT
    assert row_of(refused) == DATABASE_TIMEOUT


def test_a_statement_that_takes_too_long(postgres_url):
    with connected(postgres_url) as connection:
        connection.execute("set statement_timeout = '50ms'")
        error = caught(connection.execute, LONG)

    assert isinstance(error, psycopg.errors.QueryCanceled)
    assert row_of(error) == DATABASE_TIMEOUT


CANCEL = """select pg_cancel_backend(pid) from pg_stat_activity
            where pid = %s and state = 'active' and query = %s"""


def test_a_statement_that_is_cancelled(postgres_url):
    with connected(postgres_url) as operator, connected(postgres_url) as connection:
        asked = [connection.info.backend_pid, LONG]

        def cancel_once_it_runs():
            while operator.execute(CANCEL, asked).fetchone() is None:
                pass

        cancelling = threading.Thread(target=cancel_once_it_runs)
        cancelling.start()
        error = caught(connection.execute, LONG)
        cancelling.join()

    assert row_of(error) == DATABASE_TIMEOUT


def test_a_connection_that_the_server_ends(postgres_url):
    with connected(postgres_url) as operator, closing(psycopg.connect(postgres_url)) as victim:
        pid = victim.info.backend_pid
        operator.execute("select pg_terminate_backend(%s, 5000)", [pid])
        ended = caught(victim.execute, "select 1")
        gone = caught(victim.execute, "select 1")

    assert isinstance(ended, psycopg.errors.AdminShutdown)
    assert row_of(ended) == rows.NETWORK
    assert gone.sqlstate is None
    assert row_of(gone) == rows.NETWORK


def test_a_connection_that_breaks_without_a_word(postgres_url):
    with closing(psycopg.connect(postgres_url)) as connection:
        with socket.socket(fileno=os.dup(connection.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)
        error = caught(connection.execute, "select 1")

    assert isinstance(error, psycopg.OperationalError)
    assert error.sqlstate is None
    assert row_of(error) == rows.NETWORK


def test_a_primary_that_has_become_a_standby(postgres_url):
    with connected(postgres_url) as connection:
        connection.execute("set default_transaction_read_only = on")
        error = caught(connection.execute, TABLE)

    assert isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
    assert row_of(error) == rows.UNSENT


def test_rows_that_do_not_fit(postgres_url):
    with connected(postgres_url) as connection:
        connection.execute(TABLE)
        connection.execute("insert into thing values (1, 'a')")
        twice = caught(connection.execute, "insert into thing values (1, 'b')")
        empty = caught(connection.execute, "insert into thing values (2, null)")
        odd = caught(connection.execute, "select 'x'::int")
        divided = caught(connection.execute, "select 1/0")

    assert row_of(twice) == rows.CONFLICT_FINAL
    assert row_of(empty) == rows.INVALID
    assert row_of(odd) == rows.INVALID
    assert row_of(divided) == rows.INVALID


def test_statements_that_are_wrong(postgres_url):
    with connected(postgres_url) as connection:
        syntax = caught(connection.execute, "selec 1")
        missing = caught(connection.execute, "select * from nowhere")
        counted = caught(connection.execute, "select %s, %s", [1])
    closed = caught(connection.execute, "select 1")
    with closing(psycopg.connect(postgres_url)) as other:
        cursor = other.cursor()
        cursor.close()
        used = caught(cursor.execute, "select 1")

    assert row_of(syntax) == rows.MISCONFIGURED
    assert row_of(missing) == rows.MISCONFIGURED
    assert isinstance(counted, psycopg.ProgrammingError)
    assert row_of(counted) == rows.MISCONFIGURED
    assert row_of(closed) == rows.NETWORK
    assert isinstance(used, psycopg.InterfaceError)
    assert row_of(used) == rows.MISCONFIGURED


def test_permission_that_is_missing(postgres_url):
    with connected(postgres_url) as connection:
        connection.execute(TABLE)
        connection.execute("set role pg_monitor")
        error = caught(connection.execute, "select * from thing")

    assert row_of(error) == rows.AUTH


def test_no_server_at_all():
    url = f"postgresql://{LOOPBACK}:{unused_port()}/none"

    refused = caught(psycopg.connect, url)
    refused_asyncpg = caught(ask_with_asyncpg, url)

    assert refused.sqlstate is None
    assert row_of(refused) == rows.NETWORK
    assert isinstance(refused_asyncpg, ConnectionRefusedError)
    assert row_of(refused_asyncpg) == rows.UNSENT


def test_a_server_that_does_not_greet():
    with Server(lambda connection: connection.hang()) as server:
        url = f"postgresql://{LOOPBACK}:{server.port}/none"
        slow = caught(psycopg.connect, make_conninfo(url, connect_timeout=2))
        slow_asyncpg = caught(ask_with_asyncpg, url, timeout=0.2)

    assert isinstance(slow, psycopg.errors.ConnectionTimeout)
    assert row_of(slow) == rows.TIMEOUT_UNSENT
    assert type(slow_asyncpg) is TimeoutError
    assert row_of(slow_asyncpg) == rows.TIMEOUT


def test_a_database_that_is_not_there(postgres_url):
    error = caught(psycopg.connect, make_conninfo(postgres_url, dbname="nowhere"))

    assert error.sqlstate is None
    assert row_of(error) == rows.NETWORK


def test_too_many_connections(postgres_url):
    with connected(postgres_url) as connection:
        # Roles belong to the whole server, which other tests use, too.
        guest = f"guest_of_{connection.info.dbname}"
        connection.execute(f"create role \"{guest}\" login password 'pass' connection limit 0")
        try:
            error = caught(ask_with_asyncpg, postgres_url, user=guest, password="pass")
        finally:
            connection.execute(f'drop role "{guest}"')

    assert isinstance(error, asyncpg.TooManyConnectionsError)
    assert row_of(error) == SERVER_SHORT


def test_a_pool_of_our_own_that_is_empty(postgres_url):
    with (
        psycopg_pool.ConnectionPool(postgres_url, min_size=1, max_size=1, max_waiting=1) as pool,
        pool.connection(),
    ):
        error = caught(lambda: pool.getconn(timeout=0.05))

    assert isinstance(error, psycopg_pool.PoolTimeout)
    assert isinstance(error, psycopg.OperationalError)
    assert row_of(error) == rows.SATURATED


def test_asyncpg_may_lose_its_way_over_a_connection_that_was_ended():
    error = asyncpg.InternalClientError("cannot switch to state 11; another operation (2)")

    assert row_of(error) == LOST_ITS_WAY


def test_what_asyncpg_refuses_by_itself(postgres_url):
    async def ask():
        connection = await asyncpg.connect(postgres_url)
        other = await asyncpg.connect(postgres_url)
        errors = {}

        async def note(name, awaitable):
            try:
                await awaitable
            except Exception as error:  # noqa: BLE001 - looked at below
                errors[name] = error

        await note("argument", connection.fetch("select $1::int", "one"))
        await note("client timeout", connection.fetch(LONG, timeout=0.1))
        await asyncio.gather(
            note("first", connection.fetch("select pg_sleep(0.05)")),
            note("busy", connection.fetch("select 1")),
        )
        pid = connection.get_server_pid()
        await other.execute("select pg_terminate_backend($1, 5000)", pid)
        await note("terminated", connection.fetch("select 1"))
        await note("closed", connection.fetch("select 1"))
        await other.close()
        return errors

    errors = asyncio.run(ask())
    # Whether it has noticed yet that the connection is gone is a matter of luck.
    lost_its_way = isinstance(errors["terminated"], asyncpg.InternalClientError)

    assert {name: row_of(error) for name, error in errors.items()} == {
        "argument": rows.INVALID,
        "client timeout": rows.TIMEOUT,
        "busy": rows.MISCONFIGURED,
        "terminated": LOST_ITS_WAY if lost_its_way else rows.NETWORK,
        "closed": rows.NETWORK,
    }
    assert isinstance(errors["closed"], asyncpg.InterfaceError)
