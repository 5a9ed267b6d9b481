"""Statements of systems on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from holdfast.errors import ConstraintViolated, StatementRefused, StoreUnavailable
from holdfast.store.postgres.connection import RETRIED_AT_ONCE, Connection
from holdfast.store.postgres.endpoint import first_line
from holdfast.store.schema.system_sql import Ran, Value, statement


def run_statement(
    connection: Connection, text: str, values: Mapping[str, Value], *, systems: Collection[str]
) -> Ran:
    """Run a statement and return its rows with values as SQLite would return them.

    Errors that mean an outage are left to the caller, who knows where the server is.
    """
    prepared = statement(text, systems=systems)
    given = prepared.checked(values)
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    try:
        found = cursor.execute(prepared.postgres.encode(), given)
        columns = [column.name for column in found.description or ()]
        rows = [
            dict(zip(columns, (_plain(value) for value in row), strict=True))
            for row in (found if columns else ())
        ]
    except psycopg.IntegrityError as error:
        raise ConstraintViolated(reason=first_line(error)) from error
    except RETRIED_AT_ONCE as error:
        raise StoreUnavailable("the database", reason=first_line(error)) from error
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError) as error:
        raise StatementRefused(reason=first_line(error)) from error
    selected = (found.statusmessage or "").startswith("SELECT")
    return Ran(rows, 0 if selected else max(found.rowcount, 0))


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    """Return a sum or average as a plain number."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
