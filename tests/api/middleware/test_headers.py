"""What browsers are told, under which names it is served, and where a browser may be sent."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from holdfast.api import ApiOptions, create_api
from holdfast.api.middleware.headers import CONTENT_SECURITY_POLICY, SecurityHeaders
from holdfast.api.middleware.hosts import Hosts, safe_path
from holdfast.errors import InvalidValue

TOKEN = "a-token-of-the-environment-0123456789"


@pytest.fixture
def client(steady_client):
    return steady_client


def under(name, path="/", **options):
    """Return the status of a request under a name, behind the check of names alone."""
    hosts = Hosts(PlainTextResponse("here"), options=ApiOptions(**options))
    return TestClient(hosts).get(path, headers={"Host": name}).status_code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/livez"),
        ("GET", "/api/jobs"),
        ("GET", "/nothing"),
        ("GET", "/api/reference"),
        ("POST", "/api/jobs"),
        ("GET", "/problems/not-found"),
    ],
)
def test_every_answer_tells_browsers_to_take_nothing_from_elsewhere(client, method, path):
    answer = client.request(method, path)

    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_the_policy_has_no_way_in_for_scripts_frames_and_forms():
    directives = dict(part.split(" ", 1) for part in CONTENT_SECURITY_POLICY.split("; "))

    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == "'self'"
    assert directives["frame-ancestors"] == directives["base-uri"] == "'none'"
    assert directives["form-action"] == "'self'"
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("path", ["/talk", "/talking/", "/", "/api/jobs"])
def test_devices_are_refused_to_every_page_but_those_that_were_given_them(path):
    pages = SecurityHeaders(
        PlainTextResponse("a page"), https=True, devices={"/talk": ("microphone",)}
    )

    given = TestClient(pages).get("/talk/").headers
    other = TestClient(pages).get(path).headers

    assert "microphone=(self)" in given["permissions-policy"]
    assert "camera=()" in given["permissions-policy"]
    assert "media-src 'self' blob:;" in given["content-security-policy"]
    assert "strict-transport-security" in given
    assert "microphone=()" in other["permissions-policy"]
    assert other["content-security-policy"] == CONTENT_SECURITY_POLICY


def test_a_device_that_nobody_knows_is_refused():
    with pytest.raises(InvalidValue, match="microphone"):
        ApiOptions(devices={"/talk": ("telephone",)})


def test_https_is_insisted_on_only_where_there_is_some(client):
    assert "strict-transport-security" not in client.get("/livez").headers


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("evil.example:80", 421),
        ("127.0.0.1@evil.example", 421),
        ("evil.example/127.0.0.1", 421),
        ("192.0.2.1", 421),
        ("", 421),
    ],
)
def test_on_loopback_it_answers_to_names_of_this_machine_only(client, name, status):
    answer = client.get("/livez", headers={"Host": name})

    assert answer.status_code == status
    if status == 421:
        assert answer.json()["code"] == "host_refused"
        assert "evil" not in answer.text


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("jobs.example.org", 200),
        ("jobs.example.org:8443", 200),
        ("a.wild.example", 200),
        ("wild.example", 421),
        ("evil.example", 421),
        ("127.0.0.1", 200),
    ],
)
def test_elsewhere_it_answers_to_the_names_it_was_given(name, status):
    assert under(name, host="0.0.0.0", hosts=("jobs.example.org", "*.wild.example")) == status


def test_elsewhere_without_names_it_answers_to_any():
    assert under("whatever.example", host="0.0.0.0") == 200
    assert under("a b", host="0.0.0.0") == 421


def test_probes_may_ask_by_address_where_others_may_not():
    for path, status in (
        ("/readyz", 200),
        ("/metrics", 200),
        ("/api/jobs", 421),
        ("/readyz/", 421),
    ):
        assert under("10.1.2.3:8000", path, host="0.0.0.0", hosts=("jobs.example.org",)) == status
    assert under("evil.example", "/readyz", host="127.0.0.1") == 421


@pytest.mark.parametrize("name", ["http://jobs.example.org", "a b", "jobs:80", "*", "*.*.org", ""])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InvalidValue):
        ApiOptions(hosts=(name,))


def test_no_answer_repeats_the_name_it_was_asked_under(steady_app):
    options = ApiOptions(host="0.0.0.0", token=TOKEN)
    client = TestClient(
        create_api(steady_app, options=options), headers={"Authorization": f"Bearer {TOKEN}"}
    )
    names = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}

    made = client.post("/api/jobs", json={"pipeline": "p"}, headers=names)
    client.post("/api/jobs", json={"pipeline": "p"}, headers=names)
    page = client.get("/api/jobs?limit=1", headers=names)

    for answer in (made, page, client.get("/api/nothing", headers=names)):
        assert "evil" not in answer.text
        assert "evil" not in str(dict(answer.headers))
    assert made.headers["location"].startswith("/api/jobs/")
    assert page.headers["link"].startswith("</api/jobs?")


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "/ /evil.example",
        "/a\\b",
        "/é",
        "",
        "/" + "a" * 3000,
        None,
    ],
)
def test_a_browser_is_sent_nowhere_else(wanted):
    assert safe_path(wanted, default="/jobs") == "/jobs"


@pytest.mark.parametrize("wanted", ["/", "/jobs", "/jobs?state=failed&limit=5", "/jobs/0190#top"])
def test_a_browser_is_sent_to_a_page_of_this_server(wanted):
    assert safe_path(wanted, default="/") == wanted
