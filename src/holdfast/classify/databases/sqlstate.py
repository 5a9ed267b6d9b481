"""What a PostgreSQL error says by its SQLSTATE, whichever driver carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.classify.rule import Verdict
from holdfast.classify.verdicts import (
    AUTH,
    BUG,
    CONFLICT,
    CONFLICT_FINAL,
    INVALID,
    IO_CORRUPT,
    IO_RETRY,
    NETWORK,
    TIMEOUT_UNSENT,
    UNSENT,
    UPSTREAM,
)

# The server rolled the transaction back, so that nothing is in doubt.
_ROLLED_BACK_IN_TIME: Final = replace(TIMEOUT_UNSENT, blames_upstream=False)
_SERVER_SHORT: Final = replace(IO_RETRY, blames_upstream=True)
_WRONG_STATEMENT: Final = replace(BUG, outcome_known=True)

_BY_STATE: Final[Mapping[str, Verdict]] = {
    "23505": CONFLICT_FINAL,
    "25006": UNSENT,  # read-only: a failover is under way, and the primary is elsewhere
    "40001": CONFLICT,
    "40003": NETWORK,
    "40P01": CONFLICT,
    "42501": AUTH,
    "55006": CONFLICT,
    "55P03": _ROLLED_BACK_IN_TIME,
    "57014": _ROLLED_BACK_IN_TIME,
    "57P01": NETWORK,
    "57P02": NETWORK,
    "57P03": UNSENT,
    "57P05": NETWORK,
    "XX001": IO_CORRUPT,
    "XX002": IO_CORRUPT,
}
_BY_CLASS: Final[Mapping[str, Verdict]] = {
    "08": NETWORK,
    "22": INVALID,
    "23": INVALID,
    "28": AUTH,
    "40": CONFLICT,
    "53": _SERVER_SHORT,
    "54": INVALID,
    "58": _SERVER_SHORT,
    "P0": INVALID,
    "XX": replace(UPSTREAM, attempts=3),
}


def verdict_of_sqlstate(sqlstate: str) -> Verdict:
    """What the state says; one that is in no row is a statement that cannot succeed."""
    found = _BY_STATE.get(sqlstate) or _BY_CLASS.get(sqlstate[:2])
    return found or _WRONG_STATEMENT
