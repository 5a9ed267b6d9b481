"""What the API says of itself: to programs as OpenAPI, to people as a page."""

from __future__ import annotations

import json
import pkgutil
import re
from html.parser import HTMLParser

import pytest

from holdfast.api import routes
from holdfast.api.app import NOUNS
from holdfast.api.middleware.hosts import PROBED
from holdfast.api.problems import KINDS


@pytest.fixture(scope="module")
def document(steady_client):
    return steady_client.get("/api/openapi.json").json()


def operations(document):
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_openapi_3_1(document):
    assert document["openapi"] == "3.1.0"
    assert document["info"]["title"] == "holdfast"


def test_every_operation_has_a_name_of_its_own_that_says_what_it_does(document):
    names = [operation["operationId"] for _, _, operation in operations(document)]

    assert len(names) == len(set(names)) > 10
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", name) for name in names)


def test_every_file_of_routes_is_served():
    found = pkgutil.walk_packages(routes.__path__, f"{routes.__name__}.")
    files = {module.name for module in found if not module.ispkg}

    assert {noun.__name__ for noun in NOUNS} == files


def test_the_names_of_operations_on_jobs_stay(document):
    names = {
        (method, path): operation["operationId"]
        for path, method, operation in operations(document)
        if path.startswith("/api/jobs")
    }

    assert names == {
        ("post", "/api/jobs"): "submit_job",
        ("get", "/api/jobs"): "list_jobs",
        ("get", "/api/jobs/{job_id}"): "get_job",
        ("get", "/api/jobs/{job_id}/events"): "list_job_events",
        ("get", "/api/jobs/{job_id}/attempts"): "list_job_attempts",
        ("get", "/api/jobs/{job_id}/results"): "get_job_results",
        ("post", "/api/jobs/{job_id}/retry"): "retry_job",
        ("post", "/api/jobs/{job_id}/cancel"): "cancel_job",
        ("post", "/api/jobs/retry"): "retry_jobs",
        ("post", "/api/jobs/cancel"): "cancel_jobs",
    }


def test_every_operation_under_api_names_its_role_and_its_problems(document):
    for path, method, operation in operations(document):
        if operation.get("x-credential") == "path":
            assert (operation["security"], "x-role" in operation) == ([], False)
            assert path == "/api/callbacks/{token}"
        elif path.startswith("/api/"):
            assert operation["x-role"] in {"reader", "submitter", "operator"}, (path, method)
            assert operation["security"] == [{"token": []}, {"session": []}]
            assert {"401", "403"} <= operation["responses"].keys()
        content = operation["responses"]["default"]["content"]
        assert content == {"application/problem+json": {"schema": {"$ref": PROBLEM}}}


PROBLEM = "#/components/schemas/Problem"


def test_the_framework_is_not_spoken_of(document):
    text = json.dumps(document)

    assert "HTTPValidationError" not in text
    assert '"ValidationError"' not in text
    assert document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(
        KINDS
    )


def test_nothing_of_the_console_and_of_pages_is_in_it(document):
    paths = set(document["paths"])

    assert {path for path in paths if not path.startswith("/api/")} == PROBED | {"/version"}
    assert "/api/reference" not in paths


class Page(HTMLParser):
    """Collects what a page would load, and its headings."""

    def __init__(self):
        super().__init__()
        self.loaded, self.ids, self.tags = [], set(), set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        self.ids.add(given.get("id"))
        if tag in {"script", "img", "link", "iframe"}:
            self.loaded.append(given.get("src") or given.get("href"))
        assert "style" not in given


def test_the_page_is_whole_without_anything_from_elsewhere(steady_client, document):
    page = Page()
    page.feed(steady_client.get("/api/reference").text)

    names = {operation["operationId"] for _, _, operation in operations(document)}
    assert names <= page.ids
    assert page.loaded == ["/problems/reference.css"]
    assert "script" not in page.tags
    assert steady_client.get(page.loaded[0]).headers["content-type"].startswith("text/css")


def test_the_pages_of_the_framework_are_not_served(steady_client):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert steady_client.get(path).status_code == 404
