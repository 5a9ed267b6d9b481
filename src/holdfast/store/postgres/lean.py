"""One statement for one row, with the fewest steps between Python and libpq.

The driver's cursor adapts values, looks the statement up and makes rows, which takes longer than
the server needs to store a job. Storing one job after the other is what programs wait for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Final

from psycopg import errors as pg_errors
from psycopg.generators import execute, send
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.statements import text

_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)s")
LOOK_NS: Final = 500_000
"""How long an answer is looked for before the thread sleeps until it comes: on a machine with time
to spare, being woken takes longer than storing a row does."""
MISSES: Final = 3
"""After how many answers in a row that did not come so soon the server counts as busy or far."""
ASLEEP: Final = 20
"""How many answers are then waited for asleep: looking would only be in the server's way."""
_DONE: Final = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.PIPELINE_SYNC)


def run_lean(
    connection: BoundedConnection,
    statement: str,
    values: Iterable[object],
    *,
    then: str | None = None,
) -> None:
    """Run a statement whose rows nobody reads, with values in the order of `fields_of` it.

    None of them may be `None`. Never inside a transaction of the caller's: what libpq does here
    the driver does not see. The server goes on to run the statement `then`, which takes no values,
    once this one has committed; the answer to that is left. Not through a pooler: there the
    driver runs the statement, and `then` is left out.
    """
    if connection.pooled:
        given = dict(zip(fields_of(statement), values, strict=True))
        connection.execute(text(statement), given)
        return
    encoded = list(map(str.encode, map(str, values)))
    try:
        _run_once(connection, statement, encoded, then)
    except pg_errors.InvalidSqlStatementName:
        # After a rollback the driver has the server forget all statements, also those it never saw.
        connection.prepared.clear()
        if connection.collected():
            _run_once(connection, statement, encoded, then)


def fields_of(statement: str) -> tuple[str, ...]:
    """Return the names of a statement's values, in the order in which they are sent."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text(statement))))


def _run_once(
    connection: BoundedConnection, statement: str, encoded: list[bytes], then: str | None
) -> None:
    pgconn = connection.pgconn
    name = connection.prepared.get(statement) or _prepared(connection, statement)
    if then is not None:
        next_name = connection.prepared.get(then) or _prepared(connection, then)
        connection.answer_left = True
        pgconn.enter_pipeline_mode()
        pgconn.send_query_prepared(name, encoded)
        pgconn.pipeline_sync()
        pgconn.send_query_prepared(next_name, None)
        pgconn.pipeline_sync()
        if pgconn.flush():
            connection.wait(send(pgconn))
        _check(_answer(connection))
        return
    pgconn.send_query_prepared(name, encoded)
    if pgconn.flush():
        # More than the socket takes at once: the driver knows how to write and read in turns.
        _check(connection.wait(execute(pgconn)))
    else:
        _check(_answer(connection))


def _prepared(connection: BoundedConnection, statement: str) -> bytes:
    """Have the server prepare a statement, and return what it calls it."""
    name = f"holdfast_{statement}".encode()
    connection.pgconn.send_prepare(name, _numbered(statement))
    _check(connection.wait(execute(connection.pgconn)))
    connection.prepared[statement] = name
    return name


def _answer(connection: BoundedConnection) -> list[PGresult]:
    """Read what the server makes of a statement that has gone out whole."""
    pgconn = connection.pgconn
    timeout_s = connection.answer_timeout_s
    results: list[PGresult] = []
    looks_until_ns = 0 if connection.asleep else time.perf_counter_ns() + LOOK_NS
    connection.asleep = max(connection.asleep - 1, 0)
    while True:
        # Before every result, the last one too: libpq itself would wait for it without a limit.
        while pgconn.is_busy():
            if looks_until_ns:
                pgconn.consume_input()
                if time.perf_counter_ns() > looks_until_ns:
                    looks_until_ns = 0
                    connection.misses += 1
                continue
            if not connection.answers.poll(None if timeout_s is None else timeout_s * 1000):
                connection.give_up(timeout_s or 0)
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is not None:
            results.append(result)
        if connection.is_end(result):
            break
    if looks_until_ns:
        connection.misses = 0
    elif connection.misses == MISSES:
        connection.misses, connection.asleep = 0, ASLEEP
    return results


def _check(results: list[PGresult]) -> None:
    """Raise what the server found wrong, or that it was lost before it said anything."""
    if not results:
        raise pg_errors.OperationalError("the connection is lost")
    for result in results:
        if result.status not in _DONE:
            raise pg_errors.error_from_result(result)


def _numbered(statement: str) -> bytes:
    """Return the text of a statement with numbers in place of names."""
    fields = fields_of(statement)
    query = _PLACEHOLDER.sub(lambda found: f"${fields.index(found[1]) + 1}", text(statement))
    return query.encode()
