"""Reads that end after a while; SQLite knows no limit of its own."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast.errors import ReadTooSlow
from holdfast.store.statements.statement_timeout import longest_read_s

STEPS_BETWEEN_LOOKS: Final = 20_000
"""Of SQLite's virtual machine: about a millisecond."""


@contextmanager
def bounded(connection: sqlite3.Connection) -> Iterator[None]:
    """Break off what is read on `connection` once it takes longer than `longest_read_s`."""
    limit_s = longest_read_s()
    if limit_s is None:
        yield
        return
    ends_at = time.monotonic() + limit_s
    connection.set_progress_handler(lambda: time.monotonic() > ends_at, STEPS_BETWEEN_LOOKS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise ReadTooSlow(limit_s=limit_s) from error
        raise
    finally:
        connection.set_progress_handler(None, 0)
