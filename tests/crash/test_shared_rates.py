"""A rate that real worker processes share: an upstream that counts strictly refuses nobody."""

from collections.abc import Iterator
from signal import SIGKILL

import pytest

from holdfast import Submit
from tests.crash.fleet import Fleet, eventually
from tests.crash.gateway import Bucket, Gateway
from tests.crash.program import GATEWAY_VARIABLE, RATE

JOBS = 140


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.close()


def start(fleet: Fleet, gateway: Gateway, count: int) -> None:
    for _ in range(count):
        fleet.start(
            only="rated",
            concurrency=8,
            lease=2.0,
            environment={GATEWAY_VARIABLE: str(gateway.port)},
        )
    for worker in fleet.workers:
        worker.said("started", within_s=50)


def strict(gateway: Gateway) -> Bucket:
    """Let the gateway take a period's worth at once, and no more than the rate after that.

    What it takes beyond the workers' burst is for calls that a busy machine holds up on their way.
    """
    bucket = Bucket(RATE.calls / RATE.per, RATE.calls)
    gateway.answers = bucket.answer
    return bucket


def submit(fleet: Fleet, count: int) -> list[str]:
    made = fleet.app.submit_many("rated", [Submit() for _ in range(count)])
    return [one.job_id for one in made]


def calls_a_second(gateway: Gateway) -> float:
    arrivals = gateway.arrivals
    return (len(arrivals) - RATE.at_once) / (arrivals[-1] - arrivals[0])


@pytest.mark.timeout(120)
def test_eight_workers_of_which_one_is_killed_are_never_refused(
    postgres_fleet: Fleet, gateway: Gateway
) -> None:
    fleet, bucket = postgres_fleet, strict(gateway)
    start(fleet, gateway, 8)
    jobs = submit(fleet, JOBS)
    eventually(lambda: len(gateway.arrivals) > JOBS // 2, what="half of the calls were made")
    fleet.workers[0].signal(SIGKILL)
    fleet.finished(jobs, within_s=60)

    assert bucket.refused == 0
    # A job of the worker that was killed is called again.
    assert JOBS <= len(gateway.arrivals) <= JOBS + 8
    view = fleet.app.upstreams.show("rated").view
    # What the killed worker began last, and others a moment ago, nobody has reported.
    assert view.rate.begun > JOBS // 2


@pytest.mark.timeout(120)
def test_processes_that_share_a_file_are_never_refused_and_use_their_rate(
    sqlite_fleet: Fleet, gateway: Gateway
) -> None:
    fleet, bucket = sqlite_fleet, strict(gateway)
    start(fleet, gateway, 4)
    fleet.finished(submit(fleet, JOBS), within_s=60)

    assert bucket.refused == 0
    assert len(gateway.arrivals) == JOBS
    # Not a bound of speed: a rate of each worker would be four times as much.
    assert 0.3 * RATE.calls <= calls_a_second(gateway) <= 1.25 * RATE.calls
