"""sqlite3, by result code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.classify.facts.http import read
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import (
    BUG,
    CONFLICT,
    CONFLICT_FINAL,
    INVALID,
    IO_CORRUPT,
    IO_RETRY,
    TIMEOUT_UNSENT,
)
from holdfast.core.values.instant import Instant

_WRONG_STATEMENT: Final = replace(BUG, outcome_known=True)
_PRIMARY: Final = 0xFF
"""The low byte of an extended result code."""

_BY_EXTENDED_CODE: Final[Mapping[int, Verdict]] = {
    1555: CONFLICT_FINAL,  # CONSTRAINT_PRIMARYKEY
    2067: CONFLICT_FINAL,  # CONSTRAINT_UNIQUE
    2579: CONFLICT_FINAL,  # CONSTRAINT_ROWID
}
_BY_CODE: Final[Mapping[int, Verdict]] = {
    5: CONFLICT,  # BUSY, also BUSY_SNAPSHOT: the whole transaction again
    6: CONFLICT,  # LOCKED
    7: IO_RETRY,  # NOMEM
    8: IO_RETRY,  # READONLY
    9: replace(TIMEOUT_UNSENT, blames_upstream=False),  # INTERRUPT
    10: IO_RETRY,  # IOERR
    11: IO_CORRUPT,  # CORRUPT
    13: IO_RETRY,  # FULL
    14: IO_RETRY,  # CANTOPEN
    17: CONFLICT,  # SCHEMA
    18: INVALID,  # TOOBIG
    19: INVALID,  # CONSTRAINT
    20: INVALID,  # MISMATCH
    26: IO_CORRUPT,  # NOTADB
}


def _verdict_of_error(error: BaseException, _now: Instant) -> Verdict:
    code = read(error, ("sqlite_errorcode",))
    if type(code) is not int:
        return _WRONG_STATEMENT
    found = _BY_EXTENDED_CODE.get(code) or _BY_CODE.get(code & _PRIMARY)
    return found or _WRONG_STATEMENT


SQLITE: Final[tuple[Rule, ...]] = (Rule("sqlite3.Error", _verdict_of_error),)
