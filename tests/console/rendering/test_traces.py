"""From a job to its trace, wherever that is looked at."""

from contextlib import closing

import pytest
from starlette.testclient import TestClient

from holdfast.api import ApiOptions, create_api
from holdfast.console import mount_console
from holdfast.errors import InvalidValue
from holdfast.testing import drain
from tests.console.site import HTML, Site

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
STORED = f"00-{TRACE_ID}-b7ad6b7169203331-01;vendor=1"
URL = "https://traces.example.org/trace/{trace_id}?from=holdfast"


@pytest.fixture
def site(sqlite_url):
    with closing(Site(sqlite_url)) as made:
        yield made


def visitor(site, trace_url):
    api = create_api(site.app, options=ApiOptions(host="127.0.0.1"))
    mount_console(api, site.app, trace_url=trace_url)
    return TestClient(api, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000), headers=HTML)


def test_the_pages_of_a_job_and_of_its_dead_letter_lead_to_its_trace(site):
    site.down = True
    job_id = site.app.submit("p", {"n": 1}, trace=STORED).id
    drain(site.app)
    client = visitor(site, URL)

    for path in (f"/jobs/{job_id}", f"/dead-letters/{job_id}"):
        page = client.get(path).text
        assert f'href="https://traces.example.org/trace/{TRACE_ID}?from=holdfast"' in page
        assert page.count(TRACE_ID) == 2, "in the link and as its text"


def test_without_an_address_the_id_alone_is_shown(site):
    job_id = site.app.submit("p", {"n": 1}, trace=STORED).id

    page = visitor(site, None).get(f"/jobs/{job_id}").text

    assert f'<span class="mono">{TRACE_ID}</span>' in page
    assert "b7ad6b7169203331" not in page


def test_what_somebody_stored_in_a_form_of_their_own_is_shown_and_leads_nowhere(site):
    job_id = site.app.submit("p", {"n": 1}, trace="order-7 <b>").id

    page = visitor(site, URL).get(f"/jobs/{job_id}").text

    assert "order-7 &lt;b&gt;" in page
    assert "traces.example.org" not in page


@pytest.mark.parametrize("url", ["https://traces.example.org/", "javascript:{trace_id}", ""])
def test_an_address_that_leads_to_no_trace_is_refused(site, url):
    with pytest.raises(InvalidValue, match="trace_url"):
        visitor(site, url)
