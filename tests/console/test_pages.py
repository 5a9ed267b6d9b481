"""What the pages show."""

import re

import httpx
import pytest

from holdfast import GiveUp, Pipeline, Retry, Upstream
from holdfast.classify import PublicCode, PublicCodes
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.upstream.rate import Bucket
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant, to_datetime
from holdfast.store.contract import JobFilter
from holdfast.store.tables.activity import MINUTE_US, ActivityCount
from holdfast.testing import Script, drain, run_inline
from holdfast.testing.conformance.deliveries import logged
from holdfast.views.durations import span
from tests.console.site import NOBODY, POLICY, Site, at

REQUEST = httpx.Request("POST", "http://127.0.0.1/print")


def parts_of(filled) -> dict[str, str]:
    return {
        "job_id": filled.failed,
        "letter_id": filled.failed,
        "fingerprint": filled.fingerprint,
        "delivery_id": filled.delivery,
        "message_id": filled.message,
        "worker_id": filled.worker,
        "queue": "work",
        "name": "gateway",
    }


def test_every_page_is_there_before_anything_has_happened(site: Site):
    client = site.local()
    paths = [path for path in site.console_routes("GET") if "{" not in path]

    found = {path: client.get(path) for path in paths}

    assert {path: page.status_code for path, page in found.items() if path != "/search"} == {
        path: 200 for path in paths if path != "/search"
    }
    assert "No jobs yet" in found["/jobs"].text
    assert "Nothing waits for you" in found["/groups"].text
    assert "No worker has reported" in found["/workers"].text


def test_every_page_is_there_when_much_has_happened(site: Site):
    filled = site.fill()
    replay = site.app.replays.start(
        "one", filled.fingerprint, by="ada", cause="transient", evidence="it is back"
    )
    client = site.local()
    parts = {**parts_of(filled), "replay_id": replay.id}
    special = {"/search", "/static/{name}", "/jobs/{job_id}/result.json"}
    paths = [path for path in site.console_routes("GET") if path not in special]

    found = {path: client.get(at(path, **parts)).status_code for path in paths}

    assert found == dict.fromkeys(paths, 200)


def test_the_overview_says_what_needs_somebody_first(site: Site):
    client = site.local()
    assert "Everything is well." in client.get("/").text
    site.dead(1, 2)

    page = client.get("/").text

    assert "1 thing needs a person." in page
    assert "2 dead letters: GATEWAY_DOWN in stage convert of p, which calls gateway." in page
    assert "GATEWAY_DOWN" in page
    assert "Replay…" in page


def test_the_overview_says_which_deliveries_wait_where_no_dead_letter_does(site: Site):
    (made,) = site.app.deliver("review-1", recipients=["jane@example.test"], message={})
    began_at = site.app.clock.now()
    site.app.store.deliveries.apply(
        [made.delivery._replace(state=DeliveryState.UNKNOWN, began_at=began_at)]
    )

    page = site.local().get("/").text

    assert "1 delivery by mail is in doubt: nobody knows whether it arrived." in page
    assert "/deliveries?state=unknown" in page
    assert "Everything is well" not in page


def test_a_delivery_shows_what_came_of_its_sends(site: Site):
    (made,) = site.app.deliver("review-1", recipients=["jane@example.test"], message={})
    site.app.store.deliveries.apply([made.delivery], log=[logged(made.delivery)])

    page = site.local().get(f"/deliveries/{made.id}").text

    assert "in doubt" in page
    assert ("UPSTREAM_5XX" in page, "503" in page) == (True, True)


def test_the_overview_counts_what_happened_by_the_minute(site: Site):
    site.fill()

    page = site.local().get("/").text

    assert "In the last hour: 1 completed, 0 retried, 1 failed for good" in page


@pytest.mark.parametrize(
    ("minutes_ago", "completed", "least", "most"),
    [(0, 6, 1.2, 1.5), (0, 60, 12, 15), (1, 1_000_000, 200_000, 250_000), (5, 1_000_000, 0, 0)],
)
def test_the_overview_tells_the_pace_of_late(
    small_site: Site, minutes_ago: int, completed: int, least: float, most: float
):
    app = small_site.app
    at = Instant(app.clock.now() - minutes_ago * MINUTE_US)
    minute = Instant(at - at % MINUTE_US)
    app.store.activity.add([ActivityCount(minute, "one", "only", "completed", "", completed, 0)])

    page = small_site.local().get("/").text

    shown = re.search(r"Pace</[^>]*>\s*<[^>]*>\s*([\d.\u202f]+)\s*<", page)
    assert shown is not None
    assert least <= float(shown[1].replace("\u202f", "")) <= most


def test_the_overview_tells_of_a_breaker_that_holds_jobs_back(site: Site):
    site.worker()
    site.open_breaker()

    page = site.local().get("/").text

    assert "The breaker of gateway is open, tried again in 30 s: 3 calls in a row failed" in page
    assert "Nothing passes, tried again in 30 s" in page


@pytest.mark.parametrize(
    ("dead", "verdict"),
    [
        ((1,), "1 dead letter: GATEWAY_DOWN in stage convert of p, which calls gateway."),
        ((1, 2), "2 dead letters: GATEWAY_DOWN in stage convert of p, which calls gateway."),
    ],
)
def test_the_overview_says_how_many_letters_wait(
    small_site: Site, dead: tuple[int, ...], verdict: str
):
    small_site.dead(*dead)

    assert verdict in small_site.local().get("/").text


def test_the_pages_tell_of_a_job_whose_worker_is_gone(site: Site):
    site.app.submit("p", {"n": 1})
    holder, now = WorkerId(site.worker()), site.clock.now()
    site.app.store.claim(
        [Route("work", "p", "fetch")], limit=1, holder=holder, lease_us=30 * SECOND_US, now=now
    )
    client = site.local()
    assert "1 being run" in client.get("/").text
    site.clock.advance(90)

    overview, workers = client.get("/").text, client.get("/workers").text

    assert "0 being run" in overview
    assert "1 worker ended without a word: host-1-abc. 1 job was leased by it." in overview
    assert "nobody runs it" in workers


def test_the_overview_tells_of_a_paused_queue_beside_dead_letters(site: Site):
    site.dead(1)
    site.worker()
    site.app.submit("p", {"n": 2})
    site.app.pause_queue("work", by="ada", reason="the gateway is moved")

    page = site.local().get("/").text

    assert "2 things need a person." in page
    assert "Queue work is paused with 1 job due: by ada, 0 ms ago: the gateway is moved." in page
    assert "holdfast queues resume work" in page


def test_every_place_says_that_a_job_is_held_and_by_what(site: Site):
    site.app.upstreams.force_open("gateway", by="ada", reason="maintenance")
    job = site.app.submit("p", {"n": 1})
    run_inline(site.app)
    site.worker()
    assert job.get().job.stage == "convert"
    other = site.app.submit("p", {"n": 2}, delay=60)
    client = site.local()

    sentence = "Held: the breaker of upstream gateway is held open by ada: maintenance."
    assert sentence in client.get(f"/jobs/{job.id}").text
    assert client.get(f"/api/jobs/{job.id}").json()["waiting"]["sentence"] == sentence
    listed = client.get("/api/jobs?label=held").json()["items"]
    assert [(item["id"], item["label"]) for item in listed] == [(job.id, "held")]
    assert ">held</span>" in client.get("/").text
    page = client.get("/jobs?label=held").text
    assert (f"/jobs/{job.id}" in page, f"/jobs/{other.id}" in page) == (True, False)
    assert "Cancel active that match" not in page
    assert client.post("/jobs/bulk/cancel?label=held", data={"reason": "r"}).status_code == 422
    assert client.get("/jobs?label=other").status_code == 422


def test_a_bulk_action_is_one_row_of_the_audit_log_that_unfolds(site: Site):
    ids = [site.app.submit("p", {"n": n}).id for n in range(3)]
    site.app.cancel_many(JobFilter(queue="work"), by="ada", reason="wrong list")
    other = site.app.submit("p", {"n": 9}).id
    site.app.cancel(other, by="ada", reason="another")
    client = site.local()

    page = client.get("/audit").text
    listed = client.get("/api/audit").json()["items"]

    (unfolds,) = re.findall(r"<details id=\"audit-.*?</details>", page, re.DOTALL)
    assert "<summary>3 jobs</summary>" in unfolds
    assert all(f"/jobs/{job_id}" in unfolds for job_id in ids)
    assert page.count("wrong list") == 1
    assert f"/jobs/{other}" in page.replace(unfolds, "")
    assert {item["subject"] for item in listed if item["reason"] == "wrong list"} == set(ids)


def test_the_audit_log_is_paged_by_rows_and_loses_no_entry(site: Site):
    for n in range(103):
        site.app.pause_queue(f"q{n}", by="ada", reason=f"because {n}")
        site.app.submit("p", {"n": n})
    site.app.cancel_many(JobFilter(queue="work"), by="ada", reason="wrong list")

    client = site.local()
    first = client.get("/audit").text
    (following,) = re.findall(r'href="(/audit\?[^"]*)" rel="next"', first)
    second = client.get(following.replace("&amp;", "&")).text

    assert "<summary>103 jobs</summary>" in first
    told = re.findall(r"because \d+", first + second)
    assert sorted(told) == sorted(f"because {n}" for n in range(103))


def test_the_overview_tells_that_nobody_works(site: Site):
    site.app.submit("p", {"n": 1})

    page = site.local().get("/").text

    assert "is due, and nobody runs it. No live worker serves queue work." in page


def test_a_job_says_why_it_waits(site: Site):
    client = site.local()
    job = site.app.submit("p", {"n": 1}).id
    assert "No live worker serves queue work." in client.get(f"/jobs/{job}").text
    site.worker()
    assert "It waits for a free worker" in client.get(f"/jobs/{job}").text
    site.app.pause_queue("work", by="ada")

    assert "Queue work was paused by ada" in client.get(f"/jobs/{job}").text


def test_a_job_says_how_many_attempts_it_has_made_and_when_it_goes_on(small_site: Site):
    client = small_site.local()
    job = small_site.app.submit("p", {"n": 1}, delay=60).id
    scheduled = client.get(f"/jobs/{job}").text
    small_site.clock.advance(61)
    due = client.get(f"/jobs/{job}").text

    assert "<dt>Next run</dt>" in scheduled
    assert "<dt>Due</dt>" in due
    assert "<dt>Next run</dt>" not in due
    assert re.search(r"<strong>fetch</strong>\s*<[^>]*>up to \d+ attempts", due), due
    assert "attempt 1 of" not in due


def test_a_job_that_its_upstream_holds_back_says_so(site: Site):
    site.worker()
    site.down = True
    job = site.app.submit("p", {"n": 1}).id
    site.open_breaker()
    run_inline(site.app)

    page = site.local().get(f"/jobs/{job}").text

    assert "Held: the breaker of upstream gateway is open." in page
    assert "Waiting costs no attempt." in page
    listed = site.local().get("/jobs").text
    assert "the breaker of upstream gateway is open" in listed


def test_a_failed_job_tells_its_stages_attempts_and_error(site: Site):
    filled = site.fill()

    page = site.local().get(f"/jobs/{filled.failed}").text

    assert "Failed for good in stage convert after 1 attempt." in page
    assert "no answer for 2" in page
    assert "done" in page
    assert f"/dead-letters/{filled.failed}" in page


def test_what_is_secret_is_on_no_page(site: Site):
    secret = "hunter2-correct-horse-battery"
    site.app.add_secrets([secret])
    job = site.app.submit("p", {"n": 1, "password": secret, "text": f"it is {secret}"}).id
    site.worker()
    client = site.local()

    pages = [client.get(path).text for path in (f"/jobs/{job}", "/jobs", "/")]
    file = client.get(f"/jobs/{job}/payload.json")

    assert not any(secret in page for page in pages)
    assert secret not in file.text
    assert "redacted" in file.text


def test_documents_come_as_files_and_never_as_pages(site: Site):
    job = site.app.submit("p", {"n": 1}, key="x").id
    drain(site.app)
    client = site.local()

    for path, name in (("payload.json", "payload"), ("result.json", "result")):
        answer = client.get(f"/jobs/{job}/{path}")

        assert answer.headers["content-disposition"] == (
            f'attachment; filename="{job}-{name}.json"'
        )
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_jobs_are_found_by_what_is_known_of_them(site: Site):
    filled = site.fill()
    client = site.local()

    def shown(query: str) -> set[str]:
        page = client.get(f"/jobs?{query}").text
        return {job for job in filled[:3] if f"/jobs/{job}" in page}

    assert shown("") == set(filled[:3])
    assert shown("state=failed") == {filled.failed}
    assert shown("state=failed&state=complete") == {filled.failed, filled.complete}
    assert shown("key=later") == {filled.queued}
    assert shown("error_class=GATEWAY_DOWN") == {filled.failed}
    assert shown("stage=fetch&pipeline=p&queue=work") == {filled.queued}
    assert shown("owner=somebody") == set()
    assert shown("within=3600") == set(filled[:3])


def test_an_address_that_makes_no_sense_is_told_and_breaks_nothing(small_site: Site):
    client = small_site.local()

    for path in ("/jobs?state=x", "/jobs?within=1", "/dead-letters?state=x", "/outbox?status=x"):
        answer = client.get(path)
        assert answer.status_code == 422
        assert "must be one of" in answer.text


def test_a_long_list_goes_on(site: Site):
    ids = [site.app.submit("p", {"n": n}).id for n in range(60)]
    client = site.local()

    first = client.get("/jobs?pipeline=p").text
    older = first.split('rel="next"')[0].rpartition('href="')[2].rstrip('" ').replace("&amp;", "&")
    second = client.get(older).text

    assert "60 jobs" in first
    assert all(f"/jobs/{job}" in first for job in ids[10:])
    assert all(f"/jobs/{job}" in second for job in ids[:10])
    assert 'rel="next"' not in second


def test_what_is_not_there_is_a_page_that_says_so(small_site: Site):
    client = small_site.local()

    for kind in ("jobs", "dead-letters", "replays", "deliveries", "upstreams", "x"):
        answer = client.get(f"/{kind}/{NOBODY}")
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "Back to the overview" in answer.text or "Go to the console" in answer.text


def test_the_search_leads_to_what_was_meant(site: Site):
    filled = site.fill()
    client = site.local()

    def leads(text: str) -> str:
        return client.get("/search", params={"q": text}).headers["location"]

    assert leads(filled.failed) == f"/jobs/{filled.failed}"
    assert leads(filled.delivery) == f"/deliveries/{filled.delivery}"
    assert leads("GATEWAY_DOWN") == "/jobs?error_class=GATEWAY_DOWN"
    assert leads("order-17 & more") == "/jobs?key=order-17+%26+more"
    assert leads("//evil.example") == "/jobs?key=%2F%2Fevil.example"


def test_a_pause_that_the_upstream_asked_for_is_shown(site: Site):
    rows, now = site.app.store.upstreams, site.app.clock.now()
    state = rows.get("gateway")
    rows.save(state._replace(paused_until=Instant(now + 90 * SECOND_US)), now=now)

    page = site.local().get("/upstreams/gateway").text

    assert "Asked to be left alone for another 1 min 30 s." in page
    assert "Probe now…" in page


def test_the_rate_of_an_upstream_and_what_waits_for_it_are_shown(site: Site):
    rows, now = site.app.store.upstreams, site.app.clock.now()
    site.worker()
    site.app.submit("p", {"n": 1})
    run_inline(site.app)
    site.app.submit("p", {"n": 2})
    bucket = Bucket("notion", short_at=now, begun=7, calls=3, per_us=SECOND_US, burst=3)
    rows.save_bucket(bucket, now=now)

    page = site.local().get("/upstreams/notion").text

    assert "3 calls in 1 s, 3 at once." in page
    assert "for 3 calls; jobs wait for it" in page
    assert "<dt>Calls so far</dt><dd>7</dd>" in page
    assert "Given to workers" not in site.local().get("/upstreams/gateway").text


def test_the_audit_log_tells_who_did_what_and_leads_there(site: Site):
    filled = site.fill()
    site.app.cancel(filled.queued, by="ada", reason="not needed")

    page = site.local().get("/audit").text

    assert "not needed" in page
    assert f'href="/jobs/{filled.queued}"' in page


def test_static_files_are_kept_by_browsers_and_name_no_other_host(small_site: Site):
    client = small_site.local()
    page = client.get("/").text

    for name in re.findall(r"/static/([\w.]+)\?", page):
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert "//" not in answer.text.replace("http://www.w3.org", "").replace("// ", "")
    assert client.get("/static/../words.py").status_code == 404
    assert client.get("/static/nothing.css").status_code == 404
    assert "style=" not in page
    assert "<script>" not in page


def test_pages_show_the_public_code_of_a_failure_and_its_class_beside_it(site):
    codes = PublicCodes({"SHOP_DOWN": PublicCode(message="It is closed.")}, default="SHOP_DOWN")
    shop = Pipeline("shop", retry=Retry(attempts=1), public_codes=codes)
    shop.stage(name="buy")(Script(then=GiveUp("NO_ANSWER", "from 10.9.8.7")).handler)
    site.app.add(shop)
    job_id = site.app.submit("shop", owner="ada").id
    drain(site.app)
    operator, ada = site.bearer("operator"), site.bearer("submitter", "ada")

    for path in ("/", "/jobs", f"/jobs/{job_id}", "/dead-letters", f"/dead-letters/{job_id}"):
        shown, hers = operator.get(path).text, ada.get(path).text
        assert "SHOP_DOWN" in shown
        assert "SHOP_DOWN" in hers
        assert "NO_ANSWER" not in hers
        assert "10.9.8.7" not in hers
    assert "SHOP_DOWN (NO_ANSWER)" in operator.get("/").text
    page = operator.get(f"/jobs/{job_id}").text
    assert "NO_ANSWER" in page
    assert "from 10.9.8.7" in page
    assert "It is closed." in ada.get(f"/jobs/{job_id}").text


def test_the_page_of_an_upstream_says_why_it_is_shut_and_leads_to_what_it_holds(site: Site):
    site.down = False
    for number in range(3):
        site.app.submit("p", {"n": number})
    run_inline(site.app)
    site.open_breaker()
    for number in range(2):
        site.app.submit("p", {"n": number})
    run_inline(site.app)

    page = site.local().get("/upstreams/gateway").text

    assert "It opened because 3 calls in a row failed; the last of them: UPSTREAM_5XX" in page
    assert "Failures that opened it" in page
    assert "503 from the gateway, call 3" in page
    assert f'href="/jobs/{NOBODY}"' in page
    link = "/jobs?state=queued&amp;pipeline=p&amp;stage=convert"
    assert f'<a href="{link}">2 jobs in stage convert</a>' in page
    listed = site.local().get("/jobs", params={"state": "queued", "stage": "convert"}).text
    assert "the breaker of upstream gateway is open" in listed
    assert "Calls in the last hour" in page


def test_the_next_call_and_the_cooldown_agree_after_failed_trials(site: Site):
    rows, now = site.app.store.upstreams, site.app.clock.now()
    until = Instant(now + POLICY.cooldown_us(2))
    state = UpstreamState(
        "gateway", gate=Gate.OPEN, generation=4, since=now, open_until=until, reopenings=2
    )
    rows.save(state, now=now)

    page = site.local().get("/upstreams/gateway").text

    said = span(POLICY.cooldown_us(2))
    assert f"tried again in {said}" in page
    assert f">in {said}</time>, as a trial" in page
    assert f"<dt>Cools down for</dt><dd>{said}</dd>" in page


def test_calls_of_an_upstream_are_drawn_over_the_last_hour(site: Site):
    now = site.app.clock.now()
    minute = Instant(now - now % MINUTE_US - 10 * MINUTE_US)
    site.app.submit("p", {"n": 1})
    site.app.store.activity.add(
        [
            ActivityCount(minute, "p", "convert", "completed", "", 7, 0),
            ActivityCount(minute, "p", "convert", "retried", "UPSTREAM_5XX", 3, 0),
            ActivityCount(minute, "p", "convert", "held", "", 100, 0),
            ActivityCount(minute, "p", "fetch", "advanced", "", 50, 0),
        ]
    )

    page = site.local().get("/upstreams/gateway").text

    assert "In the last hour 7 calls were fine and 3 failed" in page
    assert f"{to_datetime(minute):%Y-%m-%d %H:%M} UTC: 7 fine, 3 failed" in page
    assert len(re.findall(r'text-anchor="middle">\d\d:\d\d<', page)) >= 5


def test_a_letter_and_its_group_say_whose_move_it_is(site: Site):
    def denied(job) -> int:
        answer = httpx.Response(401, text="the key has expired", request=REQUEST)
        raise httpx.HTTPStatusError("401", request=REQUEST, response=answer)

    pipeline = Pipeline("prints", queue="work")
    pipeline.stage(name="print", calls=Upstream("printer"))(denied)
    site.app.add(pipeline)
    job = site.app.submit("prints", key="order-17", owner="bob").id
    run_inline(site.app)
    (group,) = site.app.dead.groups()
    client = site.local()

    letter = client.get(f"/dead-letters/{job}").text
    groups = client.get("/groups").text
    letters = client.get("/dead-letters", params={"fingerprint": group.fingerprint}).text
    triage = client.get(f"/dead-letters/{job}/triage").text

    for page in (letter, letters):
        assert "the operators of this application" in page
        assert "Renew the credential or the permission" in page
        assert 'href="/runbook#a-failure-is-critical"' in page
        assert 'href="/upstreams/printer"' in page
        assert "httpx.HTTPStatusError" in page
        assert "bob" in page
        assert "order-17" in page
    assert "the key has expired" in letter
    assert "The operators of this application: Renew the credential" in groups
    assert "1 letter by when they failed" in letters
    assert '<option value="auth_config" selected>' in triage


def test_a_cause_that_the_class_leaves_open_has_to_be_chosen(site: Site):
    letter = site.dead(1)[0]
    client = site.local()

    asked = client.get(f"/dead-letters/{letter}/triage").text

    assert '<option value="" selected>' in asked
    assert "selected>Transient" not in asked


def test_the_runbook_is_read_in_the_console(small_site: Site):
    page = small_site.local().get("/runbook").text

    assert '<h2 id="an-upstream-is-down">An upstream is down</h2>' in page


def test_a_replay_that_its_canary_stopped_says_why_and_offers_the_rest(site: Site):
    ids = site.dead(*range(1, 6))
    (group,) = site.app.dead.groups()
    view = site.app.replays.start(
        "again", group.fingerprint, by="ada", cause="transient", evidence="up", canary=2
    )
    site.down = True
    while not site.app.replays.show(view.id).ended:
        site.app.replays.advance(view.id)
        drain(site.app)
        site.clock.advance(1)
    client = site.local()

    page = client.get(f"/replays/{view.id}").text

    assert "It stopped: the canary failed: " in page
    assert "stayed where they were, and nothing more is sent." in page
    assert page.index("Failed again</h2>") < page.index("Letters</h2>")
    failed = page[page.index("Failed again</h2>") : page.index("Letters</h2>")]
    assert "GATEWAY_DOWN" in failed
    assert "no answer for 1" in failed
    assert f'href="/dead-letters/{ids[0]}"' in failed
    rest = f"/groups/{group.fingerprint}/replay"
    assert f'href="{rest}"' in page
    assert "Replay the rest…" in page
    assert client.get(rest).status_code == 200


def test_addresses_in_payloads_are_hidden_unless_the_pipeline_keeps_them(site: Site):
    for name, keeps in (("mails", False), ("support", True)):
        pipeline = Pipeline(name, queue="work", keeps_personal_data=keeps)
        pipeline.stage(name="send")(Script(then=1).handler)
        site.app.add(pipeline)
    hidden, kept = (
        site.app.submit(name, {"to": "jane@example.com"}).id for name in ("mails", "support")
    )
    client = site.local()

    for path in ("", "/payload.json"):
        page = client.get(f"/jobs/{hidden}{path}").text
        assert "jane@example.com" not in page
        assert "[email:" in page
        assert "jane@example.com" in client.get(f"/jobs/{kept}{path}").text
    assert site.app.job(hidden).payload == {"to": "jane@example.com"}
