"""Sessions of browsers, and forms that come from elsewhere."""

from __future__ import annotations

import base64
from typing import Annotated

import pytest
from fastapi import Depends
from starlette.requests import Request

from holdfast.api import ApiOptions, create_api
from holdfast.api.access import Submitter, guarded_router, needs
from holdfast.api.auth.principal import Principal, Role
from holdfast.api.auth.session import COOKIE, Session, Sessions
from holdfast.core.values.instant import later
from tests.api.clients import client_of
from tests.api.server.wire import answers_with, connected, head, served


@pytest.fixture
def token(small_app):
    return small_app.tokens.create("ann", role="operator", by="test")


@pytest.fixture
def client(small_app, serve):
    """A client of `small_app` that has signed in nowhere."""
    return serve(small_app)


@pytest.fixture
def signed_in(small_app, serve, token):
    """A client with a session, and the token that its forms have to carry."""
    client = serve(small_app)
    answer = client.post("/api/session", headers={"Authorization": f"Bearer {token[1]}"})
    return client, answer.json()["csrf_token"]


def cancelled(client, **headers):
    body = {"filter": {"pipeline": "p"}, "reason": "r"}
    return client.post("/api/jobs/cancel", json=body, headers=headers)


def test_a_token_opens_a_session_whose_cookie_scripts_and_other_sites_cannot_use(
    small_app, serve, token
):
    answer = serve(small_app).post("/api/session", headers={"Authorization": f"Bearer {token[1]}"})

    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert part in cookie
    assert "Secure" not in cookie
    assert token[1] not in cookie
    assert token[1] not in answer.text


def test_with_https_the_cookie_is_sent_no_other_way(small_app, token):
    api = create_api(small_app, options=ApiOptions(host="127.0.0.1", https=True))

    answer = client_of(api, token=token[1]).post("/api/session")

    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_a_session_is_who_its_token_is(signed_in):
    client, csrf_token = signed_in

    who = client.get("/api/session").json()

    assert who == {
        "name": "ann",
        "role": "operator",
        "owner": None,
        "csrf_token": csrf_token,
        "console": True,
    }


def test_a_session_ends_with_its_token(small_app, signed_in, token):
    client, _ = signed_in

    small_app.tokens.revoke(token[0].id, by="test")

    assert client.get("/api/session").status_code == 401


def test_a_session_ends_after_its_time(signed_in, clock):
    client, _ = signed_in
    clock.advance(12 * 3600 - 1)
    assert client.get("/api/session").status_code == 200

    clock.advance(1)

    assert client.get("/api/session").status_code == 401


def test_a_browser_that_signs_out_forgets_its_session(signed_in):
    client, csrf_token = signed_in

    answer = client.delete("/api/session", headers={"X-CSRF-Token": csrf_token})

    assert answer.status_code == 204
    assert COOKIE not in client.cookies
    assert client.get("/api/session").status_code == 401


def test_a_cookie_that_was_copied_is_good_for_nothing_after_signing_out(app, serve):
    _, token = app.tokens.create("ann", role="operator", by="test")
    client, thief, elsewhere = serve(app), serve(app), serve(app)
    answer = client.post("/api/session", headers={"Authorization": f"Bearer {token}"})
    for copy in (thief, elsewhere):
        copy.cookies.set(COOKIE, client.cookies[COOKIE])
    assert thief.get("/api/session").status_code == 200

    client.delete("/api/session", headers={"X-CSRF-Token": answer.json()["csrf_token"]})

    assert thief.get("/api/session").status_code == 401
    assert elsewhere.get("/api/jobs").status_code == 401


def test_signing_out_leaves_the_other_sessions_of_a_token_alone(signed_in, small_app, serve, token):
    client, csrf_token = signed_in
    other = serve(small_app)
    other.post("/api/session", headers={"Authorization": f"Bearer {token[1]}"})

    client.delete("/api/session", headers={"X-CSRF-Token": csrf_token})

    assert other.get("/api/session").status_code == 200


def test_that_a_session_was_ended_is_kept_no_longer_than_its_cookie_is_good(app, clock):
    sessions = app.store.sessions
    sessions.end("first", expires_at=later(clock.now(), 60), now=clock.now())
    sessions.end("second", expires_at=later(clock.now(), 30), now=clock.now())
    clock.advance(0.00005)

    sessions.end("third", expires_at=later(clock.now(), 60), now=clock.now())

    ended = [sessions.has_ended(name) for name in ("first", "second", "third")]
    assert ended == [True, False, True]


def test_a_session_of_the_environments_token_ends_when_that_is_changed(small_app):
    first, second = "first-token-of-the-environment", "second-token-of-the-environment"
    before = client_of(create_api(small_app, options=ApiOptions(host="127.0.0.1", token=first)))
    before.post("/api/session", headers={"Authorization": f"Bearer {first}"})
    after = client_of(create_api(small_app, options=ApiOptions(host="127.0.0.1", token=second)))
    after.cookies = before.cookies

    assert before.get("/api/session").status_code == 200
    assert after.get("/api/session").status_code == 401


def test_a_request_with_a_session_changes_nothing_without_the_token_of_its_forms(signed_in):
    client, csrf_token = signed_in

    without = cancelled(client)
    wrong = cancelled(client, **{"X-CSRF-Token": csrf_token[:-1] + "!"})
    right = cancelled(client, **{"X-CSRF-Token": csrf_token})

    assert (without.status_code, without.json()["code"]) == (403, "csrf_refused")
    assert wrong.status_code == 403
    assert right.status_code == 200


def test_a_token_of_another_session_is_not_good(small_app, serve, signed_in, token):
    client, _ = signed_in
    other = serve(small_app).post("/api/session", headers={"Authorization": f"Bearer {token[1]}"})

    answer = cancelled(client, **{"X-CSRF-Token": other.json()["csrf_token"]})

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Origin": "http://127.0.0.1:81"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_changes_nothing_here_also_without_credentials(client, signed_in, headers):
    session, csrf_token = signed_in

    local = cancelled(client, **headers)
    with_session = cancelled(session, **headers, **{"X-CSRF-Token": csrf_token})

    assert local.status_code in {401, 403}
    assert (with_session.status_code, with_session.json()["code"]) == (403, "csrf_refused")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({}, 200),
    ],
)
def test_whoever_needs_no_credentials_still_has_to_come_from_here(client, headers, status):
    assert cancelled(client, **headers).status_code == status


def test_a_site_that_sends_a_form_gets_nowhere(client):
    answer = client.post(
        "/api/jobs", data={"pipeline": "p"}, headers={"Origin": "http://evil.example"}
    )

    assert answer.status_code == 403
    assert client.get("/api/jobs").json()["items"] == []


def test_reading_needs_no_token_of_a_form_and_changes_nothing(signed_in):
    client, _ = signed_in

    assert client.get("/api/jobs", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_a_cookie_that_was_not_signed_here_is_none(small_app):
    sessions = Sessions(small_app, lasting_s=60)
    token_id = base64.urlsafe_b64encode(b"token").decode()

    for forged in (
        "",
        "x",
        "a.b.c.d",
        "....",
        "é",
        "x" * 600,
        f"{token_id}.99999999999.nonce.AAAA",
    ):
        assert sessions.read(forged) is None


def test_a_cookie_that_was_changed_is_none(small_app):
    sessions = Sessions(small_app, lasting_s=60)
    cookie = sessions.open("some-token")
    parts = cookie.split(".")

    longer = ".".join([parts[0], str(int(parts[1]) + 1), *parts[2:]])
    other = ".".join([base64.urlsafe_b64encode(b"other").decode().rstrip("="), *parts[1:]])

    assert sessions.read(cookie) is not None
    assert sessions.read(longer) is None
    assert sessions.read(other) is None
    assert sessions.read(cookie[:-1]) is None


def test_on_either_database_a_session_lasts_as_long_as_its_token(app, serve):
    view, secret = app.tokens.create("ann", role="reader", owner="ann", by="test")
    client = serve(app)
    client.post("/api/session", headers={"Authorization": f"Bearer {secret}"})

    before = client.get("/api/session")
    app.tokens.revoke(view.id, by="test")
    after = client.get("/api/session")

    assert (before.json()["name"], before.json()["owner"]) == ("ann", "ann")
    assert after.status_code == 401


def test_two_programs_on_one_database_know_each_others_sessions(app):
    cookie = Sessions(app, lasting_s=60).open("some-token")

    found = Sessions(app, lasting_s=60).read(cookie)

    assert isinstance(found, Session)
    assert found.token_id == "some-token"


def test_a_form_with_thousands_of_parts_is_refused(signed_in):
    client, _ = signed_in

    @client.app.post("/form")
    async def take(
        request: Request, who: Annotated[Principal, Depends(needs(Role.READER))]
    ) -> None:
        """A form of the console."""

    parts = [(f"part-{n}", (None, b"")) for n in range(5_000)]
    answer = client.post("/form", files=parts)

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")


@pytest.fixture
def taking():
    """Routes of one who takes forms as they come."""
    routes = guarded_router("forms")

    @routes.post("")
    async def take_form(request: Request, who: Submitter) -> int:
        return len(b"".join([part async for part in request.stream()]))

    return routes


def test_a_form_with_its_token_in_a_field_reaches_its_route_whole(signed_in, taking):
    client, csrf_token = signed_in
    client.app.include_router(taking)

    answer = client.post("/api/forms", files={"csrf_token": (None, csrf_token), "file": b"%PDF"})

    assert answer.status_code == 200
    assert answer.json() == int(answer.request.headers["content-length"])


@pytest.mark.parametrize(
    ("length", "body"),
    [
        ({"Content_Length": "1001"}, b"x" * 1001),
        ({"Transfer_Encoding": "chunked"}, b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n"),
    ],
    ids=["large", "of unknown length"],
)
def test_a_form_that_is_or_may_be_large_is_not_read_for_its_token(
    small_app, signed_in, taking, length, body
):
    client, csrf_token = signed_in
    options = ApiOptions(
        host="127.0.0.1", max_body_bytes=1000, body_limits={"/api/forms": 1_000_000}
    )
    api = create_api(small_app, options=options)
    api.include_router(taking)
    cookie = f"{COOKIE}={client.cookies[COOKIE]}"
    form = {"Cookie": cookie, "Content_Type": "multipart/form-data; boundary=b", **length}

    with served(api, options=options) as server, connected(server) as connection:
        # Nothing follows: whoever waits for the body waits until the connection is given up.
        connection.sendall(head("POST", "/api/forms", **form))
        refused = answers_with(connection, b"csrf_refused")
    with served(api, options=options) as server, connected(server) as connection:
        connection.sendall(head("POST", "/api/forms", X_CSRF_Token=csrf_token, **form))
        sent = b"x" * 1001
        connection.sendall(
            sent if "Content_Length" in length else b"3e9\r\n" + sent + b"\r\n0\r\n\r\n"
        )
        taken = answers_with(connection, b"1001")

    assert (refused, taken) == (True, True)
