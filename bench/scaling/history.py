"""A long history, made by a few statements: jobs that ended long ago and jobs due in the future.

The rows are those that a year of work leaves behind. Nine of ten went through the very route that
claims look at, in all four priorities; one of twenty-five failed; one of four has a key. All jobs
of the future wait on that route, half of them for a retry.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench.scaling.live import OTHER_PLAN, PLAN, QUEUE
from bench.scaling.size import Size

Progress = Callable[[str], None]

DAY_US = 86_400_000_000
PAST_US = 365 * DAY_US
FUTURE_US = 30 * DAY_US
SOON_US = DAY_US // 4
"""No future job comes due while claims are measured."""

ERROR = (
    '{"error_class":"UPSTREAM_5XX","message":"503 from https://letters.example/send",'
    '"category":"TRANSIENT","retryable":true,"severity":"ERROR","outcome_known":true,'
    '"http_status":503,"retry_after_us":null,"attempts":null,'
    '"exception_type":"httpx.HTTPStatusError","stack":"File send.py, line 12, in send"}'
)


PRIORITY = "case when n % 8 < 4 then n % 4 else 1 end"
OWNER = "'customer-' || n % 1000"
KEY = "case when n % 4 = 0 then 'order-' || n end"
PAYLOAD = (
    """'{"n":' || n || ',"to":"somebody@example.org","subject":"Your order is on its way",'"""
    """ || '"items":[' || n % 97 || ',' || n % 89 || ',' || n % 83 || ']}'"""
)
RESULT = """'{"sent":true,"message":"m-' || n || '"}'"""
SCATTERED = "(n * 2654435761 % 281474976710656)"
"""A different number of 48 bits for every n, in no visible order."""


@dataclass(frozen=True, slots=True)
class History:
    """The rows to be made, seen from an instant."""

    now: int
    size: Size

    @property
    def finished(self) -> int:
        return self.size.finished

    @property
    def future(self) -> int:
        return self.size.future


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the two databases write differently."""

    job: str
    ledger: str
    numbers: str
    """The numbers from `{first}` to `{last}` as `series (n)`."""
    hexadecimal: str
    """`{number}` in hexadecimal, with leading zeros, in `{width}` digits."""
    id_type: str
    slice_rows: int


POSTGRES = Dialect(
    job="holdfast.job",
    ledger="holdfast.ledger",
    numbers="generate_series({first}::bigint, {last}::bigint) as series (n)",
    hexadecimal="lpad(to_hex({number}), {width}, '0')",
    id_type="uuid",
    slice_rows=500_000,
)
SQLITE = Dialect(
    job="holdfast_job",
    ledger="holdfast_ledger",
    numbers=(
        "(with recursive counted (n) as (select {first} union all"
        " select n + 1 from counted where n < {last}) select n from counted) as series"
    ),
    hexadecimal="printf('%0{width}x', {number})",
    id_type="text",
    slice_rows=100_000,
)


def fill_postgres(url: str, history: History, say: Progress) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement, done in _statements(history, POSTGRES):
            connection.execute(statement)
            say(done)
        say("vacuum (analyze)")
        connection.execute("vacuum (analyze)")
        connection.execute("checkpoint")
    # Without fsync the server leaves gigabytes to the system, which would write them meanwhile.
    say("what was written reaches the disk")
    os.sync()


def fill_sqlite(path: Path, history: History, say: Progress) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma synchronous = off")
        for statement, done in _statements(history, SQLITE):
            connection.execute(statement)
            say(done)
        connection.execute("pragma wal_checkpoint(truncate)")


def _statements(history: History, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Statements that each add a slice of the history, with what is there after it."""
    finished, future = history.finished, history.future
    for first, last in _slices(1, finished, dialect.slice_rows):
        yield _insert_finished(history, dialect, first, last), f"{last:,} finished jobs"
        if history.size.ledger:
            yield _insert_ledger(history, dialect, first, last), f"{last:,} ledger entries"
    for first, last in _slices(finished + 1, finished + future, dialect.slice_rows):
        yield _insert_future(history, dialect, first, last), f"{last - finished:,} future jobs"


def _slices(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(first, last + 1, size):
        yield start, min(start + size - 1, last)


def _insert_finished(history: History, dialect: Dialect, first: int, last: int) -> str:
    created_at = _created_at(history)
    ended_at = f"{created_at} + 1250000"
    columns = {
        "id": _id(dialect, created_at),
        "pipeline": f"case when n % 10 = 9 then '{OTHER_PLAN.pipeline}' else '{PLAN.pipeline}' end",
        "plan": f"case when n % 10 = 9 then '{OTHER_PLAN.digest}' else '{PLAN.digest}' end",
        "queue": f"'{QUEUE}'",
        "priority": PRIORITY,
        "owner": OWNER,
        "key": KEY,
        "version": "1",
        "payload": PAYLOAD,
        "fingerprint": f"case when n % 4 = 0 then {_fingerprint(dialect)} end",
        "trace": "case when n % 2 = 0 then 'trace-' || n end",
        "created_at": created_at,
        "state": _by_outcome("'failed'", "'cancelled'", "'complete'"),
        "stage": "'send'",
        "attempt": _by_outcome("5", "1", "1"),
        "token": _by_outcome("5", "1", "1"),
        "revision": _by_outcome("10", "2", "2"),
        "run_at": created_at,
        "deadline_at": f"case when n % 5 = 0 then {created_at} + 3600000000 end",
        "started_at": f"{created_at} + 250000",
        "attempt_at": f"{created_at} + 250000",
        "finished_at": ended_at,
        "updated_at": ended_at,
        "result": _by_outcome("null", "null", RESULT),
        "error": _by_outcome(f"'{ERROR}'", "null", "null"),
        "error_class": _by_outcome("'UPSTREAM_5XX'", "null", "null"),
    }
    return _insert(dialect.job, columns, dialect.numbers.format(first=first, last=last))


def _insert_ledger(history: History, dialect: Dialect, first: int, last: int) -> str:
    created_at = _created_at(history)
    columns = {
        "job_id": _id(dialect, created_at),
        "revision": _by_outcome("10", "2", "2"),
        "kind": _by_outcome("'failed'", "'cancelled'", "'completed'"),
        "at": f"{created_at} + 1250000",
        "state": _by_outcome("'failed'", "'cancelled'", "'complete'"),
        "stage": "'send'",
        "attempt": _by_outcome("5", "1", "1"),
        "holder": "'machine-1234-' || n % 10",
        "started_at": f"{created_at} + 250000",
        "error_class": _by_outcome("'UPSTREAM_5XX'", "null", "null"),
        "detail": _by_outcome("""'{"message":"503"}'""", """'{"by":"customer"}'""", "null"),
    }
    return _insert(dialect.ledger, columns, dialect.numbers.format(first=first, last=last))


def _insert_future(history: History, dialect: Dialect, first: int, last: int) -> str:
    created_at = str(history.now - 600_000_000)
    step_us = FUTURE_US // max(1, history.future)
    tried_at = f"case when n % 2 = 1 then {created_at} + 250000 end"
    columns = {
        "id": _id(dialect, created_at),
        "pipeline": f"'{PLAN.pipeline}'",
        "plan": f"'{PLAN.digest}'",
        "queue": f"'{QUEUE}'",
        "priority": PRIORITY,
        "owner": OWNER,
        "key": KEY,
        "version": "1",
        "payload": PAYLOAD,
        "created_at": created_at,
        "stage": "'send'",
        "attempt": "n % 2",
        "token": "n % 2",
        "revision": "2 * (n % 2)",
        "run_at": f"{history.now + SOON_US} + (n - {history.finished}) * {step_us}",
        "started_at": tried_at,
        "attempt_at": tried_at,
        "updated_at": created_at,
    }
    return _insert(dialect.job, columns, dialect.numbers.format(first=first, last=last))


def _insert(table: str, columns: dict[str, str], numbers: str) -> str:
    return (
        f"insert into {table} ({', '.join(columns)})\n"
        f"select {', '.join(columns.values())}\n"
        f"from {numbers}"
    )


def _by_outcome(failed: str, cancelled: str, complete: str) -> str:
    """How a finished job ended, by its number."""
    return (
        f"case when n % 25 = 0 then {failed} when n % 100 = 1 then {cancelled} else {complete} end"
    )


def _created_at(history: History) -> str:
    step_us = PAST_US // max(1, history.finished)
    return f"({history.now - PAST_US} + n * {step_us})"


def _id(dialect: Dialect, created_at: str) -> str:
    """A UUID of version 7, as the time of creation and the number make it."""
    millisecond = dialect.hexadecimal.format(number=f"{created_at} / 1000", width=12)
    fraction = dialect.hexadecimal.format(number="n % 4096", width=3)
    tail = dialect.hexadecimal.format(number=SCATTERED, width=12)
    return (
        f"cast(substr({millisecond}, 1, 8) || '-' || substr({millisecond}, 9, 4) || '-7'"
        f" || {fraction} || '-8' || {fraction} || '-' || {tail} as {dialect.id_type})"
    )


def _fingerprint(dialect: Dialect) -> str:
    digits = dialect.hexadecimal.format(number=SCATTERED, width=16)
    return " || ".join([digits] * 4)
