"""The API inside somebody else's application."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from holdfast.api import create_api


@pytest.fixture(params=["starlette", "fastapi"])
def outer(request, small_app):
    """An application with the API under `/engine`."""
    inner = create_api(small_app)
    if request.param == "starlette":
        return Starlette(routes=[Mount("/engine", inner)])
    app = FastAPI()
    app.mount("/engine", inner)
    return app


@pytest.fixture
def token(small_app):
    return small_app.tokens.create("ann", role="operator", by="test")[1]


@pytest.fixture
def client(outer, token):
    return TestClient(outer, headers={"Authorization": f"Bearer {token}"})


def test_it_answers_below_its_mount_and_names_places_there(client):
    made = client.post("/engine/api/jobs", json={"pipeline": "p"})
    client.post("/engine/api/jobs", json={"pipeline": "p"})
    page = client.get("/engine/api/jobs?limit=1")
    absent = client.get("/engine/api/jobs/x")

    assert made.status_code == 201
    assert made.headers["location"].startswith("/engine/api/jobs/")
    assert client.get(made.headers["location"]).status_code == 200
    assert page.headers["link"].startswith("</engine/api/jobs?limit=1&cursor=")
    assert absent.json()["type"] == "/engine/problems/job-not-found"
    assert absent.json()["instance"] == "/engine/api/jobs/x"
    assert client.get(absent.json()["type"]).status_code == 200
    assert client.get("/engine/api/openapi.json").json()["servers"] == [{"url": "/engine"}]


def test_it_needs_credentials_there_whoever_asks(outer):
    local = TestClient(outer, base_url="http://127.0.0.1", client=("127.0.0.1", 1))

    assert local.get("/engine/api/jobs").status_code == 401
    assert local.get("/engine/livez").status_code == 200


def test_a_session_there_is_kept_for_its_own_paths(outer, token):
    browser = TestClient(outer)

    opened = browser.post("/engine/api/session", headers={"Authorization": f"Bearer {token}"})

    assert "Path=/engine;" in opened.headers["set-cookie"] + ";"
    assert browser.get("/engine/api/session").json()["name"] == "ann"


def test_what_is_not_under_the_mount_is_the_outer_applications(client):
    assert "x-request-id" not in client.get("/elsewhere").headers
    assert client.get("/engine/elsewhere").json()["code"] == "not_found"
