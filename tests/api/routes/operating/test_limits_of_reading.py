"""Whoever may ask cannot ask for everything at once, nor keep the database busy for long."""

import time

import pytest
from starlette.testclient import TestClient

from holdfast.api import ApiOptions, create_api
from holdfast.api.access import Reader, guarded_router
from holdfast.api.serving import Engine
from tests.api.routes.operating.desk import Desk

ENDLESS = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c"
READ_S = 0.3


def test_every_list_has_a_longest_page(sqlite_desk: Desk):
    paths = sqlite_desk.api.openapi()["paths"]
    limits = {
        path: parameter["schema"].get("maximum")
        for path, operations in paths.items()
        for parameter in operations.get("get", {}).get("parameters", [])
        if parameter["name"] == "limit"
    }

    assert len(limits) >= 10
    assert max(limits.values()) <= 1_000
    for path, limit in limits.items():
        asked = path.replace("{replay_id}", "x")
        answer = sqlite_desk().get(asked, params={"limit": limit + 1})
        assert (path, answer.status_code) == (path, 422)


def test_a_page_is_never_longer_than_was_asked_for(desk: Desk):
    desk.dead(*range(4))

    for path in ("jobs", "dead-letters", "exports/jobs.csv"):
        answer = desk("reader").get(f"/api/{path}?limit=3")
        rows = answer.text.splitlines()[1:] if "csv" in path else answer.json()["items"]
        assert (path, len(rows)) == (path, 3)


@pytest.fixture
def slow(desk: Desk) -> TestClient:
    """A client of an API one route of which asks the database for what never ends."""
    api = create_api(desk.app, options=ApiOptions(host="127.0.0.1", read_s=READ_S))
    router = guarded_router("slow")

    @router.get("")
    def read(_who: Reader, engine: Engine) -> None:
        store = engine.store
        if store.url.startswith("sqlite"):
            store._database.read(lambda cursor: cursor.execute(ENDLESS).fetchall())
        else:
            store._run(lambda own: own.execute(ENDLESS).fetchall())

    api.include_router(router)
    headers = {"Authorization": f"Bearer {desk.token('ada')}"}
    return TestClient(api, base_url="http://127.0.0.1", headers=headers)


def test_what_takes_too_long_to_find_is_broken_off(slow: TestClient):
    began = time.monotonic()

    answer = slow.get("/api/slow")

    assert (answer.status_code, answer.json()["code"]) == (503, "read_too_slow")
    assert answer.headers["retry-after"]
    assert "select" not in answer.text
    assert time.monotonic() - began < 20, "the store alone would take longer"


def test_after_that_the_next_request_is_answered_as_ever(slow: TestClient):
    slow.get("/api/slow")

    assert slow.get("/api/jobs").status_code == 200
    assert slow.post("/api/queues/q/pause").status_code == 200
