"""What is served: the page and its files, to be kept and asked about, and nothing to change."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from apps.converter.tests.pages.stand_in_api import StandInApi
from converter.pages import pages

TYPES = {
    "": "text/html; charset=utf-8",
    "static/page.js": "text/javascript; charset=utf-8",
    "static/frame.css": "text/css; charset=utf-8",
    "static/icon.svg": "image/svg+xml",
}


@pytest.fixture
def client(api: StandInApi) -> TestClient:
    return TestClient(Starlette(routes=[Mount("/convert", pages(api.app))]))


@pytest.mark.parametrize("path", TYPES)
def test_every_file_has_its_type_and_is_asked_about_before_it_is_used_again(client, path):
    first = client.get(f"/convert/{path}")
    again = client.get(f"/convert/{path}", headers={"If-None-Match": first.headers["etag"]})
    changed = client.get(f"/convert/{path}", headers={"If-None-Match": '"another"'})

    assert (first.status_code, first.headers["content-type"]) == (200, TYPES[path])
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert (changed.status_code, changed.content) == (200, first.content)


def test_a_head_tells_what_a_get_would_without_the_content(client):
    told, got = client.head("/convert/"), client.get("/convert/")

    assert (told.status_code, told.content) == (200, b"")
    assert dict(told.headers) == dict(got.headers)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["", "static/page.js"])
def test_nothing_but_get_and_head_is_answered(client, method, path):
    assert client.request(method, f"/convert/{path}").status_code == 405


@pytest.mark.parametrize(
    "path",
    ["static/nothing.js", "static/../pages.py", "static/%2e%2e%2fpages.py", "pages.py", "static/"],
)
def test_what_is_no_file_of_the_page_is_not_found(client, path):
    assert client.get(f"/convert/{path}").status_code == 404


def test_whatever_the_page_names_is_served(client):
    folder = files("converter.pages")
    named = re.findall(r'(?:href|src)="(static/[^"]+)"', folder.joinpath("index.html").read_text())
    for each in folder.joinpath("static").iterdir():
        named += [f"static/{name}" for name in re.findall(r'"\./([^"]+)"', each.read_text())]

    missing = [each for each in named if client.get(f"/convert/{each}").status_code != 200]

    assert len(named) > 8
    assert missing == []
