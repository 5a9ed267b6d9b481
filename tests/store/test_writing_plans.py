"""Many decisions are written in one statement, at a cost that grows with their number alone."""

from typing import Any

import psycopg
import pytest

from holdfast.core.event import Done, Interrupted
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.postgres.writes import write
from holdfast.testing.conformance.samples import after, claim, decided, new_job

MANY = 50


class Explained(psycopg.Cursor[tuple[Any, ...]]):
    """Runs statements to see how; what they return is how."""

    def execute(self, query: Any, *args: Any, **options: Any) -> "Explained":
        return super().execute(f"explain (analyze, timing off) {query}", *args, **options)


@pytest.mark.parametrize("event", [Done('"drafted"'), Interrupted()], ids=["advance", "hand back"])
def test_decisions_are_not_compared_with_each_other(postgres_url: str, event: object) -> None:
    store = PostgresStore(postgres_url)
    store.migrate()
    store.insert([new_job() for _ in range(MANY)])
    decisions = [decided(job, event, now=after(1)) for job in claim(store, limit=MANY)]
    as_a_service = Connections(postgres_url, name="test", size=1, generic_plans=True)._options()

    with psycopg.connect(postgres_url, cursor_factory=Explained, **as_a_service) as connection:
        plan = "\n".join(write(connection, sorted(decisions)))
    store.close()

    assert f"rows={MANY} " in plan
    assert "Removed by Join Filter" not in plan
