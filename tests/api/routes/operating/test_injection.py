"""No parameter of any route reaches the database as anything but a value."""

import base64
import json
from urllib.parse import quote

import pytest

from tests.api.routes.operating.desk import NOBODY

ENDLESS = ("/api/stream", "/api/stream/all")
ALWAYS = ["' or '1'='1", "a\x00b", "9" * 30]
"""What every parameter meets; of the rest each meets a part, and all of them meet all of it."""
SLOW = [pytest.mark.slow, pytest.mark.timeout(300)]
CORPUS = [
    "'",
    '"',
    "';",
    "' or '1'='1",
    "' or 1=1 --",
    "') or ('1'='1",
    "1; drop table holdfast_job; --",
    "1); delete from holdfast.job; --",
    "' union select hash from holdfast_api_token --",
    "' union all select null, null, null --",
    "x' and (select pg_sleep(60)) is null --",
    "x' and randomblob(1000000000) is null --",
    "%",
    "_",
    "%%",
    "\\",
    "\\'",
    "$1",
    "%s",
    "%(owner)s",
    ":owner",
    "?",
    "${jndi:ldap://127.0.0.1/x}",
    "{{7*7}}",
    "'||(select version())||'",
    "payload->>'n'",
    "created_at; select 1",
    "\x00",
    "a\x00b",
    "\x1b[31m",
    "\u2028",
    "\ufeff",
    "\U0001f600",
    "a" * 255,
    "a" * 10_000,
    "-1",
    "0",
    "9" * 30,
    "1e309",
    "NaN",
    "null",
    "true",
    "[]",
    "../../etc/passwd",
]


def parameters(desk) -> list[tuple[str, str]]:
    """Every query parameter of every list, as the API's own schema names them."""
    return [
        (path, parameter["name"])
        for path, operations in desk.api.openapi()["paths"].items()
        for method, operation in operations.items()
        for parameter in operation.get("parameters", [])
        if method == "get"
        and parameter["in"] == "query"
        and path.startswith("/api/")
        and path not in ENDLESS
    ]


@pytest.fixture
def stocked(desk):
    desk.dead(1, owner="a")
    desk.dead(2, owner="b")
    desk.app.publish("made", {"n": 1})
    desk.delivery()
    return desk


@pytest.mark.parametrize("share", [len(CORPUS), pytest.param(6, marks=SLOW)])
def test_no_query_parameter_is_anything_but_a_value(stocked, share: int):
    reader = stocked("reader", "b")
    everything = stocked("reader")
    found = parameters(stocked)
    rows = len(stocked.app.audit(limit=1000)), len(stocked.app.jobs())
    odd = []

    for place, (path, name) in enumerate(found):
        for text in {*ALWAYS, *CORPUS[place % share :: share]}:
            client = (everything, everything, reader)[len(text) % 3]
            answer = client.get(path.replace("{", "").replace("}", ""), params={name: text})
            if answer.status_code not in {200, 400, 403, 404, 422}:
                odd.append((path, name, text, answer.status_code))
            if answer.status_code == 200 and name not in {"limit", "escalated"}:
                items = answer.json()["items"] if "csv" not in path else answer.text.split()[1:]
                if items and name != "version":
                    odd.append((path, name, text, items))

    assert len(found) > 40
    assert odd == []
    assert rows == (len(stocked.app.audit(limit=1000)), len(stocked.app.jobs()))


def test_a_parameter_that_is_meant_once_is_not_taken_twice(sqlite_desk):
    reader = sqlite_desk("reader")

    twice = reader.get("/api/dead-letters?owner=a&owner=b&limit=5&limit=6")
    several = reader.get("/api/dead-letters?state=open&state=triaged")

    assert (twice.status_code, twice.json()["code"]) == (422, "invalid_request")
    assert [flaw["pointer"] for flaw in twice.json()["errors"]] == ["/query/limit", "/query/owner"]
    assert several.status_code == 200


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=SLOW)])
def test_no_id_in_a_path_is_anything_but_a_value(stocked, share: int):
    operator = stocked()
    nouns = {
        "jobs": "job_not_found",
        "dead-letters": "dead_letter_not_found",
        "replays": "replay_not_found",
        "deliveries": "delivery_not_found",
        "outbox": "message_not_found",
        "upstreams": "upstream_not_found",
    }

    answers = {
        (noun, text): operator.get(f"/api/{noun}/{quote(text, safe='')}")
        for place, noun in enumerate(nouns)
        for text in {*ALWAYS, *CORPUS[place % share :: share]}
        if text != "../../etc/passwd"
    }

    assert {
        (noun, text, answer.status_code)
        for (noun, text), answer in answers.items()
        if (answer.status_code, answer.json()["code"])
        not in {(404, nouns[noun]), (422, "invalid_request"), (404, "not_found")}
    } == set()


def test_no_cursor_leads_anywhere_but_into_its_own_list(stocked):
    operator = stocked()
    lists = ("jobs", "dead-letters", "audit", "outbox", "replays", "deliveries")
    positions = ("' or 1=1 --", "\x00", 10**30, -1, 1.5, None, {"a": 1}, [], True, NOBODY)

    def forged(kind: str) -> list[str]:
        texts = [json.dumps([kind, position]).encode() for position in positions]
        return [base64.urlsafe_b64encode(text).decode().rstrip("=") for text in texts]

    found = {
        (noun, cursor): operator.get(f"/api/{noun}", params={"cursor": cursor})
        for place, noun in enumerate(lists)
        for cursor in [
            *(*forged(noun), *forged(lists[place - 1])),
            *("", "!", "WyJqb2JzIl0", "bnVsbA", "e30"),
        ]
    }

    assert {
        (key, answer.status_code)
        for key, answer in found.items()
        if answer.status_code not in {200, 400}
    } == set()
    refused = [answer for answer in found.values() if answer.status_code == 400]
    assert {answer.json()["code"] for answer in refused} == {"invalid_cursor"}
    assert len(refused) > 100
