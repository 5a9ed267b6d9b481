"""What SQLite's error codes mean to the caller."""

from __future__ import annotations

import sqlite3
from typing import Final

from holdfast.errors import HoldfastError, SchemaMissing, StoreCorrupt, StoreUnavailable

_PRIMARY: Final = 0xFF
_PASSING: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_OUT_OF_REACH: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_NOLFS,
    }
)


def is_passing(error: sqlite3.Error) -> bool:
    """Return whether the whole unit may simply be run again: another connection was in the way."""
    return _primary(error) in _PASSING


def named(error: sqlite3.Error, *, url: str) -> HoldfastError | None:
    """Return the error to raise instead, or None when the statement itself is at fault."""
    code = _primary(error)
    reason = f"{error} ({getattr(error, 'sqlite_errorname', 'no error code')})"
    if code in _DAMAGED:
        return StoreCorrupt(url, reason=reason)
    if code in _OUT_OF_REACH:
        return StoreUnavailable(url, reason=reason)
    if str(error).startswith("no such table: holdfast_"):
        return SchemaMissing(url)
    return None


def _primary(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & _PRIMARY
