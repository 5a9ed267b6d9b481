"""`/livez`, `/readyz`, `/healthz` and `/version`: for probes, whoever asks."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from holdfast import Holdfast
from holdfast.api import ApiOptions, create_api
from tests.api.clients import client_of

TOKEN = "a-token-of-the-environment-0123456789"


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version"])
def test_probes_need_no_credentials(steady_app, path):
    api = create_api(steady_app, options=ApiOptions(token=TOKEN))
    client = client_of(api)

    assert client.get("/api/jobs").status_code == 401
    assert client.get(path).status_code == 200
    if path != "/version":
        assert client.head(path).status_code == 200


def test_a_process_is_ready_while_the_store_answers_with_the_right_schema(app, serve):
    client = serve(app)

    assert client.get("/readyz").json() == {"status": "ok"}
    assert client.get("/healthz?verbose").json() == {
        "status": "ok",
        "checks": {"store": "ok", "schema": "ok", "draining": "ok"},
    }


def test_a_process_is_not_ready_before_the_database_is_migrated(empty_database_url, serve):
    with Holdfast(empty_database_url, auto_migrate=False) as app:
        answer = serve(app).get("/readyz?verbose")

    assert answer.status_code == 503
    assert answer.json()["checks"]["schema"] == "has yet to be migrated"
    assert answer.headers["retry-after"] == "5"


def test_a_process_is_not_ready_once_a_newer_one_has_migrated_the_database(app, serve):
    client = serve(app)
    assert client.get("/readyz").status_code == 200
    table = "holdfast_migration" if app.store.url.startswith("sqlite") else "holdfast.migration"
    with app.store.transaction() as connection:
        connection.execute(f"insert into {table} values (999, '0999_later', 'x', 0)")

    answer = client.get("/readyz?verbose")

    assert answer.status_code == 503
    assert answer.json()["checks"]["schema"] == "is newer than this holdfast"


def test_a_process_is_alive_but_not_ready_without_its_database(serve):
    with Holdfast("postgresql://nobody:hunter2-hunter2@127.0.0.1:1/none") as app:
        client = serve(app)

        alive, ready = client.get("/livez"), client.get("/readyz?verbose")
        asked = client.get("/api/jobs")

    assert alive.status_code == 200
    assert ready.status_code == 503
    assert ready.json()["checks"]["store"] == "cannot be reached"
    assert (asked.status_code, asked.json()["code"]) == (503, "store_unavailable")
    for answer in (ready, asked):
        assert "hunter2" not in answer.text
        assert "127.0.0.1" not in answer.text


def test_a_process_that_is_about_to_end_is_not_ready_but_alive(steady_app):
    api = create_api(steady_app, options=ApiOptions(host="127.0.0.1"))
    client = client_of(api)

    api.state.serving.readiness.drain()

    assert client.get("/livez").status_code == 200
    assert client.get("/readyz").json() == {"status": "not ready"}
    assert client.get("/readyz").status_code == client.head("/readyz").status_code == 503


def test_it_tells_which_version_it_is(steady_client):
    assert steady_client.get("/version").json() == {
        "name": "holdfast",
        "version": version("holdfast"),
    }
