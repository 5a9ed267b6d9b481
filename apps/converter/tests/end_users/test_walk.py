"""Every route, page and stream as end users see it: public codes and lines, nothing behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.testclient import TestClient

from apps.converter.tests.end_users.planted import (
    HOLDER,
    INTERNAL_CLASSES,
    OPERATORS_TOKEN,
    PLACE,
    WORD,
    Haunted,
    Planted,
    offences,
)
from converter.codes import CODES
from holdfast.api import Server
from holdfast.api.auth.anonymous import COOKIE
from tests.api.event_client import EventClient

# Thousands of requests: a dozen seconds where nothing else runs.
pytestmark = pytest.mark.timeout(300)
SAFE = ("GET", "HEAD")
ABOUT_NO_JOB = re.compile(r"/(metrics|problems|api/(openapi\.json|reference|stream))")
"""Figures for Prometheus and descriptions of the API may name error classes; streams do not end."""
ORDER = ("retry", "cancel", "")
"""What is done first: a job that was cancelled cannot be retried."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database_url(request) -> str:
    """What is shown does not depend on the database, which has tests of its own."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def haunted(database_url, uploads, results) -> Iterator[Haunted]:
    made = Haunted(database_url, uploads=uploads, results=results)
    yield made
    made.close()


def parts_of(haunted: Haunted, planted: Planted) -> dict[str, list[str]]:
    """What may stand in the place of each parameter of a path."""
    app, owner = haunted.app, planted.owner
    letters = [view.id for view in app.dead.find(owner=owner, limit=200)]
    groups = [group.fingerprint for group in app.dead.groups(owner=owner)]
    jobs = list(planted.jobs.values())
    return {
        "job_id": jobs,
        "letter_id": letters,
        "delivery_id": [view.id for view in app.deliveries.find(owner=owner)] or jobs[:1],
        "replay_id": [view.id for view in app.replays.latest(owner=owner)],
        "fingerprint": groups,
        "message_id": jobs[:1],
        "token_id": jobs[:1],
        "token": ["not-a-token"],
        "worker_id": ["some-worker"],
        "queue": ["default"],
        "name": ["default", "gateway", "job-not-found"],
        "word": ["sent"],
    }


def addresses(haunted: Haunted, planted: Planted) -> Iterator[tuple[str, str, str]]:
    """Yield every method and address of the site, each with every value that fits into it.

    Between the two stands the path of the route.
    """
    known = parts_of(haunted, planted)
    for context in iter_route_contexts(list(haunted.site.routes)):
        route, path = context.original_route, context.path or ""
        if not isinstance(route, APIRoute):
            continue
        names = re.findall(r"{(\w+)(?::\w+)?}", path)
        unknown = [name for name in names if name not in known]
        assert not unknown, f"{path}: say in parts_of what {unknown} may be"
        for values in product(*(known[name] for name in names)):
            filled = path
            for name, value in zip(names, values, strict=True):
                filled = re.sub(rf"{{{name}(:\w+)?}}", quote(value, safe=""), filled)
            for method in sorted(route.methods or ()):
                yield method, path, filled
    for page in ("/convert/", "/convert", "/api/jobs?limit=200", "/api/exports/jobs.csv?limit=500"):
        yield "GET", page, page


def rank(asked: tuple[str, str, str]) -> tuple[bool, int]:
    method, _, path = asked
    last = path.rpartition("/")[2]
    return method == "DELETE", ORDER.index(last) if last in ORDER else len(ORDER)


def walk(haunted: Haunted, planted: Planted, client: TestClient, *, safe: bool) -> list[str]:
    """Go everywhere, and return what was read there that must not be, with its place."""
    internal = all("plain" not in name for name in planted.jobs)
    found: list[str] = []
    closed: set[tuple[str, str]] = set()
    asked = sorted(set(addresses(haunted, planted)), key=lambda each: (rank(each), each))
    for method, route, path in asked:
        if (method in SAFE) is not safe or path.startswith("/api/stream"):
            continue
        if (method, route) in closed:
            continue
        accept = "application/json" if path.startswith("/api/") else "text/html"
        body = {} if method in SAFE else {"json": {}}
        answer = client.request(method, path, headers={"Accept": accept}, **body)
        assert answer.status_code < 500, (method, path, answer.text)
        if answer.status_code in {401, 403}:
            closed.add((method, route))  # to whatever it is asked about
        seen = f"{answer.headers} {answer.text}"
        hidden = internal and not ABOUT_NO_JOB.match(path)
        found += [f"{method} {path}: …{each}…" for each in offences(seen, internal=hidden)]
    return found


def test_an_anonymous_owner_reads_nothing_of_what_is_behind_a_failure(haunted):
    client, owner = haunted.anonymous()
    planted = haunted.plant(owner)

    assert walk(haunted, planted, client, safe=True) == []
    assert walk(haunted, planted, client, safe=False) == []
    assert walk(haunted, planted, client, safe=True) == []


def test_a_submitter_with_a_token_reads_nothing_of_what_is_behind_a_failure(haunted):
    client, _ = haunted.submitter("bob")
    planted = haunted.plant("bob", others=True)

    assert walk(haunted, planted, client, safe=True) == []
    assert walk(haunted, planted, client, safe=False) == []
    assert walk(haunted, planted, client, safe=True) == []


@pytest.mark.parametrize("anonymous", [True, False], ids=["anonymous", "submitter"])
def test_a_stream_shows_end_users_nothing_of_what_is_behind_a_failure(haunted, anonymous):
    client, owner = haunted.anonymous()
    token, cookie = None, f"{COOKIE}={client.cookies[COOKIE]}"
    if not anonymous:
        owner, cookie = "bob", None
        _, token = haunted.submitter(owner)
    since = haunted.app.tail().cursor
    planted = haunted.plant(owner)
    jobs = set(planted.jobs.values())
    server = Server(haunted.site, options=haunted.site.state.serving.options)
    server.start()
    try:
        path = f"/api/stream?since={quote(since)}"
        with EventClient(server.address, path, token=token, cookie=cookie) as stream:
            stream.wait(lambda it: {event.data.get("job_id") for event in it.events} >= jobs)
            missed = len(stream.events)
            haunted.app.retry(planted.jobs["bug"], by=WORD, reason=PLACE)
            stream.wait(lambda it: len(it.events) > missed)
            events = list(stream.events)
    finally:
        server.request_stop()
        server.wait(10)

    assert {event.data["owner"] for event in events} == {owner}
    assert {event.name for event in events} <= {
        *("queued", "processing", "retry", "complete", "failed", "expired", "cancelled")
    }
    text = json.dumps([event.data for event in events])
    assert list(offences(text, internal=True)) == []


def test_what_end_users_get_of_a_failure_is_its_code_and_its_line(haunted):
    client, owner = haunted.anonymous()
    planted = haunted.plant(owner)
    expected = {
        "exception": "UNKNOWN",
        "refusal": "GW_4XX",
        "upstream down": "GW_5XX",
        "timeout": "GW_TIMEOUT",
        "cut off": "GW_5XX",
        "disk": "IO_ERROR",
        "stage timeout": "GW_TIMEOUT",
        "bug": "UNKNOWN",
        "lost worker": "UNKNOWN",
        "circuit open": "GW_5XX",
        "not a pdf": "NOT_PDF",
        "too large": "TOO_LARGE",
    }

    listed = {each["id"]: each for each in client.get("/api/conversions").json()["items"]}
    for name, code in expected.items():
        job_id = planted.jobs[name]
        job = client.get(f"/api/jobs/{job_id}").json()
        last = client.get(f"/api/jobs/{job_id}/events").json()["items"][-1]
        line = (
            "File exceeds 0.0095 MB limit."
            if name == "too large"
            else CODES.codes[code].at_the_end.message
        )
        seen = {(each["error_code"], each["error_message"]) for each in (job, listed[job_id])}
        assert seen == {(code, line)}, name
        assert job["error"] == {"error_class": code, "message": line}
        assert (last["event"], last["meta"]["error_code"]) == ("failed", code)
        assert last["meta"]["error_message"] == line


def test_operators_read_all_that_is_planted(haunted):
    planted = haunted.plant("bob", others=True)
    operator = haunted.client(OPERATORS_TOKEN)

    bug = operator.get(f"/api/jobs/{planted.jobs['bug']}").json()
    assert (bug["error_code"], bug["error_class"]) == ("UNKNOWN", "BUG")
    assert WORD in bug["error"]["message"]
    assert "planted.py" in bug["error"]["stack"]
    running = operator.get(f"/api/jobs/{planted.jobs['processing']}").json()
    assert running["holder"] == running["leased_by"] == HOLDER
    events = operator.get(f"/api/jobs/{planted.jobs['lost worker']}/events").json()["items"]
    assert events[-1]["meta"]["error_class"] == "WORKER_LOST"
    letters = operator.get("/api/dead-letters?limit=200").text
    assert PLACE in letters
    assert re.search(INTERNAL_CLASSES, letters)
    assert WORD in operator.get("/api/deliveries").text
    assert WORD in operator.get("/api/replays").text
