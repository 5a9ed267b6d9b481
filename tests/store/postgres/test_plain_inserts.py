"""How the answer to a plain insert is waited for: awake for a moment, then asleep."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.inserts import insert_plain
from holdfast.store.postgres.lean import ASLEEP, MISSES
from holdfast.testing.conformance.samples import new_job

HELD_S = 0.3


@pytest.fixture
def connection(postgres_url: str) -> Iterator[BoundedConnection]:
    with BoundedConnection.connect(postgres_url, autocommit=True) as connection:
        yield connection


@contextmanager
def nobody_may_insert(url: str, *, held_s: float) -> Iterator[None]:
    with psycopg.connect(url) as other:
        other.execute("lock table holdfast.job in share mode")
        release = threading.Timer(held_s, other.rollback)
        release.start()
        yield
        release.join()


def test_an_answer_that_takes_long_is_waited_for_asleep(connection, postgres_url):
    # What is not prepared yet waits for the lock while it is being prepared.
    insert_plain(connection, [new_job()])
    connection.asleep, connection.misses = 0, MISSES - 1
    with nobody_may_insert(postgres_url, held_s=HELD_S):
        busy_s = time.thread_time()
        insert_plain(connection, [new_job()])
        busy_s = time.thread_time() - busy_s

    assert busy_s < HELD_S / 5
    assert (connection.asleep, connection.misses) == (ASLEEP, 0)
    for _ in range(3):
        insert_plain(connection, [new_job()])
    assert connection.asleep == ASLEEP - 3


def test_a_single_answer_that_takes_long_changes_nothing_for_the_next(connection, postgres_url):
    insert_plain(connection, [new_job()])
    connection.asleep = connection.misses = 0
    with nobody_may_insert(postgres_url, held_s=HELD_S):
        insert_plain(connection, [new_job()])

    assert (connection.asleep, connection.misses) == (0, 1)


def test_an_answer_that_never_comes_is_given_up(connection, postgres_url):
    insert_plain(connection, [new_job()])
    connection.answer_timeout_s = 0.1
    with (
        nobody_may_insert(postgres_url, held_s=HELD_S),
        pytest.raises(psycopg.OperationalError, match=r"no answer for 0\.1 s"),
    ):
        insert_plain(connection, [new_job()])
    assert connection.closed


def test_a_job_is_stored_after_a_rollback_made_the_server_forget_its_statements(connection):
    insert_plain(connection, [new_job()])
    for _ in range(7):  # as often as the driver takes to prepare a statement of its own
        connection.execute("select %s::text", ["x"])
    with connection.transaction(force_rollback=True):
        connection.execute("select %s::text", ["x"])
    connection.execute("select 1")

    insert_plain(connection, [new_job()])

    assert connection.execute("select count(*) from holdfast.job").fetchone() == (2,)
