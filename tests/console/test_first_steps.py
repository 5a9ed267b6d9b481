"""What a newcomer is shown: first steps, addresses that lead somewhere, and pages for mistakes."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from holdfast import Holdfast
from holdfast.api import ApiOptions, create_api
from holdfast.cli.processes.site import site_of
from holdfast.config.settings import Settings
from holdfast.console import Screen, mount_console
from holdfast.pages import pages_of
from holdfast.systems import Built, Parts, System
from holdfast.testing import drain
from tests.console.site import HTML, NOBODY, Site

JSON = {"Accept": "application/json"}
CONVERTER = Screen("converter", "Converter", "/convert/", "jobs", summary="PDF in, XML out.")
LAB = Screen("lab", "Fault lab", "/lab", "lab", "l")


def client_of(api) -> TestClient:
    return TestClient(api, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000), headers=HTML)


def with_systems(app: Holdfast) -> TestClient:
    """A console beside the page of a system, as `holdfast up` serves both."""
    parts = Parts(pages=lambda _: pages_of("converter.pages"), place="convert")
    system = System(name="converter", title="Converter", build=lambda _: parts)
    return client_of(site_of(app, Settings(), built=[Built(system, parts)]))


def test_the_overview_of_an_empty_database_says_what_to_do_first(site: Site):
    api = create_api(site.app, options=ApiOptions(host="127.0.0.1"))
    mount_console(api, site.app, more=[CONVERTER, LAB])

    page = client_of(api).get("/").text

    assert "What to do first" in page
    assert '<a href="/lab">Watch upstreams fail</a>' in page
    assert '<a href="/convert/">Open Converter</a>' in page
    assert "PDF in, XML out." in page
    assert "holdfast submit p" in page
    assert "docs/tutorial.md" in page
    api.state.replays.stop()


def test_once_something_was_submitted_it_says_so_no_more(site: Site):
    site.app.submit("p", {"n": 1})

    assert "What to do first" not in site.local().get("/").text


def test_beside_the_lab_whose_systems_submit_by_themselves_it_says_so_for_half_an_hour(site: Site):
    api = create_api(site.app, options=ApiOptions(host="127.0.0.1"))
    mount_console(api, site.app, more=[LAB])
    client = client_of(api)
    site.app.submit("p", {"n": 1})
    drain(site.app)

    pages = [client.get("/").text]
    site.clock.advance(29 * 60)
    pages.append(client.get("/").text)
    site.clock.advance(2 * 60)
    pages.append(client.get("/").text)

    assert ["What to do first" in page for page in pages] == [True, True, False]
    assert "Nothing has been submitted" not in pages[0]
    api.state.replays.stop()


def test_an_owner_is_not_told_what_an_operator_may_do_first(site: Site):
    assert "What to do first" not in site.signed_in("reader", owner="ada").get("/").text


def test_the_address_of_the_api_leads_a_browser_to_the_reference(small_site: Site):
    client = small_site.local()

    for path in ("/api", "/api/"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, "/api/reference")
    assert "<h1>" in client.get("/api/reference").text


def test_the_address_of_the_api_leads_a_program_to_its_description(small_site: Site):
    answer = small_site.local().get("/api", headers=JSON)

    assert answer.headers["location"] == "/api/openapi.json"


def test_a_browser_without_credentials_is_asked_for_them_at_the_reference(small_site: Site):
    small_site.token()
    client = small_site.local()

    for path in ("/api", "/api/reference"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert 'name="token"' in answer.text
    program = client.get("/api", headers=JSON)
    assert program.status_code == 401
    assert program.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/nothing", "/convert/nothing", "/convert/static/x/y"])
def test_an_address_without_a_page_speaks_to_people(small_site: Site, path: str):
    answer = with_systems(small_site.app).get(path)

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "No page is at this address." in answer.text
    assert 'href="/">Go to the console</a>' in answer.text
    assert '<a class="nowrap" href="/convert/">Converter</a>' in answer.text
    assert "/api/reference" not in answer.text


@pytest.mark.parametrize("path", ["/nothing", "/convert/nothing", "/api/nothing"])
def test_an_address_without_a_page_is_a_problem_for_programs(small_site: Site, path: str):
    answer = with_systems(small_site.app).get(path, headers=JSON)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["instance"]) == ("not_found", path)


def test_a_row_that_is_not_there_is_told_in_words_for_people(small_site: Site):
    page = small_site.local().get(f"/jobs/{NOBODY}").text

    assert "There is no such job" in page
    assert "It may have been removed, or belong to another owner." in page


def test_the_page_of_a_system_takes_no_other_method(small_site: Site):
    answer = with_systems(small_site.app).post("/convert/", headers=JSON)

    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert answer.json()["code"] == "method_not_allowed"
