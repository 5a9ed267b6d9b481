"""What PostgreSQL says about a claim and about the tables it is made on."""

from typing import Any

import psycopg

from bench.scaling.live import LEASE_US, ROUTES, WORKER
from holdfast.core.job.job import MAX_URGENT
from holdfast.store.postgres.lanes import Lanes
from holdfast.store.statements.sqlfiles import SqlFiles

CLAIM = SqlFiles("holdfast.store.postgres")["claim"]

SIZES = """
select pg_size_pretty(pg_total_relation_size('holdfast.job')) as job_table_with_indexes,
       pg_size_pretty(pg_relation_size('holdfast.job_due')) as index_of_due_jobs,
       pg_size_pretty(pg_relation_size('holdfast.job_pkey')) as index_of_ids,
       n_live_tup as rows, n_dead_tup as dead_rows, autovacuum_count as autovacuums
  from pg_stat_user_tables
 where relid = 'holdfast.job'::regclass
"""


def plan_of_claim(url: str, *, limit: int, now: int) -> list[str]:
    """The plan of a claim as it was carried out, and then taken back."""
    values = {
        **Lanes(spares=False).values(ROUTES, limit=limit, first=MAX_URGENT),
        "limit": limit,
        "holder": WORKER,
        "now": now,
        "lease_until": now + LEASE_US,
    }
    with psycopg.connect(url, options="-c jit=off") as connection:
        rows = connection.execute(f"explain (analyze, buffers) {CLAIM}", values).fetchall()
        connection.rollback()
    return [row[0] for row in rows]


def facts_of(url: str) -> dict[str, Any]:
    """How big the table of jobs is, and how much of it is waste."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(SIZES).fetchone()
