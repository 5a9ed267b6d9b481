"""Why a job waits is the same on every page, in every command, over HTTP and in the doctor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any, Final

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from holdfast import Breaker, Holdfast, Pipeline, Retry, Upstream, Wait
from holdfast.alerts.sources import of_need
from holdfast.api import ApiOptions, create_api
from holdfast.cli.main import program
from holdfast.console import mount_console
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.upstream.breaker import Observed, RateLimited, decide_breaker
from holdfast.deliveries import Notify
from holdfast.engine.attention import Kind
from holdfast.store.contract import WorkerRow
from holdfast.testing import ManualClock, run_inline
from holdfast.views.explain.advice import whose_move
from holdfast.views.explain.waiting import Reason
from tests.engine.mailbox import NEITHER, OPTIONS, Mailbox

POLICY: Final = Breaker(consecutive=3, cooldown=30)
STANDING_STILL: Final = {Kind.NO_WORKER, Kind.NO_HANDLER, Kind.BREAKER_OPEN, Kind.QUEUE_PAUSED}
ENTRIES: Final = {
    Reason.QUEUE_PAUSED: Kind.QUEUE_PAUSED,
    Reason.UPSTREAM: Kind.BREAKER_OPEN,
    Reason.RATE: Kind.BREAKER_OPEN,
    Reason.NO_WORKER: Kind.NO_WORKER,
    Reason.NO_HANDLER: Kind.NO_HANDLER,
}
"""The reasons that need a person, and what the list of that calls them."""


def pipelines() -> list[Pipeline]:
    calls = Pipeline("calls", queue="work")
    calls.stage(name="call", calls=Upstream("gateway", breaker=POLICY))(lambda _job: None)
    asks = Pipeline("asks", queue="work")
    asks.stage(name="ask")(lambda _job: Wait(timeout=60))
    notifies = Pipeline("notifies", queue="work")
    notifies.stage(name="send")(
        lambda job: Notify(subject=job.id, recipients=["jane@example.test"])
    )
    fails = Pipeline("fails", queue="work", retry=Retry(attempts=3, base=30, jitter="none"))

    @fails.stage
    def work(job) -> None:
        raise ConnectionError

    return [calls, asks, notifies, fails]


class Place:
    """An application, its API and its console, and commands that look at the same database."""

    current: Place

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = ManualClock()
        self.mailbox = Mailbox(self.clock, NEITHER)
        self.app = self.open()
        api = create_api(self.app, options=ApiOptions(host="127.0.0.1"))
        mount_console(api, self.app)
        self.client = TestClient(api, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))
        Place.current = self

    def open(self) -> Holdfast:
        return Holdfast(
            self.url,
            pipelines=pipelines(),
            providers=[self.mailbox],
            courier=OPTIONS,
            clock=self.clock,
        )

    def command(self, *arguments: str) -> str:
        """Return what a command prints."""
        app = "tests.console.test_same_reason_everywhere:opened"
        return CliRunner().invoke(program, ["-A", app, *arguments]).stdout

    def worker(self, name: str = "w1", **changes: object) -> WorkerId:
        now = self.clock.now()
        row = WorkerRow(WorkerId(name), "h", 1, now, now, '["work"]', 8, "running")
        self.app.store.record_worker(row._replace(**changes))
        return row.id


def opened() -> Holdfast:
    """Return an application for a command, which closes it."""
    return Place.current.open()


@pytest.fixture
def place(database_url: str) -> Iterator[Place]:
    made = Place(database_url)
    yield made
    made.client.close()
    made.app.close()


def answer(place: Place) -> str:
    job = place.app.submit("asks").id
    run_inline(place.app)
    return job


def deliveries(place: Place) -> str:
    place.mailbox.next.append("busy")
    job = place.app.submit("notifies").id
    run_inline(place.app)
    return job


def scheduled(place: Place) -> str:
    return place.app.submit("calls", delay=60).id


def retry(place: Place) -> str:
    place.worker()
    job = place.app.submit("fails").id
    run_inline(place.app)
    return job


def queue_paused(place: Place) -> str:
    place.worker()
    place.app.pause_queue("work", by="ada", reason="the printer is moved")
    return place.app.submit("calls").id


def upstream(place: Place) -> str:
    place.worker()
    rows, now = place.app.store.upstreams, place.clock.now()
    state = rows.get("gateway")
    rows.save(
        decide_breaker(state, Observed("w", state.generation, ((2, 3),)), POLICY, now), now=now
    )
    return place.app.submit("calls").id


def rate(place: Place) -> str:
    rows, now = place.app.store.upstreams, place.clock.now()
    state = decide_breaker(rows.get("gateway"), RateLimited(now + 300_000_000), POLICY, now)
    rows.save(state, now=now)
    job = place.app.submit("calls").id
    place.clock.advance(61)
    place.worker()
    return job


def no_worker(place: Place) -> str:
    return place.app.submit("calls").id


def no_handler(place: Place) -> str:
    place.worker(stages='["asks/ask"]')
    return place.app.submit("calls").id


def workers_busy(place: Place) -> str:
    place.worker(concurrency=0)
    return place.app.submit("calls").id


def worker(place: Place) -> str:
    place.worker()
    return place.app.submit("calls").id


def takeover(place: Place) -> str:
    holder = place.worker()
    job = place.app.submit("calls").id
    place.app.store.claim(
        [Route("work", "calls", "call")],
        limit=1,
        holder=holder,
        lease_us=30_000_000,
        now=place.clock.now(),
    )
    place.clock.advance(90)
    place.worker("w2")
    return job


CASES: Final[dict[Reason, Callable[[Place], str]]] = {
    Reason.ANSWER: answer,
    Reason.DELIVERIES: deliveries,
    Reason.SCHEDULED: scheduled,
    Reason.RETRY: retry,
    Reason.QUEUE_PAUSED: queue_paused,
    Reason.UPSTREAM: upstream,
    Reason.RATE: rate,
    Reason.NO_WORKER: no_worker,
    Reason.NO_HANDLER: no_handler,
    Reason.WORKERS_BUSY: workers_busy,
    Reason.WORKER: worker,
    Reason.TAKEOVER: takeover,
}


def test_every_reason_has_its_case():
    assert set(CASES) == set(Reason)


@pytest.mark.parametrize("reason", CASES)
def test_all_places_say_the_same_about_why_a_job_waits(place: Place, reason: Reason):
    job = CASES[reason](place)
    history = place.app.history(job)
    said = place.app.waiting(place.app.job(job), history=history)[0]
    whose = whose_move(said.whose) or ""
    summary = {"reason": said.reason.value, "brief": said.brief}

    assert said.reason is reason
    page = unescape(place.client.get(f"/jobs/{job}", headers={"Accept": "text/html"}).text)
    assert said.sentence in page
    assert whose in page
    listed = unescape(place.client.get("/jobs", headers={"Accept": "text/html"}).text)
    assert said.brief in listed
    assert place.client.get(f"/api/jobs/{job}").json()["waiting"] == said.to_document()
    assert listed_by_the_api(place, job)["waits_for"] == summary
    shown = place.command("jobs", "show", job)
    assert said.sentence in shown
    assert whose in shown
    assert (said.remedy or "") in shown
    assert json.loads(place.command("--json", "jobs", "show", job))["waiting"] == said.to_document()
    assert said.brief in place.command("jobs", "list")
    assert json.loads(place.command("--json", "jobs", "list"))["waits_for"] == summary


def listed_by_the_api(place: Place, job: str) -> dict[str, Any]:
    found = place.client.get("/api/jobs").json()["items"]
    return next(each for each in found if each["id"] == job)


@pytest.mark.parametrize("reason", CASES)
def test_overview_doctor_and_alerts_agree_with_the_job_about_what_needs_a_person(
    place: Place, reason: Reason
):
    job = CASES[reason](place)
    (said, *_) = place.app.waiting(place.app.job(job))
    entries = [each for each in place.app.attention() if each.kind in STANDING_STILL]

    assert [each.kind for each in entries] == ([ENTRIES[reason]] if reason in ENTRIES else [])
    for entry in entries:
        assert entry.whose is said.whose
        assert entry.action.command in (said.remedy or "")
        overview = unescape(place.client.get("/", headers={"Accept": "text/html"}).text)
        assert entry.sentence in overview
        assert entry.sentence in place.command("doctor")
        assert of_need(entry, now=place.clock.now()).message == entry.sentence
