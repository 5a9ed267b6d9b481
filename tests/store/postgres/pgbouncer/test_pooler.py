"""What is done where a pooler lends the server's connections, and how it is noticed."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.errors import InvalidValue, ReadTooSlow, UsageError
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.statements.statement_timeout import reads_within
from holdfast.testing.conformance.samples import claim, new_job, submitted
from holdfast.testing.postgres.pgbouncer import PrivatePgbouncer
from tests.plugins.postgres import SharedServer

Opened = Callable[..., PostgresStore]
SOON_S = 10.0


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens stores and closes them in the end."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(closing(PostgresStore(*args, **options)))


@pytest.fixture
def pooled(shared_postgres: SharedServer, postgres_url: str) -> Iterator[Callable[..., str]]:
    """The test's database through a pooler that is set up like that."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            PrivatePgbouncer(shared_postgres.url, **options)
        ).url_of(postgres_url)


def shown(connection: psycopg.Connection, *names: str) -> list[str]:
    return [connection.execute(f"show {name}").fetchone()[0] for name in names]


def test_a_pooler_that_refuses_options_is_noticed(pgbouncer_url: str, opened: Opened):
    store = opened(pgbouncer_url)

    assert submitted(store)
    assert store.facts()["pooler"] == "transaction"
    assert store.facts()["wake_ups"] == "polling"


def test_a_pooler_that_ignores_options_is_noticed(pooled: Callable[..., str], opened: Opened):
    store = opened(pooled(pool_size=2, settings={"ignore_startup_parameters": "options"}))

    assert submitted(store)
    with store.transaction() as connection:
        assert connection.pooled
        assert shown(connection, "statement_timeout", "lock_timeout") == ["30s", "2s"]
    assert store.facts()["pooler"] == "transaction"


def test_a_server_itself_is_taken_for_no_pooler(postgres_url: str, opened: Opened):
    store = opened(postgres_url)

    assert "pooler" not in store.facts()
    assert store.facts()["wake_ups"] == "listening"


def test_settings_hold_in_every_transaction_and_no_longer(
    pooled: Callable[..., str], opened: Opened
):
    url = pooled(pool_size=1)
    names = ("statement_timeout", "lock_timeout", "jit", "enable_seqscan", "plan_cache_mode")
    with psycopg.connect(url, prepare_threshold=None) as caller:
        before = shown(caller, *names)
    store = opened(url).reserve("claimer")

    with closing(store):
        with store.transaction() as connection:
            inside = shown(connection, *names)
        own = store._connections.lent_to(lambda lent: shown(lent, *names))
        for _ in range(10):
            submitted(store)
            claim(store)
        store.listen().close()
        with psycopg.connect(url, prepare_threshold=None) as caller:
            after = shown(caller, *names)
            [left] = caller.execute(
                "select (select count(*) from pg_prepared_statements),"
                " (select count(*) from pg_locks join pg_database on pg_database.oid = database"
                "   where locktype = 'advisory' and datname = current_database()),"
                " (select count(*) from pg_listening_channels())"
            )

    assert inside == ["10s", "2s", "off", "off", "force_generic_plan"]
    assert own == inside
    assert after == before
    assert left == (0, 0, 0)


def test_statements_do_not_depend_on_which_connection_they_get(pgbouncer_url: str, opened: Opened):
    store = opened(pgbouncer_url)
    pids: set[int] = set()

    def work() -> None:
        for number in range(20):
            submitted(store)
            store.insert([new_job(key=f"{threading.get_ident()}-{number}")])
            claim(store)
            with store.transaction() as connection:
                pids.add(connection.execute("select pg_backend_pid()").fetchone()[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(pids) > 1
    assert store.queues(now=new_job().run_at)[0].processing == 160


def test_a_read_is_broken_off_as_without_a_pooler(pgbouncer_url: str, opened: Opened):
    store = opened(pgbouncer_url)
    endless = "select count(*) from generate_series(1, 1000000000)"

    with reads_within(0.05), pytest.raises(ReadTooSlow), store.transaction() as connection:
        connection.execute(endless)
    with reads_within(5), store.transaction() as connection:
        assert shown(connection, "statement_timeout") == ["5s"]
    assert submitted(store)


def test_a_pooler_that_starts_anew_costs_nobody_anything(
    shared_postgres: SharedServer, postgres_url: str, opened: Opened
):
    with PrivatePgbouncer(shared_postgres.url, pool_size=1) as pooler:
        store = opened(pooler.url_of(postgres_url))
        submitted(store)
        pooler.restart()

        assert submitted(store)
        assert len(claim(store)) == 2
        store.close()


def test_nothing_is_migrated_through_a_pooler(
    pgbouncer: PrivatePgbouncer, empty_postgres_url: str, opened: Opened
):
    store = opened(pgbouncer.url_of(empty_postgres_url))

    with pytest.raises(UsageError, match=r"not through a pooler.*HOLDFAST_DATABASE_DIRECT_URL"):
        store.migrate()
    with psycopg.connect(empty_postgres_url) as direct:
        [(schema,)] = direct.execute("select to_regnamespace('holdfast')::text")
    assert schema is None
    store.close()
    pgbouncer.forget(empty_postgres_url)


def test_where_nothing_is_to_be_migrated_a_pooler_does(pgbouncer_url: str, opened: Opened):
    store = opened(pgbouncer_url)

    assert store.migrate() == []
    assert store.pending_migrations() == []
    store.check_schema()


def test_migrations_run_past_the_pooler_where_a_url_is_given_for_that(
    pgbouncer: PrivatePgbouncer, empty_postgres_url: str
):
    pooled_url = pgbouncer.url_of(empty_postgres_url)

    with Holdfast(pooled_url, direct_url=empty_postgres_url) as app:
        assert app.store.pending_migrations() == []
        assert app.store.facts()["pooler"] == "transaction"
    pgbouncer.forget(empty_postgres_url)


def test_a_direct_url_of_another_database_is_refused(
    pgbouncer_url: str, empty_postgres_url: str, opened: Opened
):
    store = opened(pgbouncer_url, direct_url=empty_postgres_url)

    with pytest.raises(UsageError, match="leads to another database"):
        store.migrate()
    assert "another database" in store.facts()["direct_trouble"]


@pytest.mark.parametrize(
    ("url", "direct_url"),
    [("sqlite:///a.db", "postgresql://host/a"), ("postgresql://host/a", "sqlite:///a.db")],
)
def test_a_direct_url_is_for_postgresql(url: str, direct_url: str):
    with pytest.raises(InvalidValue, match="direct_url"):
        Holdfast(url, direct_url=direct_url)


def test_a_direct_url_that_is_a_poolers_is_told(
    pgbouncer: PrivatePgbouncer, pgbouncer_url: str, opened: Opened
):
    other = pgbouncer_url.replace("127.0.0.1", "localhost")
    store = opened(pgbouncer_url, direct_url=other)

    assert store.facts()["direct_trouble"] == "it leads to a pooler in transaction mode"


def test_who_cannot_listen_polls_and_says_so_once(
    pgbouncer_url: str, opened: Opened, caplog: pytest.LogCaptureFixture
):
    listener = opened(pgbouncer_url).listen()
    with caplog.at_level(logging.WARNING, logger="holdfast.store"):
        assert listener.wait(0) is True  # as after every connection
        assert [listener.wait(0.01) for _ in range(3)] == [False] * 3

    assert [record.event for record in caplog.records] == ["polling"]
    ended = threading.Thread(target=partial(listener.wait, SOON_S))
    ended.start()
    listener.close()
    ended.join(SOON_S / 2)
    assert not ended.is_alive()


def test_a_listener_listens_past_the_pooler(pgbouncer_url: str, postgres_url: str, opened: Opened):
    store = opened(pgbouncer_url, direct_url=postgres_url)
    listener = store.listen()
    listener.wait(0)

    submitted(store)

    assert listener.wait(SOON_S) is True
    listener.close()


def test_a_pooler_in_session_mode_may_be_named_as_direct(
    pooled: Callable[..., str], opened: Opened
):
    url = pooled(pool_mode="session", pool_size=20)
    store = opened(url, direct_url=url)
    listener = store.listen()
    listener.wait(0)

    submitted(store)

    assert listener.wait(SOON_S) is True
    with store.transaction() as connection:
        assert shown(connection, "statement_timeout") == ["30s"]
    assert store.facts()["direct_trouble"] == ""
    listener.close()
    store.close()


def test_a_pooler_in_session_mode_is_told_from_one_in_transaction_mode(
    pooled: Callable[..., str], opened: Opened
):
    store = opened(pooled(pool_mode="session", pool_size=20))

    assert submitted(store)
    assert store.facts()["pooler"] == "session"
    store.close()
