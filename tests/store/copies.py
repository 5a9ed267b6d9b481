"""Very many rows, made by the database itself: copies of a few that the engine wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import NamedTuple

import psycopg

CHUNK = 1_000_000
"""So many rows are made in one transaction."""
TABLES = {"job": "uuid", "dead_letter": "text", "delivery": "text", "outbox": "text"}
"""The tables that are filled, and what PostgreSQL takes for their ids."""


class Copies(NamedTuple):
    """So many copies of a row, one a millisecond, with ids of their own time."""

    table: str
    source: str
    times: int
    from_ms: int
    differing: dict[str, str]
    """What is not as in the source: `n` is the number of the copy, `at` its time."""


def copy(url: str, wanted: Copies) -> None:
    """Store the copies; `n` runs from 1."""
    dialect = _Sqlite(url) if url.startswith("sqlite") else _Postgres(url)
    with closing(dialect):
        own = {"id", "position"}
        names = [name for name in dialect.columns(wanted.table) if name not in own]
        values = [f"({wanted.differing.get(name, f'row.{name}')})" for name in names]
        for first in range(1, wanted.times + 1, CHUNK):
            last = min(first + CHUNK - 1, wanted.times)
            dialect.run(
                f"insert into {dialect.name(wanted.table)} (id, {', '.join(names)})"
                f" select {dialect.new_id(wanted.table)}, {', '.join(values)}"
                f" from (select n, ms, ms * 1000 as at from (select n, n + {wanted.from_ms} as ms"
                f" from {dialect.numbers(first, last)}) as counted) as numbers"
                f" cross join {dialect.name(wanted.table)} as row"
                f" where row.id = '{wanted.source}'"
            )


def settle(url: str) -> None:
    """Let the database take note of what was stored, as it does by itself in time."""
    if url.startswith("sqlite"):
        return
    with closing(_Postgres(url)) as postgres:
        postgres.run("vacuum (analyze)")


class _Sqlite:
    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(
            url.removeprefix("sqlite:///"), timeout=60, isolation_level=None
        )
        self.run("pragma synchronous = off")
        self.run("pragma cache_size = -200000")

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def columns(self, table: str) -> list[str]:
        found = self._connection.execute(
            f"select name from pragma_table_info('{self.name(table)}')"
        )
        return [name for (name,) in found]

    def name(self, table: str) -> str:
        return f"holdfast_{table}"

    def new_id(self, table: str) -> str:
        del table
        return "printf('%08x-%04x-7000-8000-%012x', ms >> 16, ms & 65535, n)"

    def numbers(self, first: int, last: int) -> str:
        return (
            f"(with recursive c(n) as (select {first} union all select n + 1 from c"
            f" where n < {last}) select n from c)"
        )

    def close(self) -> None:
        self._connection.close()


class _Postgres:
    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def columns(self, table: str) -> list[str]:
        found = self._connection.execute(
            "select column_name from information_schema.columns"
            f" where table_schema = 'holdfast' and table_name = '{table}'"
        )
        return [name for (name,) in found]

    def name(self, table: str) -> str:
        return f"holdfast.{table}"

    def new_id(self, table: str) -> str:
        digits = "lpad(to_hex(ms), 12, '0')"
        parts = f"left({digits}, 8) || '-' || right({digits}, 4)"
        return f"({parts} || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::{TABLES[table]}"

    def numbers(self, first: int, last: int) -> str:
        return f"generate_series({first}::bigint, {last}) as numbers (n)"

    def close(self) -> None:
        self._connection.close()
