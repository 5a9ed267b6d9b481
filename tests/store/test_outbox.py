"""The outbox beside other transactions: those that write, and those that sit on its rows."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from holdfast.core.outbox import NewMessage
from holdfast.errors import UsageError
from holdfast.store.contract import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.conformance.publishing import added, ids, leased, message
from holdfast.testing.conformance.samples import NOW


@pytest.fixture
def postgres(emptied_postgres_url: str, open_store: Callable[[str], Store]) -> Store:
    return open_store(emptied_postgres_url)


def test_a_message_that_commits_after_later_ones_is_still_sent(
    postgres: Store, emptied_postgres_url: str
):
    slow, quick = (NewMessage(f"m-{name}", name, "note", "1") for name in ("slow", "quick"))
    with psycopg.connect(emptied_postgres_url) as one, psycopg.connect(emptied_postgres_url) as two:
        postgres.outbox.add([slow], now=NOW, connection=one)
        postgres.outbox.add([quick], now=NOW, connection=two)

        two.commit()
        (first,) = leased(postgres)
        one.commit()
        (second,) = leased(postgres)

    assert (first.id, second.id) == (quick.id, slow.id)
    assert second.position < first.position


def test_a_relay_passes_over_rows_that_somebody_sits_on(postgres: Store, emptied_postgres_url: str):
    given = added(postgres, "a", "a", "b", "c", "c", "c")
    locked = (given[0], given[4])
    with psycopg.connect(emptied_postgres_url) as other:
        other.execute("select from holdfast.outbox where id = any(%s) for update", [list(locked)])

        assert ids(leased(postgres)) == [given[2], given[3]]

    assert ids(leased(postgres)) == given[:2]


def test_a_relay_that_claims_holds_no_writer_up(postgres: Store, emptied_postgres_url: str):
    added(postgres, "a")
    with psycopg.connect(emptied_postgres_url) as claiming:
        claiming.execute("select from holdfast.outbox for update")

        added(postgres, "a", "b")

    assert postgres.outbox.standing().pending == 3


def test_a_message_in_the_callers_own_transaction_on_sqlite(
    tmp_path, open_store: Callable[[str], Store]
):
    path = tmp_path / "holdfast.db"
    store = open_store(f"sqlite:///{path}")
    store.migrate()
    kept, lost = message("a"), message("a")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table theirs (n)")
        connection.execute("insert into theirs values (1)")
        store.outbox.add([kept], now=NOW, connection=connection)
        connection.commit()
        store.outbox.add([lost], now=NOW, connection=connection)
        connection.rollback()

    assert ids(leased(store)) == [kept.id]


def test_a_connection_without_a_transaction_is_refused(emptied_postgres_url: str):
    store = PostgresStore(emptied_postgres_url)
    with (
        psycopg.connect(emptied_postgres_url, autocommit=True) as connection,
        pytest.raises(UsageError, match="no transaction open"),
    ):
        store.outbox.add([message()], now=NOW, connection=connection)
    store.close()
