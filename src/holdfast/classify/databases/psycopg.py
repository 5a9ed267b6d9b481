"""psycopg and its pool, by SQLSTATE.

A connection that cannot be made has no SQLSTATE: only its text tells a wrong password from a
server that is down, so that it counts as network.
"""

from __future__ import annotations

from typing import Final

from holdfast.classify.databases.sqlstate import verdict_of_sqlstate
from holdfast.classify.facts.http import read
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import MISCONFIGURED, NETWORK, SATURATED, TIMEOUT_UNSENT
from holdfast.core.values.instant import Instant


def _verdict_of_error(error: BaseException, _now: Instant) -> Verdict | None:
    sqlstate = read(error, ("sqlstate",))
    return verdict_of_sqlstate(sqlstate) if isinstance(sqlstate, str) else None


PSYCOPG: Final[tuple[Rule, ...]] = (
    # The pool is ours: that it is empty says nothing about the database.
    Rule(named("psycopg_pool", "PoolTimeout TooManyRequests"), SATURATED),
    Rule("psycopg.Error", _verdict_of_error),
    Rule("psycopg.ConnectionTimeout", TIMEOUT_UNSENT),
    Rule("psycopg.OperationalError", NETWORK),
    Rule("psycopg.Error", MISCONFIGURED),
)
