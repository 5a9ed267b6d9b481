"""Submissions that were graded long ago, as the tables of main and grader keep them."""

import psycopg

COLUMNS = """
select column_name from information_schema.columns
 where table_schema = 'holdfast' and table_name = 'job' order by ordinal_position
"""
ID = "('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
OLD = {
    "id": ID,
    "owner": "'old-' || n % 1000",
    "key": "'old-' || n",
    "state": "'complete'",
    "revision": "3",
    "finished_at": "created_at",
    "deadline_at": "created_at",
    "result": "'{}'",
}
PROGRESS = """
insert into grading.progress (submission_id, run, event_id, event_at_us, rank, step, progress,
                              message)
select id::text, 1, id::text, created_at, 3, 'scoring', 1, '' from holdfast.job
 where state = 'complete'
"""
SCORES = """
insert into grading.score (submission_id, owner, skill, overall, usd, completed_at_us)
select id::text, owner, 'writing', 6.5, 0, created_at from holdfast.job where state = 'complete'
"""


def fill(url: str, count: int) -> None:
    """Add so many completed submissions; one that is there already is what they look like."""
    with psycopg.connect(url, autocommit=True) as connection:
        names = [name for (name,) in connection.execute(COLUMNS)]
        values = ", ".join(OLD.get(name, f"job.{name}") for name in names)
        connection.execute(
            f"insert into holdfast.job ({', '.join(names)}) select {values}"
            " from (select * from holdfast.job where pipeline = 'submission' limit 1) job,"
            f" generate_series(1, {count}) n"
        )
        connection.execute(PROGRESS)
        connection.execute(SCORES)
