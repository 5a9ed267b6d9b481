"""What the lab promises to show: what a worker and its breakers make of every behaviour."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, JobFilter, JobState
from holdfast.core.upstream.upstream import Gate
from holdfast.lab import postcards
from holdfast.lab.behaviour import Behaviour
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import build
from holdfast.views.upstream import UpstreamView
from holdfast.workers import WorkerOptions

PATIENCE_S = 40.0
CARDS = 8


@pytest.fixture
def stand_ins() -> Iterator[StandIns]:
    with StandIns([postcards.SYSTEM], {}) as made:
        yield made


@pytest.fixture
def app(stand_ins: StandIns, tmp_path: Path) -> Iterator[Holdfast]:
    """The demo system with a worker that runs."""
    environment: dict[str, str] = {}
    stand_ins.tell(environment)
    (built,) = build([postcards.SYSTEM], environment)
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    with Holdfast(url, pipelines=built.parts.pipelines) as made:
        worker = made.worker(options=WorkerOptions(concurrency=4, poll=0.1, grace=5))
        worker.start()
        yield made
        worker.request_stop()
        worker.drain()


def printer(app: Holdfast) -> UpstreamView:
    return app.upstreams.show(postcards.PRINTER).view


def until(holds: Callable[[], bool], what: str) -> None:
    given_up_at = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < given_up_at, f"not in time: {what}"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "behaviour",
    [Behaviour.FAILING, Behaviour.DOWN, pytest.param(Behaviour.HANGING, marks=pytest.mark.slow)],
)
def test_the_breaker_opens_and_no_card_is_lost(
    app: Holdfast, stand_ins: StandIns, behaviour: Behaviour
):
    stand_ins.behave(postcards.PRINTER, behaviour)

    app.submit_many(postcards.PIPELINE, postcards.cards(CARDS))
    until(lambda: printer(app).gate is Gate.OPEN, "the breaker opens")

    held = app.jobs(JobFilter(states=(JobState.QUEUED, JobState.PROCESSING)))
    assert len(held) == CARDS
    assert max(view.job.attempt for view in held) < 8


def test_a_printer_that_limits_is_left_alone_and_its_breaker_stays_closed(
    app: Holdfast, stand_ins: StandIns
):
    stand_ins.behave(postcards.PRINTER, Behaviour.LIMITING)

    app.submit_many(postcards.PIPELINE, postcards.cards(CARDS))
    until(lambda: printer(app).paused_until is not None, "the pause begins")

    assert printer(app).gate is Gate.CLOSED
    assert app.count(JobFilter(states=(JobState.FAILED,))) == 0


def test_a_slow_printer_is_in_time(app: Holdfast, stand_ins: StandIns):
    stand_ins.behave(postcards.PRINTER, Behaviour.SLOW)

    app.submit_many(postcards.PIPELINE, postcards.cards(2))
    until(lambda: app.count(JobFilter(states=(JobState.COMPLETE,))) == 2, "the cards are posted")

    assert all(line.event != "retried" for view in app.jobs() for line in app.history(view.id))
