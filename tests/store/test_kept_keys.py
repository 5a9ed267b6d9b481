"""PostgreSQL: a key is taken by its job or by what is kept of it, whichever commits first."""

import json
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

from holdfast.store.contract import ExistingJob, NewJob, Store
from holdfast.store.postgres.rows import arrays
from holdfast.store.postgres.statements import text
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.conformance.retention.samples import KEEP_S, complete, id_made_now, purged
from holdfast.testing.conformance.samples import NOW, PLAN, after, new_job


@pytest.fixture
def store(postgres_url: str, open_store: Callable[[str], Store]) -> PostgresStore:
    store = open_store(postgres_url)
    store.migrate()
    store.save_plan(PLAN, now=NOW)
    return store


FILL = """
insert into holdfast.kept_key
select '', 'letters', 'gone-' || number, 1, gen_random_uuid(), 'f', 'complete', 1, 2, 3, null
  from generate_series(1, 20000) as number
"""


class Explained(psycopg.Cursor[tuple[Any, ...]]):
    """Runs statements to see how; what they return is how."""

    def execute(self, query: Any, *args: Any, **options: Any) -> "Explained":
        return super().execute(f"explain (analyze, timing off) {query}", *args, **options)


@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize("key", ["gone", "new"])
def test_a_submission_looks_its_key_up_and_reads_nothing_else(
    store: PostgresStore, postgres_url: str, many: int, key: str
) -> None:
    store.insert([new_job(id=id_made_now()) for _ in range(2_000)])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(FILL)
        connection.execute("analyze holdfast.kept_key, holdfast.job")
    jobs = [again(f"{key}-{number}") for number in range(1, many + 1)]
    with psycopg.connect(postgres_url, cursor_factory=Explained) as connection:
        values = {**jobs[0]._asdict(), "from_version": 0}
        columns = dict(zip(NewJob._fields, zip(*jobs, strict=True), strict=True))
        name, given = ("insert_one", values) if many == 1 else ("insert", arrays(columns))
        plan = "\n".join(row[0] for row in connection.execute(text(name), given))

    assert "kept_key_pkey" in plan
    assert "Seq Scan on kept_key" not in plan
    assert "Seq Scan on job" not in plan


def again(key: str) -> NewJob:
    return new_job(id=id_made_now(), key=key, fingerprint="f")


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "rolled back"])
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "among others"])
def test_a_submission_beside_a_removal_makes_no_second_job(
    store: PostgresStore, postgres_url: str, *, commits: bool, others: int
) -> None:
    job = complete(store, key="k", fingerprint="f")
    wanted = [again("k"), *(new_job(id=id_made_now()) for _ in range(others))]
    found: list[ExistingJob | None] = []
    submitting = threading.Thread(target=lambda: found.extend(store.insert(wanted)))
    with psycopg.connect(postgres_url) as janitor:
        values = {"rows": json.dumps([{"id": job.id}]), "removed_at": NOW}
        janitor.execute(text("keep_keys"), values)
        for statement in ("remove_checkpoints", "remove_ledger", "remove_jobs"):
            janitor.execute(text(statement), {"ids": json.dumps([job.id])})
        submitting.start()
        # Whether it waits for the removal or not is its own affair.
        submitting.join(0.3)
        if not commits:
            janitor.rollback()
    submitting.join(20)

    assert found[0] is not None
    assert found[0].job_id == job.id
    assert store.get([wanted[0].id]) == {}
    assert found[1:] == [None] * others


def test_a_transaction_that_began_before_the_removal_finds_the_job(
    store: PostgresStore, postgres_url: str
) -> None:
    job = complete(store, key="k", fingerprint="f")
    with psycopg.connect(postgres_url) as caller:
        caller.isolation_level = IsolationLevel.REPEATABLE_READ
        caller.execute("select count(*) from holdfast.job")
        assert purged(store, now=after(10 * KEEP_S))["jobs"] == 1
        (twin,) = store.insert([again("k")], connection=caller)

    assert twin is not None
    assert twin.job_id == job.id
    (kept,) = store.twins(owner="", pipeline="letters", key="k")
    assert kept.removed_at is not None
