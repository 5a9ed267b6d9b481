"""How PostgreSQL's listeners are woken: after commits, seldom, and at nobody's expense."""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import holdfast
from holdfast.errors import StoreUnavailable
from holdfast.store.contract import Store
from holdfast.store.postgres import notifier
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables.outbox import OutboxFilter
from holdfast.testing.conformance.messages.outbox import message
from holdfast.testing.conformance.samples import NOW, after, new_job, submitted
from holdfast.testing.postgres.server import PrivatePostgres

SOON_S = 10.0
A_WHILE_S = 0.2
STATEMENTS = Path(holdfast.__file__).parent / "store/postgres/sql"


@pytest.fixture
def postgres_store(postgres_url: str, open_store: Callable[[str], Store]) -> Store:
    return open_store(postgres_url)


@contextmanager
def listening(url: str, channel: str = "holdfast_due") -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"listen {channel}")
        yield connection


def woken(connection: psycopg.Connection, *, within_s: float = SOON_S) -> bool:
    """Whether a notification comes in that time."""
    return any(True for _ in connection.notifies(timeout=within_s, stop_after=1))


def all_notifications(connection: psycopg.Connection) -> int:
    """How many have come, and come in the next moment."""
    return sum(1 for _ in connection.notifies(timeout=A_WHILE_S))


def test_no_statement_that_writes_notifies_anybody():
    notifying = {
        file.stem
        for file in STATEMENTS.glob("*.sql")
        if "pg_notify" in file.read_text(encoding="utf-8")
    }

    assert notifying == {"announce", "announce_due", "announce_ended", "announce_outbox"}


def test_many_submissions_make_few_notifications(postgres_store: Store, postgres_url: str):
    with listening(postgres_url) as connection:
        began_s = time.monotonic()
        for _ in range(100):
            submitted(postgres_store)
        took_s = time.monotonic() - began_s

        assert 1 <= all_notifications(connection) <= took_s / notifier.REST_S + 2


def test_jobs_of_later_wake_nobody(postgres_store: Store, postgres_url: str):
    later = [new_job(run_at=after(60)) for _ in range(2)]
    with listening(postgres_url) as connection, psycopg.connect(postgres_url) as caller:
        postgres_store.insert(later[:1])
        postgres_store.insert([job._replace(key=job.id) for job in later])
        postgres_store.insert([new_job(run_at=after(60))], connection=caller)
        caller.commit()

        assert all_notifications(connection) == 0


def test_what_a_caller_has_yet_to_commit_wakes_nobody(postgres_store: Store, postgres_url: str):
    with listening(postgres_url) as connection, psycopg.connect(postgres_url) as caller:
        postgres_store.insert([new_job()], connection=caller)
        assert not woken(connection, within_s=A_WHILE_S)

        caller.commit()
        assert woken(connection)


def test_what_a_caller_takes_back_wakes_nobody(postgres_store: Store, postgres_url: str):
    with listening(postgres_url) as connection, psycopg.connect(postgres_url) as caller:
        postgres_store.insert([new_job()], connection=caller)
        caller.rollback()

        assert not woken(connection, within_s=A_WHILE_S)


def test_many_callers_who_commit_at_once_are_one_notification(
    postgres_store: Store, postgres_url: str
):
    with listening(postgres_url) as connection:
        callers = [psycopg.connect(postgres_url) for _ in range(8)]
        for caller in callers:
            postgres_store.insert([new_job()], connection=caller)
        for caller in callers:
            caller.commit()
            caller.close()

        assert 1 <= all_notifications(connection) < len(callers)


def test_a_message_of_a_callers_transaction_wakes_relays_once_it_has_committed(
    postgres_store: Store, postgres_url: str
):
    with (
        listening(postgres_url, "holdfast_outbox") as connection,
        psycopg.connect(postgres_url) as caller,
    ):
        postgres_store.outbox.add([message()], now=NOW, connection=caller)
        assert not woken(connection, within_s=A_WHILE_S)

        caller.commit()
        assert woken(connection)
        assert len(postgres_store.outbox.find(OutboxFilter(), before=None, limit=2)) == 1


def test_what_waits_is_sent_when_the_store_is_closed(postgres_url: str):
    store = PostgresStore(postgres_url)
    with listening(postgres_url) as connection, psycopg.connect(postgres_url) as caller:
        submitted(store)
        assert woken(connection)
        store.insert([new_job()], connection=caller)
        caller.commit()
        store.close()

        assert woken(connection, within_s=A_WHILE_S)


def test_nobody_waits_for_a_connection_to_notify_with(postgres_url: str):
    store = PostgresStore(postgres_url, size=1)
    with closing(store), listening(postgres_url) as connection:
        with store.transaction():
            began_s = time.monotonic()
            store.announce_due()
            assert time.monotonic() - began_s < 1

        assert woken(connection)


def test_a_lost_connection_costs_no_wake_up(postgres_store: Store, postgres_url: str):
    submitted(postgres_store)
    with listening(postgres_url) as connection:
        all_notifications(connection)
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name = 'holdfast client'"
        )
        postgres_store.announce_due()
        time.sleep(2 * notifier.REST_S)
        submitted(postgres_store)

        assert woken(connection)


class Unreachable:
    """Connections that fail once, and note what they are asked to send."""

    def __init__(self) -> None:
        self.sent: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._down = True

    def left_with_idle(self, statement: bytes) -> bool:
        return False

    def lent_to(self, announce: Any) -> list[tuple[list[int], None]]:
        if self._down:
            self._down = False
            raise StoreUnavailable("test://", reason="down")
        self.sent.put(announce.keywords["values"]["topics"])
        return [([], None)]


def test_what_could_not_be_sent_is_sent_again():
    connections = Unreachable()
    sender = notifier.Notifier(connections)
    sender.notify("due")

    assert "due" in connections.sent.get(timeout=SOON_S)
    sender.close()


def test_a_listener_that_had_to_connect_again_listens_again(
    postgres_store: Store, postgres_url: str
):
    listener = postgres_store.listen()
    listener.wait(0)
    with psycopg.connect(postgres_url, autocommit=True) as beside:
        beside.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and query like 'listen %'"
        )
    for _ in range(3):  # what is lost, what is new, and silence
        with suppress(StoreUnavailable):
            listener.wait(A_WHILE_S)

    postgres_store.announce_due()

    assert listener.wait(SOON_S)
    listener.close()


def test_a_server_that_is_down_is_no_concern_of_whoever_notifies(postgres_server: PrivatePostgres):
    url = postgres_server.create_database("down")
    store = PostgresStore(url)
    with closing(store):
        store.migrate()
        submitted(store)
        postgres_server.stop("immediate")

        for _ in range(3):
            store.announce_due()
            time.sleep(2 * notifier.REST_S)
        postgres_server.start()
        with listening(url) as connection:
            submitted(store)

            assert woken(connection)


def test_a_thread_of_its_own_is_not_needed_by_who_submits_now_and_then(postgres_url: str):
    before = threading.active_count()
    store = PostgresStore(postgres_url)
    with closing(store):
        submitted(store)

        assert threading.active_count() == before


PROGRAM = """
import os, sys
import psycopg
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.conformance.samples import new_job

url, how = sys.argv[1:]
store = PostgresStore(url)
if how == "forks":
    before = PostgresStore(url)
    before.insert([new_job()])
    before.insert([new_job()])  # which its thread announces
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    before.announce_due()  # of another process: nothing, and no error
with psycopg.connect(url) as caller:
    store.insert([new_job()], connection=caller)
sys.stdout.write("committed")
sys.stdout.flush()
if how == "forks":
    store.close()
    os._exit(0)
"""


@pytest.mark.parametrize("how", ["ends", "forks"])
def test_a_program_that_ends_or_forks_wakes_listeners_all_the_same(postgres_url: str, how: str):
    with listening(postgres_url) as connection:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, postgres_url, how],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )

        assert (done.returncode, done.stdout, done.stderr) == (0, "committed", "")
        assert woken(connection)
