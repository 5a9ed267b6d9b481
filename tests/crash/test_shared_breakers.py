"""A breaker that real worker processes share: nobody starts it over, nobody floods through it."""

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from holdfast import JobState, Submit
from holdfast.core.job.decision import Kind
from holdfast.core.upstream.breaker import Observed, decide_breaker
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US
from holdfast.store.contract import JobFilter
from tests.crash.fleet import Fleet, eventually
from tests.crash.gateway import Gateway
from tests.crash.program import BREAKER, GATEWAY_VARIABLE


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.close()


def start(fleet: Fleet, gateway: Gateway, count: int, **options) -> None:
    for _ in range(count):
        fleet.start(
            only="guarded",
            lease=10.0,
            environment={GATEWAY_VARIABLE: str(gateway.port)},
            **options,
        )
    for worker in fleet.workers:
        worker.said("started", within_s=50)


def submit(fleet: Fleet, count: int) -> None:
    fleet.app.submit_many("guarded", [Submit() for _ in range(count)])


def open_for(fleet: Fleet, seconds: float) -> int:
    """Open the breaker as a worker would, and return its revision."""
    policy = Breaker(consecutive=1, cooldown=seconds)
    rows, now = fleet.app.store.upstreams, fleet.app.clock.now()
    before = rows.get("gateway")
    after = decide_breaker(before, Observed("w", before.generation, ((0, 1),)), policy, now)
    assert after is not None
    written = rows.save(after, now=now)
    assert written is not None
    assert written.gate is Gate.OPEN
    return written.revision


def moves(fleet: Fleet) -> list[tuple[float, str]]:
    entries = fleet.app.store.audit.latest(subject_kind="upstream", subject="gateway", limit=1_000)
    return [(entry.at / SECOND_US, entry.action) for entry in reversed(entries)]


@pytest.mark.parametrize("processes", [4, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.timeout(180)
def test_processes_started_while_it_is_open_leave_it_as_it_is(
    fleet: Fleet, gateway: Gateway, processes: int
) -> None:
    submit(fleet, 20)
    revision = open_for(fleet, 600)
    start(fleet, gateway, processes)
    time.sleep(2)

    assert fleet.app.store.upstreams.get("gateway").revision == revision
    assert gateway.arrivals == []
    queued = fleet.app.jobs(JobFilter(states=(JobState.QUEUED,)))
    assert len(queued) == 20
    assert {view.job.attempt for view in queued} == {0}


@pytest.mark.parametrize(
    ("processes", "seconds"), [(3, 6), pytest.param(8, 30, marks=pytest.mark.slow)]
)
@pytest.mark.timeout(180)
def test_no_more_calls_than_permits_go_through_while_it_is_half_open(
    fleet: Fleet, gateway: Gateway, processes: int, seconds: float
) -> None:
    gateway.down()
    submit(fleet, 2_000)
    start(fleet, gateway, processes, concurrency=8)
    eventually(
        lambda: [at for at, action in moves(fleet) if action == "half-opened"],
        what="the breaker has been tried",
        within_s=30,
    )
    gateway.half_bad()
    time.sleep(seconds)
    story = moves(fleet)

    trials = [
        gateway.arrived_between(first, last)
        for (first, action), (last, _) in pairwise(story)
        if action == "half-opened"
    ]
    assert trials
    assert max(trials) <= BREAKER.trials


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "jobs", "outage_s"),
    [(1, 1_000, 2.5), pytest.param(4, 5_000, 60, marks=pytest.mark.slow)],
)
@pytest.mark.timeout(300)
def test_after_an_outage_calls_come_back_without_a_flood(
    fleet: Fleet, gateway: Gateway, processes: int, jobs: int, outage_s: float
) -> None:
    gateway.down()
    submit(fleet, jobs)
    start(fleet, gateway, processes, concurrency=20)
    eventually(
        lambda: fleet.app.store.upstreams.get("gateway").gate is not Gate.CLOSED,
        what="the breaker has opened",
        within_s=30,
    )
    time.sleep(outage_s)
    before = len(gateway.arrivals)
    gateway.up()
    eventually(
        lambda: (
            len(fleet.app.jobs(JobFilter(states=(JobState.QUEUED,)), limit=1)) == 0
            and len(fleet.app.jobs(JobFilter(states=(JobState.PROCESSING,)), limit=1)) == 0
        ),
        what="every job is done",
        within_s=120,
    )

    arrivals = gateway.arrivals[before:]
    first, last = arrivals[0], arrivals[-1]
    buckets = [0] * (int((last - first) * 10) + 1)
    for at in arrivals:
        buckets[int((at - first) * 10)] += 1
    mean = len(arrivals) / len(buckets)
    assert max(buckets) <= 3 * mean, buckets
    assert len(arrivals) <= jobs + 10


def test_the_upstream_is_called_once_for_every_attempt_that_the_ledger_has(
    fleet: Fleet, gateway: Gateway
) -> None:
    """No layer repeats a call by itself, and what is held makes none."""
    gateway.answers = lambda n: 503 if n <= 12 else 200
    submit(fleet, 100)
    start(fleet, gateway, 2, concurrency=8)
    done = JobFilter(states=(JobState.COMPLETE,))
    eventually(lambda: len(fleet.app.jobs(done)) == 100, what="every job is done", within_s=50)

    called = {Kind.RETRIED, Kind.COMPLETED}
    ledger = [line.entry for view in fleet.app.jobs() for line in fleet.app.store.ledger(view.id)]
    assert len(gateway.arrivals) == sum(entry.kind in called for entry in ledger)
    assert {entry.kind for entry in ledger} <= {*called, Kind.HELD}
    fleet.sound()
