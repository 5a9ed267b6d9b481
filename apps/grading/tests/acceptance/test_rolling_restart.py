"""Everything is started anew, one process after another, while answers keep coming in."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import NamedTuple, Self

import httpx2
import pytest

from apps.grading.tests.acceptance.fleet import Fleet, Front, Model, Process
from apps.grading.tests.brokered import broker_config
from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import ESSAY, Main, made_main
from grading.config import GradingConfig
from holdfast import JobFilter, JobState
from tests.bridges.broker import drained

pytestmark = pytest.mark.timeout(600)
LIMIT_S = 240.0


class Load:
    """Hands essays in one after another, each until somebody has taken it."""

    def __init__(self, addresses: list[str], token: str, *, every_s: float) -> None:
        self._addresses = addresses
        self._headers = {"Authorization": f"Bearer {token}"}
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.taken: dict[str, str] = {}
        """The submission of each key."""
        self.refused: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(LIMIT_S)

    def _run(self) -> None:
        number = 0
        with httpx2.Client(headers=self._headers, timeout=30) as http:
            while not self._ended.wait(self._every_s):
                number += 1
                self._hand_in(http, f"key-{number}", number)

    def _hand_in(self, http: httpx2.Client, key: str, number: int) -> None:
        body = {
            "skill": "writing",
            "questionId": "w2-tourism",
            "answer": {"text": f"{ESSAY} This is number {number}."},
        }
        addresses = cycle(self._addresses)

        def answered() -> bool:
            try:
                answer = http.post(
                    f"{next(addresses)}/api/submissions",
                    json=body,
                    headers={"Idempotency-Key": key},
                )
            except httpx2.TransportError:
                return False
            if answer.status_code in (200, 201):
                self.taken[key] = answer.json()["submissionId"]
            elif answer.status_code != 503:
                self.refused.append(answer.text)
            return answer.status_code != 503

        try:
            wait_for(answered, limit_s=LIMIT_S, what=f"an answer to {key}")
        except AssertionError as error:
            self.refused.append(str(error))


class Site(NamedTuple):
    config: GradingConfig
    fleet: Fleet
    model: Model
    main: Main


@pytest.fixture
def site(
    postgres_url: str, amqp_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Site]:
    runner = getattr(request, "param", "worker")
    config = broker_config(amqp_url, tmp_path, runner=runner, lease_s=3.0)
    model = Model()
    with ExitStack() as opened:
        url = opened.enter_context(model.serving())
        main = opened.enter_context(made_main(postgres_url))
        fleet = opened.enter_context(Fleet(config, postgres_url, url, tmp_path))
        yield Site(config, fleet, model, main)


def check(site: Site, load: Load, amqp_url: str) -> None:
    """Wait for the end of everything that was taken, and see that nothing is lost or doubled."""
    ids = set(load.taken.values())
    app, model = site.main.app, site.model
    complete = JobFilter((JobState.COMPLETE,), "submission")
    wait_for(
        lambda: app.count(complete, at_most=10_000) == len(ids),
        limit_s=LIMIT_S,
        what="every submission completes",
    )
    wait_for(lambda: not app.outbox.standing().pending, limit_s=LIMIT_S, what="an empty outbox")
    ends = [[line.event for line in app.history(each)].count("completed") for each in ids]
    ledger = model.stand_in.ledger()

    assert load.refused == []
    assert len(ids) == len(load.taken)
    assert app.count(JobFilter((), "submission"), at_most=10_000) == len(ids)
    assert set(ends) == {1}
    assert ledger["charges"] == len(ids)
    assert len(ledger["callsByKey"]) == len(ids)
    for queue in ("grading.dlq", "grading.callback.dead", "grading.request.dead"):
        assert drained(amqp_url, f"{site.config.queue_prefix}{queue}") == []
    assert app.verify() == []


def token_of(main: Main) -> str:
    _, secret = main.app.tokens.create("load", role="submitter", owner="load", by="test")
    return secret


def test_main_and_its_grader_are_started_anew_under_load_and_nothing_is_lost(
    site: Site, amqp_url: str
):
    fleet = site.fleet
    front = fleet.front()
    front.ready()
    service = fleet.service()
    with Load([front.address], token_of(site.main), every_s=0.1) as load:
        wait_for(lambda: site.model.waiting > 2, limit_s=LIMIT_S, what="the first calls")
        service.end()
        service = fleet.service()
        front.process.end()
        front = fleet.front(address=front.address)
        front.ready()
        seen = site.model.waiting
        wait_for(lambda: site.model.waiting > seen + 2, limit_s=LIMIT_S, what="calls after it")
    check(site, load, amqp_url)


@pytest.mark.slow
@pytest.mark.parametrize("site", ["celery"], indirect=True)
def test_everything_is_ended_or_killed_and_started_anew_under_load_and_nothing_is_lost(
    site: Site, amqp_url: str
):
    fleet = site.fleet
    fronts = [fleet.front(), fleet.front()]
    for front in fronts:
        front.ready()
    services = [fleet.service(), fleet.service()]
    workers = [fleet.worker(), fleet.worker()]
    addresses = [front.address for front in fronts]
    with Load(addresses, token_of(site.main), every_s=0.05) as load:
        wait_for(lambda: site.model.waiting > 5, limit_s=LIMIT_S, what="the first calls")

        def goes_on() -> None:
            seen = site.model.waiting
            wait_for(lambda: site.model.waiting > seen + 5, limit_s=LIMIT_S, what="more calls")

        ways: list[Callable[[Process], None]] = [Process.end, Process.kill]
        for place, how in enumerate(ways):
            how(workers[place])
            workers[place] = fleet.worker()
            how(services[place])
            services[place] = fleet.service()
            goes_on()
            how(fronts[place].process)
            fronts[place] = restarted(fleet, fronts[place])
            goes_on()
    check(site, load, amqp_url)


def restarted(fleet: Fleet, front: Front) -> Front:
    again = fleet.front(address=front.address)
    again.ready()
    return again
