"""Every error is problem+json with a code that stays, and tells nothing it should not."""

from __future__ import annotations

import html
import inspect
import logging
import time
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from holdfast import errors
from holdfast.api.access import Reader, guarded_router
from holdfast.api.error_problems import CODES, problem_of, problem_of_http
from holdfast.api.middleware.faults import internal_error
from holdfast.api.problems import KINDS, Problem
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "http-api.md"
MEMBERS = {"type", "title", "status", "detail", "instance", "code", "request_id"}


@pytest.fixture(scope="module")
def client(steady_client):
    """A client of an API with a route that goes wrong in the way that it is told to."""
    router = guarded_router("breaking")

    @router.get("/{how}")
    def break_down(how: str, who: Reader) -> None:
        raise {
            "secret": RuntimeError("postgresql://user:hunter2-hunter2@db/x in /srv/app/secret.py"),
            "http": HTTPException(418, "short and stout"),
            "setting": errors.InvalidSetting("x", field="f", value="v", limit="l"),
            "store": errors.StoreUnavailable("sqlite:////srv/app/holdfast.db", reason="gone"),
            "open": errors.CircuitOpen("gateway", reason="it is open", until=None, wait_s=17.2),
            "full": errors.QueueFull("default", limit=5),
        }[how]

    steady_client.app.include_router(router)
    return steady_client


@pytest.mark.parametrize(
    ("method", "path", "sent", "expected"),
    [
        ("GET", "/nothing", {}, (404, "not_found")),
        ("GET", "/api/nothing", {}, (404, "not_found")),
        ("GET", "/api/jobs/", {}, (404, "not_found")),
        ("PUT", "/api/jobs", {}, (405, "method_not_allowed")),
        ("GET", "/api/jobs/x", {}, (404, "job_not_found")),
        ("POST", "/api/jobs", {"content": b"{"}, (400, "malformed_body")),
        ("POST", "/api/jobs", {"content": b'{"a": ' + b"[" * 60_000}, (400, "malformed_request")),
        ("POST", "/api/jobs", {"content": b"\xff\xfe"}, (400, "malformed_body")),
        ("POST", "/api/jobs", {"content": b"1" * 5_000}, (400, "malformed_request")),
        ("POST", "/api/jobs", {}, (422, "invalid_request")),
        ("POST", "/api/jobs", {"content": b"[]"}, (422, "invalid_request")),
        ("POST", "/api/jobs", {"json": {"pipeline": "no"}}, (422, "pipeline_unknown")),
        ("GET", "/api/jobs?limit=x", {}, (422, "invalid_request")),
        ("GET", "/api/jobs?cursor=x", {}, (400, "invalid_cursor")),
        ("GET", "/api/breaking/secret", {}, (500, "internal_error")),
        ("GET", "/api/breaking/setting", {}, (500, "internal_error")),
        ("GET", "/api/breaking/http", {}, (500, "internal_error")),
        ("GET", "/api/breaking/store", {}, (503, "store_unavailable")),
        ("GET", "/api/breaking/open", {}, (503, "circuit_open")),
        ("GET", "/api/breaking/full", {}, (503, "queue_full")),
    ],
)
def test_every_error_is_a_problem_document(client, method, path, sent, expected):
    status, code = expected
    headers = {"Content-Type": "application/json", "Accept": "text/html, */*"}

    answer = client.request(method, path, headers=headers, **sent)

    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document.keys() >= MEMBERS
    assert (answer.status_code, document["status"], document["code"]) == (status, status, code)
    assert document["type"] == f"/problems/{code.replace('_', '-')}"
    assert document["title"] == KINDS[code].title
    assert document["instance"] == path.partition("?")[0]
    assert document["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_body_that_is_not_json_is_refused_by_its_type(client):
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": "multipart/form-data"}):
        answer = client.post("/api/jobs", content=b'{"pipeline": "p"}', headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_what_is_not_allowed_here_names_what_is(client):
    answer = client.delete("/api/jobs")

    assert set(answer.headers["allow"].split(", ")) <= {"GET", "POST", "HEAD"}


@pytest.mark.parametrize("what", ["secret", "setting"])
def test_nothing_is_said_of_an_error_that_is_this_servers_alone(client, what):
    answer = client.get(f"/api/breaking/{what}")

    assert answer.json()["detail"] == internal_error().detail
    assert answer.json().keys() == MEMBERS


def test_an_unexpected_error_is_told_by_its_request_only_and_logged_in_full(client, caplog):
    caplog.set_level(logging.ERROR)

    answer = client.get("/api/breaking/secret")

    for word in ("RuntimeError", "hunter2", "/srv", "secret.py", "postgresql", "Traceback"):
        assert word not in answer.text
    assert "request_id" in answer.json()["detail"]
    record = next(found for found in caplog.records if found.name == "holdfast.api")
    assert record.request_id == answer.json()["request_id"]
    assert record.exc_info[0] is RuntimeError


def test_where_the_database_is_is_nobodys_business(client):
    answer = client.get("/api/breaking/store")

    assert "/srv" not in answer.text
    assert "sqlite" not in answer.text


@pytest.mark.parametrize(("how", "after"), [("open", "17"), ("full", "5"), ("store", "5")])
def test_what_may_be_asked_again_later_says_when(client, how, after):
    assert client.get(f"/api/breaking/{how}").headers["retry-after"] == after


def test_what_was_sent_is_not_sent_back(client):
    secret = "sk-live-0123456789abcdefghij"

    answers = [
        client.post("/api/jobs", json={"pipeline": "p", "password": secret, "priority": secret}),
        client.get("/api/jobs", params={"limit": secret}),
        client.post("/api/jobs", json={"pipeline": "p"}, headers={"Idempotency-Key": secret * 20}),
    ]

    for answer in answers:
        assert answer.status_code == 422
        assert secret not in answer.text


def test_a_request_keeps_the_plain_id_it_came_with_and_no_other(client):
    given = client.get("/livez", headers={"X-Request-Id": "abc-12345"})
    odd = client.get("/livez", headers={"X-Request-Id": 'abc"; <script>'})
    none = client.get("/livez")

    assert given.headers["x-request-id"] == "abc-12345"
    assert len(odd.headers["x-request-id"]) == len(none.headers["x-request-id"]) == 24


def test_every_error_of_the_engine_has_a_code_of_the_list():
    kinds = {
        kind
        for kind in vars(errors).values()
        if inspect.isclass(kind)
        and issubclass(kind, errors.HoldfastError)
        and kind is not errors.HoldfastError
    }

    assert set(CODES) == kinds
    assert set(CODES.values()) <= set(KINDS)


def test_every_code_is_documented_with_its_status_and_used():
    page = PAGE.read_text("utf-8")
    folder = Path(inspect.getfile(Problem)).parent
    sources = "\n".join(file.read_text("utf-8") for file in folder.rglob("*.py"))

    for code, kind in KINDS.items():
        assert f"| `{code}` | {kind.status} | " in page, code
        assert sources.count(f'"{code}"') > 1, f"{code} is listed and never answered"


def test_every_kind_of_problem_has_a_page(client):
    for code, kind in KINDS.items():
        page = client.get(f"/problems/{code.replace('_', '-')}")
        assert page.status_code == 200
        assert kind.title in html.unescape(page.text)
    assert client.get("/problems/no-such-thing").status_code == 404


def test_an_error_without_an_entry_is_what_its_ancestor_is():
    class Newer(errors.ConflictError):
        pass

    assert problem_of(Newer("read again")).code == "conflict"


def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_does(client):
    job_id = client.post("/api/jobs", json={"pipeline": "p"}).json()["id"]

    allowed = {
        path: client.put(path).headers["allow"]
        for path in ("/api/jobs", f"/api/jobs/{job_id}", "/api/session")
    }

    assert allowed == {
        "/api/jobs": "GET, POST",
        f"/api/jobs/{job_id}": "GET",
        "/api/session": "DELETE, GET, POST",
    }


def test_what_the_framework_raises_by_itself_keeps_its_status():
    for status in (400, 401, 403, 404, 405, 413, 415):
        assert problem_of_http(HTTPException(status)).kind.status == status
    assert problem_of_http(HTTPException(501)).kind.status == 500


def test_a_request_that_is_refused_costs_little(client):
    body = b'{"pipeline": "p", "payload": ' + b"[" * 60 + b"1," * 100_000 + b"1" + b"]" * 60 + b"}"
    began_s = time.process_time()

    client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})

    assert time.process_time() - began_s < 10
