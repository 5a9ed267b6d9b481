"""A transaction that somebody forgot: vacuum cannot pass it, and dead rows pile up."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.cli.maintenance import diagnosis
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import Instant
from holdfast.store.postgres.store import PostgresStore
from tests.crash.fleet import Fleet, eventually

pytestmark = pytest.mark.slow

MANY = 150_000
SOME = 25_000
CLAIMS = 60
ROUTE = Route("default", "noop", "only")

DIE = """
with made as (
    insert into holdfast.job (
        id, pipeline, plan, queue, priority, owner, version, payload, created_at, stage, run_at,
        updated_at)
    select gen_random_uuid(), 'noop', %(plan)s, 'default', 1, '', 1, '{}', 1, 'only', n, 1
      from generate_series(1, %(count)s) as n
)
select
"""
END = "update holdfast.job set state = 'complete', result = '1', finished_at = 1 where run_at < %s"


@contextmanager
def _forgotten_transaction(url: str) -> Iterator[None]:
    """A client that has looked at something and never let go of what it saw."""
    with psycopg.connect(url) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select count(*) from holdfast.job")
        yield
        connection.rollback()


def _pile_up(app: Holdfast, url: str, count: int) -> None:
    plan = app.pipelines["noop"].bound().plan.digest
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(DIE, {"plan": plan, "count": count})
        connection.execute(END, [count + 1])


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_claims_do_not_pay_for_the_rows_that_a_forgotten_transaction_keeps(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    fleet.submit("noop", CLAIMS + 2)
    store = PostgresStore(fleet.url).reserve("claimer")
    with _forgotten_transaction(fleet.url):
        _pile_up(fleet.app, fleet.url, MANY)
        first_s = _claim_s(store, fleet.app.clock.now())
        rest_s = [_claim_s(store, fleet.app.clock.now()) for _ in range(CLAIMS)]
        looks_s = [_look_s(store) for _ in range(20)]
    store.close()

    assert first_s > 0.02, "there were too few dead rows to show anything"
    assert statistics.median(rest_s) < first_s / 4
    assert statistics.median(looks_s) < first_s / 4


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_job_behind_those_claimed_is_found_again_before_long(postgres_fleet: Fleet) -> None:
    fleet = postgres_fleet
    fleet.submit("noop", 3)
    store = PostgresStore(fleet.url).reserve("claimer")
    with _forgotten_transaction(fleet.url):
        _pile_up(fleet.app, fleet.url, MANY)
        assert len(_claim(store, fleet.app.clock.now(), limit=2)) == 2
        assert store._lanes.dear
        # As if it had been locked when the claims went by.
        with psycopg.connect(fleet.url, autocommit=True) as connection:
            connection.execute("update holdfast.job set run_at = 1 where state = 'queued'")

        began_s = time.monotonic()
        eventually(
            lambda: _claim(store, fleet.app.clock.now(), limit=1),
            what="the job is claimed",
            within_s=30,
        )
        took_s = time.monotonic() - began_s
    store.close()
    assert took_s < 2 * store._lanes._rewind_s + 5


def test_jobs_are_run_while_a_transaction_is_forgotten(postgres_fleet: Fleet) -> None:
    fleet = postgres_fleet
    worker = fleet.start(only="steps,noop", concurrency=2)
    fleet.finished(fleet.submit("noop", 5))
    with _forgotten_transaction(fleet.url):
        _pile_up(fleet.app, fleet.url, SOME)
        fleet.finished([*fleet.submit("noop", 50), *fleet.submit("steps", 5)])
    assert worker.is_alive
    assert not worker.events("lease_lost")


def test_the_doctor_is_told_who_forgot_it_and_how_many_rows_are_dead(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    fleet.submit("noop")
    with _forgotten_transaction(fleet.url):
        _pile_up(fleet.app, fleet.url, SOME)

        def facts() -> dict[str, str]:
            found = fleet.app.store.facts()
            return found if int(found.get("dead_rows", "0")) >= SOME // 2 else {}

        found = eventually(facts, what="the dead rows are counted")
    now = Instant(int(found["oldest_transaction_at"]) + 2 * diagnosis.LONG_OPEN_US)

    findings = list(diagnosis.of_vacuum(found, now))

    assert [finding.level.value for finding in findings] == ["warn", "warn"]
    assert "a transaction is open for 10 min: pid " in findings[0].found
    assert "idle in transaction" in findings[0].found
    assert "pg_terminate_backend" in findings[0].advice
    assert "dead rows beside" in findings[1].found


def _claim(store: PostgresStore, now: Instant, *, limit: int) -> list[object]:
    return [
        *store.claim([ROUTE], limit=limit, holder=WorkerId("test"), lease_us=30_000_000, now=now)
    ]


def _claim_s(store: PostgresStore, now: Instant) -> float:
    began_s = time.perf_counter()
    assert len(_claim(store, now, limit=1)) == 1
    return time.perf_counter() - began_s


def _look_s(store: PostgresStore) -> float:
    began_s = time.perf_counter()
    store.next_due([ROUTE])
    return time.perf_counter() - began_s
