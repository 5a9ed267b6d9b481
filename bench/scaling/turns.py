"""Claims on a long table and on an empty one, in turns, so that noise hits both alike."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench.database import Database, Place
from bench.scaling.explain import facts_of, plan_of_claim
from bench.scaling.history import History, fill_postgres, fill_sqlite
from bench.scaling.live import LiveTable
from bench.scaling.size import Size
from bench.system import OURS
from bench.targets import EMPTY_TABLE
from holdfast.engine.opening import store_of
from holdfast.store.contract import Store

Say = Callable[[str], None]
Waits = dict[tuple[int, str], list[int]]
"""Nanoseconds of every claim, by its limit and by the system of its row."""

LIMITS = (10, 500)
WARM_UP_ROUNDS = 15
TOLD_ROUNDS = 100


def time_claims(place: Place, size: Size, say: Say, *, rounds: int) -> tuple[Waits, dict[str, Any]]:
    """How long claims took, and what the databases say of themselves afterwards."""
    with place.fresh() as long, place.fresh() as empty:
        with _opened(long) as store:
            now = store.read_clock()
        _fill(long, History(now=now, size=size), say)
        with _opened(long) as long_store, _opened(empty) as empty_store:
            tables = {OURS: LiveTable(long_store), EMPTY_TABLE: LiveTable(empty_store)}
            waits = _take_turns(tables, say, rounds=rounds)
            for table in tables.values():
                table.close()
            return waits, _facts(long, empty, now=long_store.read_clock())


def _take_turns(tables: dict[str, LiveTable], say: Say, *, rounds: int) -> Waits:
    waits: Waits = {(limit, name): [] for limit in LIMITS for name in tables}
    for turn in range(-WARM_UP_ROUNDS, rounds):
        for limit in LIMITS:
            for name in tables if turn % 2 == 0 else reversed(tables):
                took_ns = tables[name].claim_ns(limit)
                if turn >= 0:
                    waits[limit, name].append(took_ns)
        if turn >= 0 and (turn + 1) % TOLD_ROUNDS == 0:
            say(f"{turn + 1:,} rounds of claims")
    return waits


@contextmanager
def _opened(database: Database) -> Iterator[Store]:
    with closing(store_of(database.url)) as store:
        store.migrate()
        yield store


def _fill(database: Database, history: History, say: Say) -> None:
    if _is_postgres(database):
        fill_postgres(database.url, history, say)
    else:
        fill_sqlite(Path(database.url.removeprefix("sqlite:///")), history, say)


def _facts(long: Database, empty: Database, *, now: int) -> dict[str, Any]:
    if not _is_postgres(long):
        return {}
    return {
        OURS: facts_of(long.url),
        EMPTY_TABLE: facts_of(empty.url),
        "plans": {
            f"claim-{limit}": plan_of_claim(long.url, limit=limit, now=now) for limit in LIMITS
        },
    }


def _is_postgres(database: Database) -> bool:
    return database.url.startswith("postgresql")
