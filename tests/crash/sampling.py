"""Which cases run in every test run, and which only in the slow one."""

from collections.abc import Collection, Iterable

import pytest

from holdfast.runtime.kernel.failpoint import OF_CONSUMERS, POINTS

_OF_JOBS = ("claim", "run", "apply", "announce", "renew", "sweep", "purge")
JOB_POINTS = tuple(point for point in POINTS if point.startswith(_OF_JOBS))
"""Those that a worker reaches which has nothing to deliver and nothing to publish."""

RELAY_POINTS = tuple(point for point in POINTS if point.startswith(("publish", "outbox")))
"""Those that a relay reaches, and no worker."""

WORKER_POINTS = tuple(point for point in POINTS if point not in {*RELAY_POINTS, *OF_CONSUMERS})
"""Those that a worker reaches which has everything to do."""


def slow(*values: object) -> pytest.ParameterSet:
    """A case for the slow run only."""
    return pytest.param(*values, marks=pytest.mark.slow)


def on_both_databases(
    cases: Iterable[object],
    *,
    quick: Collection[object] | None = None,
    quick_on_sqlite: Collection[object] = (),
) -> list[pytest.ParameterSet]:
    """Each case on both databases, for `parametrize(…, indirect=["database_url"])`.

    A case is one value or a tuple of them, and its first value names it. In every run are those of
    `quick` on PostgreSQL, which is all of them unless given, and those of `quick_on_sqlite`.
    """
    made = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        in_every_run = {
            "postgres": quick is None or values[0] in quick,
            "sqlite": values[0] in quick_on_sqlite,
        }
        for database, is_quick in in_every_run.items():
            marks = [] if is_quick else [pytest.mark.slow]
            made.append(pytest.param(database, *values, id=f"{database}-{values[0]}", marks=marks))
    return made
