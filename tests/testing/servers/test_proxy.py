import contextlib
import gc
import socket
import threading
import time
import warnings

import psycopg
import pytest

from holdfast.errors import InvalidValue
from holdfast.testing.servers.proxy import PostgresProxy

# Tests of lost connections and replies go through it in every run.
pytestmark = pytest.mark.slow

AUTOCOMMIT_INSERTS = {
    "simple query": lambda link: link.execute("insert into mark values (1)"),
    "with parameters": lambda link: link.execute("insert into mark values (%s)", [1]),
    "prepared": lambda link: link.execute("insert into mark values (%s)", [1], prepare=True),
    "after a comment": lambda link: link.execute("-- a note\ninsert into mark values (%s)", [1]),
    "in a with": lambda link: link.execute(
        "with one as (select 1 as n) insert into mark select n from one"
    ),
}


@pytest.fixture
def direct(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table mark (n int)")
        yield connection


@pytest.fixture
def proxy(postgres_url, direct):
    with PostgresProxy(postgres_url) as proxy:
        yield proxy


def _count(direct):
    return direct.execute("select count(*) from mark").fetchone()[0]


def _wait_for(condition, *, limit_s=5.0):
    give_up_at = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < give_up_at, "did not happen in time"
        time.sleep(0.005)


def test_statements_and_large_results_pass_unchanged(proxy):
    text = "é\u2028x" * 200_000
    with psycopg.connect(proxy.url) as connection:
        assert connection.execute("select %s::text", [text]).fetchone() == (text,)


def test_copy_and_notifications_pass(proxy, direct):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        with connection.cursor().copy("copy mark from stdin") as copy:
            for n in range(1000):
                copy.write_row([n])
        connection.execute("listen bell")
        direct.execute("notify bell, 'ring'")

        assert _count(direct) == 1000
        assert [note.payload for note in connection.notifies(timeout=5, stop_after=1)] == ["ring"]


def test_a_client_that_asks_for_encryption_is_told_no(proxy):
    url = proxy.url.replace("sslmode=disable", "sslmode=prefer")
    with psycopg.connect(url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        assert not connection.pgconn.ssl_in_use


def test_a_client_can_cancel_its_query_through_the_proxy(proxy):
    with psycopg.connect(proxy.url) as connection:
        threading.Timer(0.1, connection.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("select pg_sleep(30)")


@pytest.mark.parametrize("fault", ["cut", "rst"])
def test_open_links_are_lost_and_new_ones_work(proxy, fault):
    with psycopg.connect(proxy.url) as connection:
        connection.execute("select 1")
        getattr(proxy, fault)()

        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
        with psycopg.connect(proxy.url) as again:
            assert again.execute("select 1").fetchone() == (1,)


def test_a_cut_rolls_the_open_transaction_back(proxy, direct):
    with psycopg.connect(proxy.url) as connection:
        connection.execute("insert into mark values (1)")
        proxy.cut()
        connection.close()

    _wait_for(lambda: proxy.link_count == 0)
    assert _count(direct) == 0


def test_a_black_hole_answers_nothing_and_lets_go_later(proxy):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.black_hole()
        answer = []
        asking = threading.Thread(
            target=lambda: answer.append(connection.execute("select 1").fetchone())
        )
        asking.start()
        asking.join(0.2)
        assert asking.is_alive()

        proxy.pass_through()
        asking.join(5)
        assert answer == [(1,)]


def test_a_black_hole_takes_connections_and_starts_none(proxy):
    proxy.black_hole()

    with pytest.raises(psycopg.errors.ConnectionTimeout):
        psycopg.connect(proxy.url, connect_timeout=2)


def test_the_server_does_not_hear_of_a_client_that_left_into_a_black_hole(proxy, direct):
    connection = psycopg.connect(proxy.url)
    backend = connection.info.backend_pid
    proxy.black_hole()
    connection.close()

    def is_there():
        found = direct.execute("select 1 from pg_stat_activity where pid = %s", [backend])
        return found.fetchone() is not None

    time.sleep(0.1)
    assert is_there()
    proxy.pass_through()
    _wait_for(lambda: not is_there())


def test_a_delay_slows_every_exchange(proxy):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.delay(60)
        started = time.monotonic()
        connection.execute("select 1")
        slow_s = time.monotonic() - started

    assert 0.12 <= slow_s < 2


def test_slices_arrive_whole(proxy):
    proxy.slice(1)
    with psycopg.connect(proxy.url) as connection:
        assert connection.execute("select repeat('x', 5000)").fetchone() == ("x" * 5000,)


@pytest.mark.parametrize("direction", ["to_client", "to_server"])
def test_a_link_is_cut_after_so_many_bytes(proxy, direction):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.cut_after(100, direction=direction)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select %s::text", ["x" * 10_000])

    with psycopg.connect(proxy.url) as again:
        assert again.execute("select 1").fetchone() == (1,)


def test_it_refuses_until_told_otherwise(proxy):
    with psycopg.connect(proxy.url) as connection:
        proxy.refuse()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(proxy.url)

    proxy.pass_through()
    with psycopg.connect(proxy.url) as again:
        assert again.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(("forward", "rows"), [(True, 1), (False, 0)])
def test_the_reply_to_a_commit_is_lost(proxy, direct, forward, rows):
    with psycopg.connect(proxy.url) as connection:
        lost = proxy.drop_commit_reply(forward=forward)
        connection.execute("insert into mark values (1)")
        assert lost.count == 0
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
        connection.close()

    assert lost.wait()
    assert lost.count == 1
    _wait_for(lambda: proxy.link_count == 0)
    assert _count(direct) == rows


@pytest.mark.parametrize(("forward", "rows"), [(True, 1), (False, 0)])
def test_the_end_of_a_transaction_block_counts_as_commit(proxy, direct, forward, rows):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.drop_commit_reply(forward=forward)
        with pytest.raises(psycopg.OperationalError), connection.transaction():
            connection.execute("insert into mark values (%s)", [1])

    assert _count(direct) == rows


@pytest.mark.parametrize(("forward", "rows"), [(True, 1), (False, 0)])
@pytest.mark.parametrize("insert", AUTOCOMMIT_INSERTS.values(), ids=AUTOCOMMIT_INSERTS.keys())
def test_a_statement_that_commits_by_itself_is_lost(proxy, direct, insert, forward, rows):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        lost = proxy.drop_commit_reply(forward=forward, tags=("INSERT",))
        with pytest.raises(psycopg.OperationalError):
            insert(connection)

    assert lost.count == 1
    assert _count(direct) == rows


@pytest.mark.parametrize("forward", [True, False])
def test_a_statement_inside_a_transaction_is_no_commit(proxy, direct, forward):
    with psycopg.connect(proxy.url) as connection:
        lost = proxy.drop_commit_reply(forward=forward, tags=("INSERT",))
        connection.execute("insert into mark values (%s)", [1])
        connection.commit()

    assert lost.count == 0
    assert _count(direct) == 1


def test_a_failed_statement_is_no_commit(proxy, direct):
    direct.execute("create table pair (n int unique deferrable initially deferred)")
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        lost = proxy.drop_commit_reply(tags=("INSERT",))
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("insert into pair values (%s), (%s)", [1, 1])

        assert connection.execute("select 1").fetchone() == (1,)
    assert lost.count == 0


def test_only_so_many_commits_are_lost(proxy, direct):
    lost = proxy.drop_commit_reply(times=2)
    outcomes = []
    for _ in range(3):
        with psycopg.connect(proxy.url) as connection:
            connection.execute("insert into mark values (1)")
            try:
                connection.commit()
                outcomes.append("heard")
            except psycopg.OperationalError:
                outcomes.append("lost")

    assert outcomes == ["lost", "lost", "heard"]
    assert lost.count == 2
    assert _count(direct) == 3


@pytest.mark.parametrize("forward", [True, False])
def test_a_text_narrows_down_which_statement_is_lost(proxy, direct, forward):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        lost = proxy.drop_commit_reply(forward=forward, tags=("INSERT",), containing="this one")
        connection.execute("insert into mark values (%s) -- elsewhere", [1])
        with pytest.raises(psycopg.OperationalError):
            connection.execute("insert into mark values (%s) -- this one", [1])

    assert lost.count == 1


def test_faults_are_taken_back(proxy, direct):
    lost = proxy.drop_commit_reply()
    proxy.delay(10_000)
    proxy.slice(1)
    proxy.cut_after(1)
    proxy.pass_through()
    with psycopg.connect(proxy.url) as connection:
        connection.execute("insert into mark values (1)")

    assert lost.count == 0
    assert _count(direct) == 1


def test_a_server_that_is_down_looks_down(postgres_server):
    with PostgresProxy(postgres_server.url) as proxy:
        postgres_server.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(proxy.url)
        postgres_server.start()
        with psycopg.connect(proxy.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "ask",
    [
        lambda proxy: proxy.delay(-1),
        lambda proxy: proxy.slice(0),
        lambda proxy: proxy.cut_after(0),
        lambda proxy: proxy.drop_commit_reply(times=0),
    ],
)
def test_faults_that_make_no_sense_are_refused(proxy, ask):
    with pytest.raises(InvalidValue, match="must be"):
        ask(proxy)


def test_nothing_is_left_when_it_ends(postgres_url):
    threads = set(threading.enumerate())
    with PostgresProxy(postgres_url) as proxy:
        connection = psycopg.connect(proxy.url)
        proxy.black_hole()

    with pytest.raises(psycopg.OperationalError):
        connection.execute("select 1")
    connection.close()
    assert set(threading.enumerate()) == threads
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(proxy.url)


def test_a_client_that_arrives_as_it_ends_leaves_no_open_socket(postgres_url):
    for _ in range(20):
        with PostgresProxy(postgres_url) as proxy, contextlib.ExitStack() as clients:
            for _ in range(5):
                clients.enter_context(socket.create_connection(("127.0.0.1", proxy.port)))

    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        gc.collect()
    assert [str(warning.message) for warning in left] == []
