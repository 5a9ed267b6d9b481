"""The console under a path of somebody else's application, and beside others' screens."""

import re

from fastapi import FastAPI
from starlette.testclient import TestClient

from holdfast.api import ApiOptions, create_api
from holdfast.console import Screen, mount_console
from tests.console.site import HTML, Form, Site


def test_under_a_path_every_address_stays_under_it(small_site: Site):
    filled = small_site.fill()
    secret = small_site.token()
    outer = FastAPI()
    outer.mount("/ops", small_site.api)
    client = TestClient(outer, base_url="http://127.0.0.1", headers=HTML, follow_redirects=False)

    entered = client.post("/ops/login", data={"token": secret, "next": "/jobs"})
    assert entered.headers["location"] == "/ops/jobs"
    for path in (
        "/",
        "/jobs",
        f"/jobs/{filled.failed}",
        "/groups",
        f"/jobs/{filled.queued}/cancel",
    ):
        page = client.get(f"/ops{path}")
        assert page.status_code == 200, path
        addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
        assert addresses
        assert [each for each in addresses if not each.startswith("/ops/")] == []
        assert 'data-base="/ops"' in page.text
    path = f"/ops/jobs/{filled.queued}/cancel"
    form = Form(client.get(path).text)
    assert form.action == path
    done = client.post(path, data={**form.fields, "reason": "not needed"})

    assert done.headers["location"] == f"/ops/jobs/{filled.queued}?done=job-cancelled"


def test_others_can_be_led_to_as_well(small_site: Site):
    api = create_api(small_site.app, options=ApiOptions(host="127.0.0.1"))
    mount_console(api, small_site.app, more=[Screen("lab", "Fault lab", "/lab", "lab", "l")])
    client = TestClient(
        api, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000), headers=HTML
    )

    page = client.get("/").text

    assert 'href="/lab" data-key="l"' in page
    assert "Fault lab" in page
    api.state.replays.stop()
