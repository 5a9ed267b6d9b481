"""Routes that a credential in the query or the body opens."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import Depends
from starlette.requests import Request

from holdfast.api.access import guarded_router, needs, request_credential
from holdfast.api.auth.principal import Principal
from holdfast.api.problems import Problem
from holdfast.core.values.role import Role


async def signed(request: Request) -> str | None:
    """Let those in whose query has the right signature."""
    given = request.query_params.get("signature")
    if given is None:
        return None
    if given != "right":
        raise Problem("callback_refused", "the signature is not good")
    return "bearer of a link"


async def posted(request: Request) -> str | None:
    """Let those in whose body is the word."""
    return "bearer of a word" if await request.body() == b"word" else None


async def counted(request: Request) -> str:
    """Let everybody in, and note that it was asked."""
    request.app.state.asked.append(request.url.path)
    return "bearer of a link"


@pytest.fixture
def routes(app):
    made = guarded_router("parcels")
    app.tokens.create("somebody", role="reader", by="test")

    @made.get("/either")
    def either(who: Annotated[Principal, Depends(needs(Role.SUBMITTER, carried=signed))]) -> str:
        return who.name

    @made.post("/carried")
    async def carried(
        request: Request, who: Annotated[Principal, Depends(request_credential(posted))]
    ) -> str:
        return f"{who.name}: {(await request.body()).decode()}"

    return made


@pytest.fixture
def client(app, serve, routes):
    client = serve(app)
    client.app.include_router(routes)
    return client


def test_a_good_link_opens_a_route_without_a_role_and_a_bad_one_does_not(client):
    good = client.get("/api/parcels/either?signature=right")
    bad = client.get("/api/parcels/either?signature=wrong")
    none = client.get("/api/parcels/either")

    assert (good.status_code, good.json()) == (200, "bearer of a link")
    assert (bad.status_code, bad.json()["code"]) == (403, "callback_refused")
    assert (none.status_code, none.json()["code"]) == (401, "credentials_missing")


def test_where_there_is_no_link_the_role_counts(app, client):
    _, reader = app.tokens.create("reader", role="reader", by="test")
    _, submitter = app.tokens.create("submitter", role="submitter", by="test")

    def answer(token):
        return client.get("/api/parcels/either", headers={"Authorization": f"Bearer {token}"})

    assert answer(reader).json()["code"] == "role_missing"
    assert answer(submitter).json() == "submitter"


def test_a_route_that_its_body_opens_takes_no_role_instead(app, client):
    _, operator = app.tokens.create("operator", role="operator", by="test")
    headers = {"Authorization": f"Bearer {operator}"}

    good = client.post("/api/parcels/carried", content=b"word")
    without = client.post("/api/parcels/carried", content=b"other", headers=headers)

    assert (good.status_code, good.json()) == (200, "bearer of a word: word")
    assert (without.status_code, without.json()["code"]) == (401, "credentials_missing")


def test_the_description_says_what_opens_such_a_route(client):
    paths = client.app.openapi()["paths"]

    either, carried = paths["/api/parcels/either"]["get"], paths["/api/parcels/carried"]["post"]

    assert (either["x-credential"], either["x-role"]) == ("request", "submitter")
    assert (carried["x-credential"], carried["security"]) == ("request", [])
    assert "x-role" not in carried


def test_who_asks_is_found_out_once_for_each_request(app, serve):
    made = guarded_router("parcels")

    @made.post("/sent")
    def sent(
        parcel: dict[str, str],
        who: Annotated[Principal, Depends(needs(Role.SUBMITTER, carried=counted))],
    ) -> str:
        return f"{who.name}: {parcel['to']}"

    client = serve(app)
    client.app.include_router(made)
    client.app.state.asked = []

    answer = client.post("/api/parcels/sent", json={"to": "ada"})

    assert answer.json() == "bearer of a link: ada"
    assert client.app.state.asked == ["/api/parcels/sent"]
