"""Who sees what, who may act, and what another site can make a browser do (nothing)."""

import pytest

from holdfast.core.job.job import JobState
from tests.console.action_cases import CASES, OPEN_TO_ALL, WHY, address, started
from tests.console.site import NOBODY, Form, Site, answered, at

ELSEWHERE = [
    "//evil.example/",
    "https://evil.example/",
    "/\\evil.example",
    "\\\\evil.example",
    "/%09/evil.example\t",
    "javascript:alert(1)",
    "/login",
    "/ /evil.example",
    "",
]
FLEET = ["/queues", "/workers", "/upstreams", "/upstreams/gateway", "/outbox", "/audit"]


def unchanged(site: Site) -> tuple[object, ...]:
    """All that an action could have changed."""
    app = site.app
    return (
        app.audit(),
        [view.job for view in app.jobs()],
        [view.letter for view in app.dead.find()],
        [view.state for view in app.upstreams.list()],
        app.queues(),
        app.workers(),
        [view.delivery for view in app.deliveries.find()],
        app.outbox.find(),
        [view.replay for view in app.replays.latest()],
    )


def test_nobody_sees_anything_before_signing_in(small_site: Site):
    site = small_site
    site.token()
    client = site.local()
    paths = [
        path for path in site.console_routes("GET") if path not in {"/login", "/static/{name}"}
    ]

    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 401, path
        assert 'name="token"' in answer.text
        assert "Overview" not in answer.text


def test_another_site_cannot_make_a_signed_in_browser_act(small_site: Site):
    """T06: cross-origin forms and fetches, for every route that changes something."""
    site = small_site
    filled = site.fill()
    started(site, filled)
    client = site.signed_in()
    before = unchanged(site)

    for case in CASES:
        path = address(site, filled, case)
        form = Form(client.get(path).text)
        token = form.fields.pop("csrf_token")
        whole = {**form.fields, case.field: WHY}
        tried = {**whole, "csrf_token": token}
        tries = [
            client.post(path, data=whole),
            client.post(path, data={**whole, "csrf_token": ""}),
            client.post(path, data={**whole, "csrf_token": token[:-2] + "xx"}),
            client.post(path, data=tried, headers={"Origin": "http://evil.example"}),
            client.post(path, data=tried, headers={"Origin": "null"}),
            client.post(path, data=tried, headers={"Sec-Fetch-Site": "cross-site"}),
            client.post(path, data=tried, headers={"Sec-Fetch-Site": "same-site"}),
            client.post(path, json=tried),
            client.post(path, content="reason=x", headers={"Content-Type": "text/plain"}),
        ]
        assert [answer.status_code for answer in tries] == [403] * len(tries), path

    assert unchanged(site) == before


def test_another_site_cannot_act_for_whoever_sits_at_the_machine(small_site: Site):
    site = small_site
    filled = site.fill()
    started(site, filled)
    client = site.local()
    before = unchanged(site)

    for case in CASES:
        path = address(site, filled, case)
        whole = {**Form(client.get(path).text).fields, case.field: WHY}
        tries = [
            client.post(path, data=whole, headers={"Origin": "http://evil.example"}),
            client.post(path, data=whole, headers={"Sec-Fetch-Site": "cross-site"}),
        ]
        assert [answer.status_code for answer in tries] == [403, 403], path

    assert unchanged(site) == before


def test_a_token_of_another_session_is_of_no_use(small_site: Site):
    site = small_site
    filled = site.fill()
    path = f"/jobs/{filled.queued}/cancel"
    other = Form(site.signed_in().get(path).text).fields["csrf_token"]

    answer = site.signed_in().post(path, data={"reason": WHY, "csrf_token": other})

    assert answer.status_code == 403
    assert site.app.job(filled.queued).state is JobState.QUEUED


def test_looking_changes_nothing(small_site: Site):
    site = small_site
    filled = site.fill()
    client = site.signed_in()
    parts = {
        "job_id": filled.failed,
        "letter_id": filled.failed,
        "fingerprint": filled.fingerprint,
        "delivery_id": filled.delivery,
        "message_id": filled.message,
        "worker_id": filled.worker,
        "queue": "work",
        "name": "gateway",
        "replay_id": NOBODY,
    }
    before = unchanged(site)

    for path in site.console_routes("GET"):
        client.get(at(path, **parts))

    assert unchanged(site) == before


@pytest.mark.parametrize("role", ["reader", "submitter"])
def test_who_may_only_look_is_offered_nothing_and_refused_everything(small_site: Site, role: str):
    site = small_site
    filled = site.fill()
    started(site, filled)
    client = site.signed_in(role)
    before = unchanged(site)
    failed = filled.failed

    for path in ("/", "/jobs", f"/jobs/{failed}", "/groups", f"/dead-letters/{failed}"):
        page = client.get(path)
        assert page.status_code == 200
        assert "data-ask" not in page.text
    csrf = client.get("/").text.partition('name="csrf_token" value="')[2].partition('"')[0]
    for case in CASES:
        path = address(site, filled, case)
        assert client.get(path).status_code == 403, path
        answer = client.post(path, data={"reason": WHY, "csrf_token": csrf})
        assert answer.status_code == 403, path
        assert "this takes the role operator" in answer.text

    assert unchanged(site) == before


def test_an_owner_sees_their_own_and_nothing_of_others(site: Site):
    filled = site.fill(owner="ada")
    ada, bob = site.signed_in(owner="ada"), site.signed_in(owner="bob")
    own = [f"/jobs/{filled.failed}", f"/dead-letters/{filled.failed}", f"/jobs/{filled.queued}"]

    assert [ada.get(path).status_code for path in own] == [200, 200, 200]
    for path in own:
        theirs = bob.get(path)
        missing = bob.get(path.replace(filled.failed, NOBODY).replace(filled.queued, NOBODY))
        assert theirs.status_code == missing.status_code == 404
        assert _without_ids(theirs.text) == _without_ids(missing.text)
    for path in ("/", "/jobs", "/jobs?owner=ada", "/dead-letters", "/groups", "/deliveries"):
        page = bob.get(path).text
        assert filled.failed not in page
        assert "GATEWAY_DOWN" not in page


def test_an_owner_acts_on_their_own_and_on_nothing_of_others(site: Site):
    filled = site.fill(owner="ada")
    ada, bob = site.signed_in(owner="ada"), site.signed_in(owner="bob")
    path = f"/jobs/{filled.queued}/cancel"
    stolen = Form(ada.get(path).text).fields["reason"]

    assert bob.get(path).status_code == 404
    bobs = Form(bob.get("/jobs/bulk/cancel").text).fields
    assert bob.post(path, data={**bobs, "reason": stolen or WHY}).status_code == 404
    bulk = bob.post("/jobs/bulk/cancel", data={**bobs, "filter": "owner=ada", "reason": WHY})
    assert bulk.status_code == 409
    assert site.app.job(filled.queued).state is JobState.QUEUED
    assert answered(ada, path, reason=WHY).status_code == 303


def test_what_concerns_every_owner_is_not_shown_to_one(small_site: Site):
    client = small_site.signed_in("operator", "ada")
    overview = client.get("/").text

    for path in FLEET:
        page = client.get(path)
        assert page.status_code == 403
        assert "every owner" in page.text
        assert f'href="{path}"' not in overview


def test_signing_in_opens_a_session_and_signing_out_ends_it(small_site: Site):
    site = small_site
    secret = site.token()
    client = site.local()

    answer = client.post("/login", data={"token": secret, "next": "/jobs?state=failed"})

    assert answer.headers["location"] == "/jobs?state=failed"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert secret.lower() not in cookie
    page = client.get("/jobs")
    assert page.status_code == 200
    csrf = page.text.partition('name="csrf_token" value="')[2].partition('"')[0]
    assert client.post("/logout").status_code == 403
    assert client.post("/logout", data={"csrf_token": csrf}).status_code == 303
    assert client.get("/jobs").status_code == 401


def test_a_revoked_token_ends_its_sessions(small_site: Site):
    site = small_site
    view, secret = site.app.tokens.create("ada", role="operator", by="test")
    client = site.local()
    client.post("/login", data={"token": secret})
    assert client.get("/").status_code == 200

    site.app.tokens.revoke(view.id, by="test")

    assert client.get("/").status_code == 401


def test_a_wrong_token_opens_nothing_and_is_shown_nowhere(small_site: Site):
    site = small_site
    site.token()

    answer = site.local().post("/login", data={"token": "hf_wrong"})

    assert answer.status_code == 401
    assert "unknown, or was revoked" in answer.text
    assert "hf_wrong" not in answer.text
    assert "set-cookie" not in answer.headers


def test_signing_in_leads_to_this_console_only(small_site: Site):
    secret = small_site.token()
    client = small_site.local()

    for onward in ELSEWHERE:
        answer = client.post("/login", data={"token": secret, "next": onward})
        assert answer.headers["location"] == "/", onward


def test_another_site_cannot_sign_a_browser_in(small_site: Site):
    site = small_site
    secret = site.token()

    answer = site.local().post(
        "/login", data={"token": secret}, headers={"Origin": "http://evil.example"}
    )

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_what_is_open_to_all_is_a_short_list(small_site: Site):
    site = small_site
    site.token()
    client = site.local()

    opened = [
        path
        for path in site.console_routes("POST")
        if client.post(path, data={"reason": WHY}).status_code not in {401, 403}
    ]

    assert set(opened) <= OPEN_TO_ALL


def _without_ids(page: str) -> str:
    """A page without what differs by request."""
    start, _, rest = page.partition('Request <span class="mono">')
    return start + rest.partition("</span>")[2]
