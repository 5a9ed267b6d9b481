"""Run as a script: migrates a database again and again, killed before each statement in turn.

Every try is a forked process that really dies by SIGKILL. The next one goes on with what it left
behind, and dies some statements later, until one comes to the end; then the schema is checked.
"""

import os
import signal
import sqlite3
import sys
from contextlib import closing

import psycopg

from holdfast.store.postgres import migrations as postgres_migrations
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.schema import migrate
from holdfast.store.sqlite.connection import Database
from holdfast.store.sqlite.migrations import MIGRATIONS, SqliteDialect
from holdfast.store.sqlite.store import SqliteStore


class DyingAt:
    """Counts statements and dies before the one it was given."""

    def __init__(self, statement: int) -> None:
        self.left = statement

    def __call__(self, _text: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def migrate_sqlite(url: str, dying: DyingAt) -> None:
    database = Database(url)
    database._open().set_trace_callback(dying)
    migrate.migrate(SqliteDialect(database, lambda: 0), MIGRATIONS)


def migrate_postgres(url: str, dying: DyingAt) -> None:
    def connect() -> psycopg.Connection:
        connection = Connections(url, name="test", size=1).connect()
        execute = connection.execute

        def counted(query, *args, **kwargs):
            dying(query)
            return execute(query, *args, **kwargs)

        connection.execute = counted
        return connection

    postgres_migrations.migrate(connect)


def tables_of_sqlite(url: str) -> int:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return connection.execute(
            "select count(*) from sqlite_schema where name like 'holdfast%' and type = 'table'"
        ).fetchone()[0]


def tables_of_postgres(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(
            "select count(*) from pg_tables where schemaname = 'holdfast'"
        ).fetchone()[0]


def main(url: str, step: int) -> None:
    sqlite = url.startswith("sqlite:")
    run = migrate_sqlite if sqlite else migrate_postgres
    tables = tables_of_sqlite if sqlite else tables_of_postgres
    store = SqliteStore(url) if sqlite else PostgresStore(url)
    pending = store.pending_migrations()
    statement = 1 - step
    while True:
        statement += step
        child = os.fork()
        if child == 0:
            run(url, DyingAt(statement))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        left, pending = len(pending), store.pending_migrations()
        print(statement, tables(url), ",".join(name for name, _ in pending) or "nothing")
        if len(pending) < left:
            # One more is there for good, and the next try begins behind it.
            statement = 1 - step
    assert store.migrate() == []
    store.check_schema()
    assert store.verify(now=0) == []
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
