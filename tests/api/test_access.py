"""Who is let in, as what, and what they are told who are not."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import logging
import statistics

import pytest
from fastapi import APIRouter, Depends
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from holdfast.api import ApiOptions, create_api
from holdfast.api.access import GuardedRoute, Reader, guarded_router
from holdfast.api.auth import authenticator as doors_module
from holdfast.api.auth.path_credential import path_credential
from holdfast.api.problems import Problem
from holdfast.core.values.role import Role
from holdfast.errors import InvalidValue, UnknownJob, UsageError
from holdfast.runtime.kernel.clock import monotonic_s
from tests.api.clients import client_of

SECRET = "a-token-of-the-environment-0123456789"


@pytest.fixture
def tokens(app):
    """A token of every role, and those of two owners, by name."""
    wanted = {
        "reader": ("reader", None),
        "submitter": ("submitter", None),
        "operator": ("operator", None),
        "ann": ("operator", "ann"),
        "ben": ("operator", "ben"),
    }
    return {
        name: app.tokens.create(name, role=role, owner=owner, by="test")[1]
        for name, (role, owner) in wanted.items()
    }


def test_nobody_needs_credentials_on_loopback_while_there_is_no_token(client):
    who = client.get("/api/session").json()

    assert who == {
        "name": "local",
        "role": "operator",
        "owner": None,
        "csrf_token": None,
        "console": True,
    }


def test_the_first_token_ends_that_also_once_it_is_revoked(app, client):
    assert client.get("/api/jobs").status_code == 200
    view, _ = app.tokens.create("first", role="reader", by="test")

    after = client.get("/api/jobs")
    app.tokens.revoke(view.id, by="test")
    revoked = client.get("/api/jobs")

    assert (after.status_code, after.json()["code"]) == (401, "credentials_missing")
    assert after.headers["www-authenticate"] == "Bearer"
    assert revoked.status_code == 401


@pytest.mark.parametrize(
    ("host", "asking", "reached", "headers"),
    [
        (None, "127.0.0.1", "127.0.0.1", {}),
        ("127.0.0.1", "192.0.2.7", "127.0.0.1", {}),
        ("127.0.0.1", "127.0.0.1", "192.0.2.1", {"Host": "127.0.0.1"}),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", {"Forwarded": "for=192.0.2.7"}),
    ],
    ids=["mounted", "from elsewhere", "reached from elsewhere", "by a proxy", "by another proxy"],
)
def test_nobody_else_passes_for_local(small_app, host, asking, reached, headers):
    api = create_api(small_app, options=ApiOptions(host=host))
    client = TestClient(api, base_url=f"http://{reached}", client=(asking, 1))

    answer = client.get("/api/jobs", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_missing")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "jobs.example.org"])
def test_it_refuses_to_listen_elsewhere_without_credentials(small_app, host):
    with pytest.raises(UsageError, match=r"without credentials.*make an API token"):
        create_api(small_app, options=ApiOptions(host=host))

    create_api(small_app, options=ApiOptions(host=host, token=SECRET))
    small_app.tokens.create("one", role="reader", by="test")
    create_api(small_app, options=ApiOptions(host=host))


def test_a_token_that_could_be_guessed_is_refused():
    with pytest.raises(InvalidValue, match="at least 20 characters") as refused:
        ApiOptions(token="hunter2")

    assert "hunter2" not in str(refused.value)
    assert SECRET not in repr(ApiOptions(token=SECRET))


@pytest.mark.parametrize("name", ["reader", "submitter", "operator"])
def test_a_bearer_is_who_the_token_says(app, serve, tokens, name):
    who = serve(app, token=tokens[name]).get("/api/session").json()

    assert (who["name"], who["role"], who["owner"]) == (name, name, None)


def test_the_token_of_the_environment_is_an_operators_of_every_owner(app, serve):
    who = serve(app, token=SECRET).get("/api/session")
    known = client_of(
        create_api(app, options=ApiOptions(host="127.0.0.1", token=SECRET)), token=SECRET
    )

    assert who.status_code == 401
    assert known.get("/api/session").json()["role"] == "operator"
    assert known.get("/api/jobs").status_code == 200


@pytest.mark.parametrize(
    "authorization",
    ["Bearer hf_" + "A" * 43, "Bearer ", "Bearer", "Basic YWRtaW46YWRtaW4=", "hf_", "Bearer é"],
)
def test_a_token_that_nobody_made_is_refused_although_this_is_local(client, authorization):
    raw = authorization.encode("utf-8")

    answer = client.get("/api/jobs", headers={b"authorization": raw})

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_refused")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_is_out_at_once(app, serve, tokens):
    client = serve(app, token=tokens["reader"])
    assert client.get("/api/jobs").status_code == 200
    view = next(view for view in app.tokens.list() if view.name == "reader")

    app.tokens.revoke(view.id, by="test")

    assert client.get("/api/jobs").json()["code"] == "credentials_refused"


def test_a_token_in_the_url_lets_nobody_in(app, serve, tokens):
    client = serve(app)

    for name in ("token", "access_token", "api_key"):
        assert client.get(f"/api/session?{name}={tokens['operator']}").status_code == 401


def test_a_role_may_do_what_it_covers_and_is_told_what_it_lacks(app, serve, tokens):
    body = {"pipeline": "p"}

    reading = serve(app, token=tokens["reader"]).post("/api/jobs", json=body)
    made = serve(app, token=tokens["submitter"]).post("/api/jobs", json=body)
    path = f"/api/jobs/{made.json()['id']}/cancel"
    submitting = serve(app, token=tokens["submitter"]).post(path)
    operating = serve(app, token=tokens["operator"]).post(path)

    assert (reading.status_code, reading.json()["code"]) == (403, "role_missing")
    assert (reading.json()["role"], reading.json()["needed"]) == ("reader", "submitter")
    assert made.status_code == 201
    assert submitting.status_code == 403
    assert operating.status_code == 200


def test_the_role_is_asked_before_the_body_is_looked_at(app, serve, tokens):
    client = serve(app, token=tokens["reader"])

    answers = [
        client.post("/api/jobs", content=b"{", headers={"Content-Type": "application/json"}),
        client.post("/api/jobs", content=b"x", headers={"Content-Type": "text/plain"}),
        client.post("/api/jobs", json={"nope": 1}),
    ]

    assert {answer.status_code for answer in answers} == {403}


def test_an_owner_sees_and_makes_their_own_jobs_only(app, serve, tokens):
    ann, ben = serve(app, token=tokens["ann"]), serve(app, token=tokens["ben"])
    made = ann.post("/api/jobs", json={"pipeline": "p", "payload": 1}).json()

    assert made["owner"] == "ann"
    assert [item["id"] for item in ann.get("/api/jobs").json()["items"]] == [made["id"]]
    assert ben.get("/api/jobs").json()["items"] == []
    for other in ({"owner": "ann"}, {"owner": "nobody"}):
        assert ben.get("/api/jobs", params=other).json()["code"] == "owner_refused"
        body = {"pipeline": "p", **other}
        assert ben.post("/api/jobs", json=body).json()["code"] == "owner_refused"
        body = {"filter": other, "reason": "r", "dry_run": True}
        assert ben.post("/api/jobs/cancel", json=body).json()["code"] == "owner_refused"
    queued = {"filter": {"state": ["queued"]}, "reason": "r"}
    assert ben.post("/api/jobs/cancel", json=queued).json()["matched"] == 0
    assert ann.get(f"/api/jobs/{made['id']}").json()["state"] == "queued"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/events"),
        ("GET", "/attempts"),
        ("GET", "/results"),
        ("POST", "/retry"),
        ("POST", "/cancel"),
    ],
)
def test_what_is_another_owners_looks_like_what_is_not_there(app, serve, tokens, method, path):
    theirs = str(app.submit("p", owner="ann").id)
    nobodys = theirs[:-1] + ("0" if theirs[-1] != "0" else "1")
    ben = serve(app, token=tokens["ben"])
    same = {"X-Request-Id": "the-same-request"}

    hidden = ben.request(method, f"/api/jobs/{theirs}{path}", headers=same)
    absent = ben.request(method, f"/api/jobs/{nobodys}{path}", headers=same)

    assert hidden.status_code == absent.status_code == 404
    assert hidden.text.replace(theirs, "…") == absent.text.replace(nobodys, "…")
    assert dict(hidden.headers) == dict(absent.headers)


def test_a_key_says_nothing_about_another_owners_jobs(app, serve, tokens):
    body, key = {"pipeline": "p", "payload": "mine"}, {"Idempotency-Key": "shared"}
    first = serve(app, token=tokens["ann"]).post("/api/jobs", json=body, headers=key)
    body["payload"] = "another"

    second = serve(app, token=tokens["ben"]).post("/api/jobs", json=body, headers=key)
    again = serve(app, token=tokens["ben"]).post("/api/jobs", json=body, headers=key)

    assert (first.status_code, second.status_code, again.status_code) == (201, 201, 200)
    assert second.json()["id"] == again.json()["id"] != first.json()["id"]
    assert again.json()["payload"] == "another"


def test_ids_of_jobs_cannot_be_guessed_from_one_another(app):
    ids = [str(app.submit("p").id) for _ in range(20)]

    random_parts = {job_id.replace("-", "")[16:] for job_id in ids}
    assert len(random_parts) == 20
    distances = [
        abs(int(a.replace("-", "")[17:], 16) - int(b.replace("-", "")[17:], 16))
        for a, b in itertools.pairwise(ids)
    ]
    assert min(distances) > 2**24


def test_tokens_are_stored_as_hashes_and_logged_nowhere(app, serve, tokens, caplog):
    caplog.set_level(logging.DEBUG)
    client = serve(app, token=tokens["operator"])
    client.get("/api/jobs")
    client.post("/api/jobs", json={"pipeline": "p"})
    near = tokens["operator"][:-1] + "!"
    client.get("/api/jobs", headers={"Authorization": f"Bearer {near}"})

    table = "holdfast_api_token" if app.store.url.startswith("sqlite") else "holdfast.api_token"
    with app.store.transaction() as connection:
        rows = connection.execute(f"select hash, name, id from {table}").fetchall()
    stored = repr([tuple(row) for row in rows])
    logged = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    for secret in (*tokens.values(), near):
        assert secret not in stored
        assert secret not in logged
    digest = hashlib.sha256(tokens["operator"].encode()).hexdigest()
    assert digest in stored


def test_the_token_of_the_environment_is_compared_in_constant_time(small_app, monkeypatch):
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(
        doors_module.hmac,
        "compare_digest",
        lambda left, right: compared.append((len(left), len(right))) or real(left, right),
    )
    api = create_api(small_app, options=ApiOptions(host="127.0.0.1", token=SECRET))

    for wrong in ("x", SECRET[:-1], SECRET + "x"):
        assert client_of(api, token=wrong).get("/api/jobs").status_code == 401

    # Hashes of the same length are compared, whatever was sent.
    assert compared == [(32, 32)] * 3


@pytest.mark.slow
def test_looking_for_what_is_another_owners_takes_as_long_as_for_what_is_not_there(app):
    theirs = str(app.submit("p", {"some": "payload"}, owner="ann").id)
    nobodys = theirs[:-1] + ("0" if theirs[-1] != "0" else "1")
    took: dict[str, list[float]] = {theirs: [], nobodys: []}

    for _ in range(3_000):
        for wanted, seconds in took.items():
            began_s = monotonic_s()
            with pytest.raises(UnknownJob):
                app.job(wanted, owner="ben")
            seconds.append(monotonic_s() - began_s)

    theirs_s, nobodys_s = (statistics.median(found) for found in took.values())
    assert abs(theirs_s - nobodys_s) < 0.25 * max(theirs_s, nobodys_s)


def test_a_route_without_a_role_cannot_be_made():
    router = guarded_router("things")

    with pytest.raises(UsageError, match="/api/things/open demands no role"):
        router.get("/open")(lambda: None)


def test_a_route_that_demands_no_role_is_refused_whichever_way_it_comes(small_app, serve):
    plain = APIRouter(prefix="/api")
    plain.get("/things")(lambda: None)
    unguarded = APIRouter(prefix="/api")

    @unguarded.get("/things")
    def reading(who: Reader) -> None:
        """It asks for the role, but only after it has read the body."""

    for router in (plain, unguarded):
        with pytest.raises(UsageError, match="/api/things demands no role"):
            create_api(small_app).include_router(router)

    late = create_api(small_app, options=ApiOptions(host="127.0.0.1"))
    late.get("/api/late")(lambda: None)
    with pytest.raises(UsageError, match="/api/late demands no role"):
        TestClient(late, base_url="http://127.0.0.1").get("/livez")

    mounted = create_api(small_app, options=ApiOptions(host="127.0.0.1"))
    mounted.mount("/api/inner", PlainTextResponse("open"))
    with pytest.raises(UsageError, match="/api/inner demands no role"):
        TestClient(mounted, base_url="http://127.0.0.1").get("/livez")


def test_a_route_that_its_path_opens_can_be_added_and_its_token_stays_unsaid(
    small_app, serve, caplog
):
    caplog.set_level(logging.DEBUG)
    asked: list[str] = []

    async def check(_request: object, token: str) -> None:
        asked.append(token)
        if token != "good-token":
            raise Problem("callback_refused", "ask for another link")

    opened = Depends(path_credential(check))
    router = APIRouter(prefix="/api/links", route_class=GuardedRoute)

    @router.post("/{token}/open")
    def open_link(token: str = opened) -> str:
        return "opened"

    client = serve(small_app)
    client.app.include_router(router)

    assert client.post("/api/links/good-token/open").json() == "opened"
    refused = client.post("/api/links/bad-token/open")
    assert refused.status_code == 403
    assert refused.json()["instance"] == "/api/links/hidden"
    assert set(asked) == {"good-token", "bad-token"}
    ours = [record for record in caplog.records if record.name.startswith("holdfast")]
    assert "-token" not in "".join(record.getMessage() for record in ours)
    assert client.app.openapi()["paths"]["/api/links/{token}/open"]["post"]["security"] == []


def test_a_route_with_a_role_can_be_added(small_app, serve):
    router = APIRouter(prefix="/api/things", route_class=GuardedRoute)

    @router.get("")
    def list_things(who: Reader) -> str:
        return who.name

    client = serve(small_app)
    client.app.include_router(router)

    assert client.get("/api/things").json() == "local"
    assert client.app.openapi()["paths"]["/api/things"]["get"]["x-role"] == Role.READER
