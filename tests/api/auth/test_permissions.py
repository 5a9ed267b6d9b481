"""Routes that a named permission opens."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import Depends

from holdfast.api.access import guarded_router, permitted
from holdfast.api.auth.principal import Principal
from holdfast.errors import InvalidValue

Refunder = Annotated[Principal, Depends(permitted("shop.refund"))]


@pytest.fixture
def client(app, serve):
    routes = guarded_router("shop")

    @routes.post("/refunds")
    def refund(who: Refunder) -> str:
        return who.name

    client = serve(app)
    client.app.include_router(routes)
    return client


def as_bearer(app, **options) -> dict[str, str]:
    _, secret = app.tokens.create("ann", by="test", **options)
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(
    "options",
    [
        {"role": "reader", "permissions": ["shop.refund"]},
        {"role": "submitter", "permissions": ["shop.price", "shop.refund"]},
        {"role": "operator"},
    ],
)
def test_the_permission_or_an_operator_of_all_opens_the_route(client, app, options) -> None:
    answer = client.post("/api/shop/refunds", headers=as_bearer(app, **options))

    assert (answer.status_code, answer.json()) == (200, "ann")


@pytest.mark.parametrize(
    "options",
    [
        {"role": "reader"},
        {"role": "submitter", "permissions": ["shop.price"]},
        {"role": "operator", "owner": "shop"},
        {"role": "submitter", "owner": "shop"},
    ],
)
def test_everybody_else_is_refused_by_name(client, app, options) -> None:
    answer = client.post("/api/shop/refunds", headers=as_bearer(app, **options))

    assert answer.status_code == 403
    assert answer.json()["code"] == "role_missing"
    assert answer.json()["permission"] == "shop.refund"
    assert client.post("/api/shop/refunds").status_code == 401


def test_a_permission_gives_nothing_of_the_engines_own(client, app) -> None:
    bearer = as_bearer(app, role="reader", permissions=["shop.refund"])

    assert client.get("/api/jobs", headers=bearer).status_code == 200
    assert client.post("/api/queues/default/pause", headers=bearer).status_code == 403
    assert client.get("/api/tokens", headers=bearer).status_code == 403


def test_a_revoked_token_loses_its_permission_at_once(client, app) -> None:
    view, secret = app.tokens.create("ann", role="reader", permissions=["shop.refund"], by="test")
    app.tokens.revoke(view.id, by="test")

    bearer = {"Authorization": f"Bearer {secret}"}
    assert client.post("/api/shop/refunds", headers=bearer).status_code == 401


def test_tokens_with_permissions_are_made_and_listed_over_http(client, app) -> None:
    operator = as_bearer(app, role="operator")
    given = {"name": "bob", "role": "reader", "permissions": ["shop.refund"]}

    made = client.post("/api/tokens", json=given, headers=operator)
    listed = client.get("/api/tokens", headers=operator).json()["items"]

    assert made.status_code == 201
    assert [each["permissions"] for each in listed] == [["shop.refund"], []]
    wrong = {**given, "permissions": ["refund"]}
    assert client.post("/api/tokens", json=wrong, headers=operator).status_code == 422


def test_the_reference_names_the_permission(client) -> None:
    document = client.get("/api/openapi.json").json()

    assert document["paths"]["/api/shop/refunds"]["post"]["x-permission"] == "shop.refund"


def test_a_name_that_is_no_permission_is_refused_where_it_is_declared() -> None:
    with pytest.raises(InvalidValue, match=r"shop\.refund"):
        permitted("refund")
