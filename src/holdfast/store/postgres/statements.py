"""The statements of PostgreSQL, and how one is run."""

from __future__ import annotations

from typing import Any, Final, LiteralString, TypeAlias, cast

import psycopg
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row

from holdfast.errors import UsageError
from holdfast.store.awaited.postgres import AwaitedPostgres
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


AnyConnection: TypeAlias = Connection | AwaitedPostgres


def borrowed(connection: object) -> AnyConnection:
    """Return the caller's own connection, which must be in a transaction."""
    if not isinstance(connection, AwaitedPostgres):
        return blocking(connection)
    if not connection.in_transaction:
        raise _no_transaction()
    return connection


def blocking(connection: object) -> Connection:
    """Return the caller's own connection, which must be psycopg's."""
    if not isinstance(connection, psycopg.Connection):
        kind = type(connection)
        raise UsageError(
            f"connection is a {kind.__name__} of {kind.__module__}; a PostgreSQL store needs the "
            "connection of the transaction that the jobs belong to: of psycopg 3, of SQLAlchemy on "
            "it (postgresql+psycopg://), or the alias of Django's"
        )
    if connection.autocommit and connection.info.transaction_status is TransactionStatus.IDLE:
        raise _no_transaction()
    return connection


def _no_transaction() -> UsageError:
    return UsageError(
        "connection has no transaction open and commits each statement by itself, so nothing would "
        "hold the jobs together with your own rows; wrap them in "
        "`with connection.transaction():`, or leave AUTOCOMMIT out where SQLAlchemy opened it"
    )


def text(statement: str) -> LiteralString:
    """Return the text of a statement."""
    # Statements are files of this package, never built from values.
    return cast("LiteralString", SQL[statement])  # type: ignore[redundant-cast]


def fetch(
    connection: AnyConnection,
    statement: str,
    values: dict[str, Any],
    *,
    prepare: bool | None = None,
) -> list[tuple[Any, ...]]:
    """Run a statement; with `prepare=False` it is planned anew for these very values."""
    if isinstance(connection, AwaitedPostgres):
        return connection.run(text(statement), values).rows
    # Not of the class that the caller chose, which may bind or return values in other ways.
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    cursor.format = Format.BINARY
    return cursor.execute(text(statement), values, prepare=prepare).fetchall()


def changed(connection: AnyConnection, statement: str, values: dict[str, Any]) -> int:
    """Run a statement, and return how many rows it changed."""
    if isinstance(connection, AwaitedPostgres):
        return connection.run(text(statement), values).changed
    return psycopg.Cursor(connection).execute(text(statement), values).rowcount
