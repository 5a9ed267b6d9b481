"""In which order PostgreSQL's rows are locked, and what waits for whom."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest

from holdfast.core.job.event import Done
from holdfast.store.contract import Store
from holdfast.store.postgres.statements import SQL
from holdfast.testing.conformance.samples import claim, decided, new_job, submitted

PATIENCE_S = 20.0


@pytest.fixture
def store(postgres_url: str, open_store: Callable[[str], Store]) -> Store:
    return open_store(postgres_url)


@pytest.fixture
def beside(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of somebody else's."""
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        yield connection


def until_it_waits(beside: psycopg.Connection[Any], work: Future[Any]) -> None:
    """Wait until the session of `work` waits for a lock, or the work is done."""
    ends_s = time.monotonic() + PATIENCE_S
    question = (
        "select 1 from pg_stat_activity where datname = current_database() "
        "and wait_event_type = 'Lock'"
    )
    while beside.execute(question).fetchone() is None and not work.done():
        assert time.monotonic() < ends_s
        time.sleep(0.005)


def test_rows_are_locked_in_the_order_of_their_ids_whatever_that_of_the_outcomes(
    store: Store, postgres_url: str, beside: psycopg.Connection[Any]
) -> None:
    submitted(store, 2)
    first, second = sorted(claim(store), key=lambda job: job.id)
    decisions = [decided(second, Done("2")), decided(first, Done("1"))]

    with (
        closing(store.reserve("reporter")) as worker,  # whose statements go by their index
        closing(psycopg.connect(postgres_url)) as holder,
        ThreadPoolExecutor(1) as pool,
    ):
        holder.execute("select 1 from holdfast.job where id = %s for update", [first.id])
        applied = pool.submit(worker.apply, decisions)
        until_it_waits(beside, applied)
        free = beside.execute(
            "select 1 from holdfast.job where id = %s for update skip locked", [second.id]
        ).fetchone()
        holder.rollback()

        assert applied.result(PATIENCE_S)
    assert free == (1,)


def test_while_a_rerun_is_made_another_of_its_key_waits(
    store: Store, postgres_url: str, beside: psycopg.Connection[Any]
) -> None:
    (first,) = submitted(store, key="k")
    newer = new_job(key="k", version=3, rerun_of=first)
    older = new_job(key="k", version=2, rerun_of=first)

    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as connection:
            assert store.insert_rerun(newer, connection=connection) is None
            made = pool.submit(store.insert_rerun, older)
            until_it_waits(beside, made)
        twin = made.result(PATIENCE_S)

    assert twin is not None
    assert (twin.job_id, twin.version) == (newer.id, 3)


def test_the_clock_goes_on_inside_a_transaction(store: Store) -> None:
    with store.transaction() as connection:
        (before,) = connection.execute(SQL["read_clock"]).fetchone()
        connection.execute("select pg_sleep(0.002)")
        (afterwards,) = connection.execute(SQL["read_clock"]).fetchone()

    assert afterwards - before >= 2_000
