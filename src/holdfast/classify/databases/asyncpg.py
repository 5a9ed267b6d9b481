"""asyncpg, by SQLSTATE; what its client side refuses is an `InterfaceError` without one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from holdfast.classify.databases.sqlstate import verdict_of_sqlstate
from holdfast.classify.facts.http import read
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import MISCONFIGURED, NETWORK
from holdfast.core.values.instant import Instant


def _verdict_of_error(error: BaseException, _now: Instant) -> Verdict | None:
    sqlstate = read(error, ("sqlstate",))
    return verdict_of_sqlstate(sqlstate) if isinstance(sqlstate, str) else None


def _verdict_of_interface(error: BaseException, _now: Instant) -> Verdict:
    """Return the same class tells of a lost connection and of one that is used wrongly."""
    return NETWORK if "closed" in str(error) else MISCONFIGURED


ASYNCPG: Final[tuple[Rule, ...]] = (
    Rule("asyncpg.PostgresError", _verdict_of_error),
    Rule("asyncpg.InterfaceError", _verdict_of_interface),
    # It loses its way when the server ends a connection that is about to be used.
    Rule("asyncpg.InternalClientError", replace(NETWORK, attempts=3)),
)
