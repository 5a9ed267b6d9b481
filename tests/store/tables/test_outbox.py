"""The outbox beside other transactions: those that write, and those that sit on its rows."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from holdfast.core.values.outbox import NewMessage
from holdfast.errors import UsageError
from holdfast.store.contract import Store
from holdfast.store.postgres.statements import SQL as POSTGRES
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite.statements import SQL as SQLITE
from holdfast.testing.conformance.messages.outbox import added, ids, leased, message
from holdfast.testing.conformance.samples import NOW

STATEMENTS = (
    "outbox_claim",
    "outbox_mark",
    "outbox_next_due",
    "outbox_release",
    "outbox_remove",
)
VALUES = {
    "holder": "relay",
    "limit": 50,
    "window": 1_000,
    "wide": False,
    "now": NOW,
    "after": NOW,
    "published": NOW,
    "lease_until": NOW,
    "types": None,
    "without_types": None,
    "marks": '[{"position":1,"status":"published"}]',
}


@pytest.fixture
def postgres(postgres_url: str, open_store: Callable[[str], Store]) -> Store:
    return open_store(postgres_url)


def test_a_message_that_commits_after_later_ones_is_still_sent(postgres: Store, postgres_url: str):
    slow, quick = (NewMessage(f"m-{name}", name, "note", "1") for name in ("slow", "quick"))
    with psycopg.connect(postgres_url) as one, psycopg.connect(postgres_url) as two:
        postgres.outbox.add([slow], now=NOW, connection=one)
        postgres.outbox.add([quick], now=NOW, connection=two)

        two.commit()
        (first,) = leased(postgres)
        one.commit()
        (second,) = leased(postgres)

    assert (first.id, second.id) == (quick.id, slow.id)
    assert second.position < first.position


def test_a_relay_passes_over_rows_that_somebody_sits_on(postgres: Store, postgres_url: str):
    given = added(postgres, "a", "a", "b", "c", "c", "c")
    locked = (given[0], given[4])
    with psycopg.connect(postgres_url) as other:
        other.execute("select from holdfast.outbox where id = any(%s) for update", [list(locked)])

        assert ids(leased(postgres)) == [given[2], given[3]]

    assert ids(leased(postgres)) == given[:2]


def test_a_relay_that_claims_holds_no_writer_up(postgres: Store, postgres_url: str):
    added(postgres, "a")
    with psycopg.connect(postgres_url) as claiming:
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


def test_a_connection_without_a_transaction_is_refused(postgres_url: str):
    store = PostgresStore(postgres_url)
    with (
        psycopg.connect(postgres_url, autocommit=True) as connection,
        pytest.raises(UsageError, match="no transaction open"),
    ):
        store.outbox.add([message()], now=NOW, connection=connection)
    store.close()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_relay_reads_no_more_of_postgresql_than_it_takes(postgres: Store, statement: str):
    added(postgres, *map(str, range(2_000)))
    relay = postgres.reserve("relay")

    with relay.transaction() as connection:
        plan = connection.execute(f"explain {POSTGRES[statement]}", VALUES).fetchall()
    relay.close()

    steps = "\n".join(row[0] for row in plan)
    assert "Index" in steps
    assert "Seq Scan on outbox" not in steps, steps


def test_a_claim_reads_what_waits_once_though_little_was_expected(
    postgres: Store, postgres_url: str
):
    added(postgres, *map(str, range(400, 2_400)))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "update holdfast.outbox set status = 'published', processed_at = created_at"
        )
        connection.execute("vacuum (analyze) holdfast.outbox")
    added(postgres, *map(str, range(400)))
    relay = postgres.reserve("relay")

    with relay.transaction() as connection:
        explain = f"explain (analyze, format json) {POSTGRES['outbox_claim']}"
        connection.execute("set local plan_cache_mode = force_generic_plan")
        ((plan,),) = connection.execute(explain, VALUES, prepare=True).fetchall()
    relay.close()

    assert _thrown_away(plan[0]["Plan"]) < VALUES["limit"]


def _thrown_away(step: dict) -> int:
    """Return how many rows a plan read for nothing."""
    own = step.get("Rows Removed by Filter", 0) * step["Actual Loops"]
    return own + sum(map(_thrown_away, step.get("Plans", ())))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_relay_reads_no_more_of_sqlite_than_it_takes(
    tmp_path, open_store: Callable[[str], Store], statement: str
):
    store = open_store(f"sqlite:///{tmp_path / 'holdfast.db'}")
    store.migrate()

    with store.transaction() as connection:
        plan = connection.execute(f"explain query plan {SQLITE[statement]}", VALUES).fetchall()

    steps = [row[3] for row in plan]
    assert any("USING" in step for step in steps)
    assert [step for step in steps if step.startswith(("SCAN message", "SCAN holdfast"))] == []
