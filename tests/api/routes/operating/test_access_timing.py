"""Nobody learns by a clock what is another's: it takes as long as what is not there."""

import statistics
import time
from contextlib import contextmanager

import pytest

from tests.api.routes.operating.desk import NOBODY
from tests.api.routes.operating.test_access_matrix import call, of_a, owned_by_somebody

__all__ = ["of_a"]

ROUNDS = 40
ALIKE = 0.3
"""By how much medians of so few rounds may differ on a busy machine."""


@contextmanager
def statements_of(desk, ids):
    """What SQLite is asked meanwhile, without the ids."""
    asked: list[str] = []
    database = desk.app.store._database
    connections = [database._writer, *database._idle_readers]

    def note(statement: str) -> None:
        for one_id in {*ids.values(), NOBODY}:
            statement = statement.replace(one_id, "ID")
        asked.append(statement)

    for connection in connections:
        connection.set_trace_callback(note)
    yield asked
    for connection in connections:
        connection.set_trace_callback(None)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_database_is_asked_the_same_about_what_is_anothers_and_what_is_not_there(desk, of_a):
    stranger = desk("operator", "b")
    routes = owned_by_somebody(desk)
    for route in routes:
        call(stranger, route)

    for route in routes:
        with statements_of(desk, of_a) as about_theirs:
            call(stranger, route, ids=of_a)
        with statements_of(desk, of_a) as about_nobodys:
            call(stranger, route)
        assert (route, about_theirs) == (route, about_nobodys)
        assert any("ID" in statement for statement in about_theirs), route


@pytest.mark.slow
def test_every_route_answers_about_what_is_anothers_as_fast_as_about_what_is_not_there(desk, of_a):
    stranger = desk("operator", "b")
    differences = {}

    for route in owned_by_somebody(desk):
        took_s: dict[str, list[float]] = {"theirs": [], "nobodys": []}
        for _ in range(ROUNDS):
            for whose, ids in (("theirs", of_a), ("nobodys", None)):
                began_s = time.perf_counter()
                call(stranger, route, ids=ids)
                took_s[whose].append(time.perf_counter() - began_s)
        theirs_s, nobodys_s = (statistics.median(each) for each in took_s.values())
        differences[route] = abs(theirs_s - nobodys_s) / max(theirs_s, nobodys_s)

    assert {route: by for route, by in differences.items() if by > ALIKE} == {}
