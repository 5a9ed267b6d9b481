"""What a listener of PostgreSQL holds, and that it gives it back."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from holdfast.store.contract import Listener, Store


@pytest.fixture
def listener(postgres_url: str, open_store: Callable[[str], Store]) -> Listener:
    made = open_store(postgres_url).listen()
    assert made.wait(10.0)  # a new connection counts as an announcement
    return made


def listening(url: str) -> int:
    with psycopg.connect(url) as connection:
        [count] = connection.execute(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and query like 'listen %'"
        ).fetchone()
    return count


def gone(url: str) -> bool:
    return any(listening(url) == 0 for _ in range(1_000))


def test_closed_between_two_waits_it_ends_its_session(postgres_url: str, listener: Listener):
    assert listening(postgres_url) == 1

    listener.close()

    assert gone(postgres_url)
    assert listener.wait(10.0) is False


def test_closed_in_the_middle_of_a_wait_it_ends_the_wait_and_its_session(
    postgres_url: str, listener: Listener
):
    waited = threading.Thread(target=listener.wait, args=(60.0,))
    waited.start()

    listener.close()
    waited.join(10.0)

    assert not waited.is_alive()
    assert gone(postgres_url)
