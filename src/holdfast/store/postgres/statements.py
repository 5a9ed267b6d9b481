"""The statements of PostgreSQL, and how one is run."""

from __future__ import annotations

from typing import Any, Final, LiteralString, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from holdfast.errors import UsageError
from holdfast.store.postgres.connection import Connection
from holdfast.store.postgres.rows import JOB_COLUMNS
from holdfast.store.statements.sqlfiles import SqlFiles
from holdfast.store.tables.dead_letters import LETTER_COLUMNS
from holdfast.store.tables.deliveries import DELIVERY_COLUMNS
from holdfast.store.tables.outbox import OUTBOX_COLUMNS

# Which messages a relay publishes, by their types; without a list every type is among them.
_OUTBOX_TYPES: Final = (
    "(%(types)s::json is null"
    " or message_type in (select json_array_elements_text(%(types)s::json))) "
    "and (%(without_types)s::json is null"
    " or message_type not in (select json_array_elements_text(%(without_types)s::json)))"
)

SQL: Final = SqlFiles(
    __package__ or "",
    {
        "job_columns": JOB_COLUMNS,
        "letter_columns": LETTER_COLUMNS,
        "outbox_columns": OUTBOX_COLUMNS,
        "outbox_types": _OUTBOX_TYPES,
        "delivery_columns": DELIVERY_COLUMNS,
    },
)


def borrowed(connection: object) -> Connection:
    """Return the caller's own connection, which must be psycopg's."""
    if not isinstance(connection, psycopg.Connection):
        raise UsageError(
            f"connection is a {type(connection).__name__}; a PostgreSQL store needs the "
            "psycopg.Connection of the transaction that the jobs belong to"
        )
    if connection.autocommit and connection.info.transaction_status is TransactionStatus.IDLE:
        raise UsageError(
            "connection has no transaction open, so nothing would hold the jobs together with "
            "your own rows; wrap them in `with connection.transaction():`"
        )
    return connection


def text(statement: str) -> LiteralString:
    """Return the text of a statement."""
    # Statements are files of this package, never built from values.
    return cast("LiteralString", SQL[statement])  # type: ignore[redundant-cast]


def fetch(
    connection: Connection, statement: str, values: dict[str, Any], *, prepare: bool | None = None
) -> list[tuple[Any, ...]]:
    """Run a statement; with `prepare=False` it is planned anew for these very values."""
    cursor = connection.cursor(binary=True, row_factory=tuple_row)
    return cursor.execute(text(statement), values, prepare=prepare).fetchall()
