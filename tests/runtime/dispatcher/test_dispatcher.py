"""The dispatcher, turn by turn: real jobs, a manual clock, and a carrier that does as told."""

import logging
from collections.abc import Callable

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.outbox import Confirmed, NotTaken, Trouble
from holdfast.engine.submit.submission import Submit
from holdfast.errors import TopologyMismatch
from holdfast.runtime.breakers.breakers import Allowance
from holdfast.runtime.dispatcher.dispatcher import (
    AGAIN_US,
    ENOUGH_WAITING,
    LONGEST_PAUSE_US,
    LOST_US,
    MAX_JOBS,
    MAX_WAITING,
    SPREAD,
    TRIALS,
    UNTAKEN_US,
    Dispatcher,
    DueMessage,
)
from holdfast.runtime.kernel.clock import Chance
from holdfast.testing import ManualClock
from tests.runtime.crew import Crew

DOWN = NotTaken(Trouble.UNAVAILABLE, "nobody answers")
ONE, TWO = Route("default", "p", "one"), Route("default", "p", "two")
SLOW = Route("slow", "p", "one")


class Fleet:
    """A carrier whose messages wait until a test takes them."""

    name = "scripted"

    def __init__(self) -> None:
        self.trouble: NotTaken | None = None
        self.broken: Exception | None = None
        self.answer: object = Confirmed()
        self.messages: list[DueMessage] = []

    def waiting(self, queues):
        if self.broken is not None:
            raise self.broken
        counts = {
            queue: sum(message.route.queue == queue for message in self.messages)
            for queue in queues
        }
        return self.trouble or counts

    def carry(self, messages, *, timeout_s):
        if self.answer == Confirmed():
            self.messages += messages
        return [self.answer for _ in messages]

    def take(self) -> list[tuple[str, ...]]:
        taken, self.messages = self.messages, []
        return [message.job_ids for message in taken]

    def close(self) -> None:
        """Nothing is held."""


class Bench:
    """One dispatcher beside its application, in the test's own time."""

    def __init__(self, app: Holdfast, clock: ManualClock) -> None:
        self.app = app
        self.clock = clock
        self.fleet = Fleet()
        self.fatal: list[str] = []
        self.allowances: dict[str, Allowance] = {}
        self.dispatcher = Dispatcher(
            app.store,
            self.fleet,
            routes={ONE: None, TWO: "mail", SLOW: None},
            allowances=lambda now, places: self.allowances,
            chance=Chance(1),
            poll_us=SECOND_US,
            on_fatal=self.fatal.append,
        )

    def submit(self, count: int = 1, **options) -> list[str]:
        made = self.app.submit_many("p", [Submit(**options) for _ in range(count)])
        return [one.job_id for one in made]

    def turn(self, after_s: float = 0.0) -> int:
        """Give the dispatcher a turn, and return after how long it wants the next."""
        self.clock.advance(after_s)
        now = self.clock.now()
        return self.dispatcher.tick(now) - now


@pytest.fixture
def bench(open_app: Callable[..., Holdfast], clock: ManualClock) -> Bench:
    pipeline = Pipeline("p")

    @pipeline.stage
    def one(job):
        return 1

    @pipeline.stage
    def two(job):
        return 2

    return Bench(open_app(pipeline), clock)


def test_a_due_job_is_told_of_once(bench: Bench):
    (job,) = bench.submit()

    assert bench.turn() == UNTAKEN_US
    assert bench.fleet.take() == [(job,)]
    bench.turn(1)
    assert bench.fleet.take() == []


def test_a_job_is_told_of_when_it_is_due_and_not_before(bench: Bench):
    (job,) = bench.submit(delay=0.5)

    assert bench.turn() == 500_000
    assert bench.fleet.take() == []
    bench.turn(0.5)
    assert bench.fleet.take() == [(job,)]


def test_a_job_that_nobody_took_is_told_of_again_once_no_message_waits(bench: Bench):
    (job,) = bench.submit()
    bench.turn()

    bench.turn(AGAIN_US / SECOND_US)
    assert bench.fleet.take() == [(job,)], "the message still waited, and was enough"
    bench.turn()
    assert bench.fleet.take() == [(job,)]


def test_a_job_is_told_of_again_after_a_long_while_though_messages_wait(bench: Bench):
    (job,) = bench.submit()
    bench.turn()

    bench.turn(LOST_US / SECOND_US)

    assert bench.fleet.take() == [(job,), (job,)]


def test_a_job_that_changed_is_told_of_at_once(bench: Bench):
    (job,) = bench.submit()
    bench.turn()
    bench.fleet.take()
    bench.app.cancel(job, by="ada")
    bench.turn()
    assert bench.fleet.take() == []

    (job,) = bench.submit()
    bench.turn()

    assert bench.fleet.take() == [(job,)]


def test_a_job_that_moved_on_is_told_of_at_once(bench: Bench):
    (job,) = bench.submit()
    bench.turn()
    bench.fleet.take()
    Crew(bench.app, stages=["one"]).work()
    bench.turn()

    assert [(message.route, message.job_ids) for message in bench.fleet.messages] == [(TWO, (job,))]


def test_few_jobs_are_told_of_one_by_one_and_a_backlog_in_groups(bench: Bench):
    few = bench.submit(SPREAD)
    bench.turn()
    assert bench.fleet.take() == [(job,) for job in few]
    many = bench.submit(SPREAD * 10)
    bench.turn()

    groups = bench.fleet.take()
    assert [job for group in groups for job in group] == many
    assert len(groups) == SPREAD
    assert all(len(group) <= MAX_JOBS for group in groups)


def test_no_more_is_sent_than_the_fleet_can_soon_take(bench: Bench):
    for count in (300, 200, 100):
        bench.submit(count)
        bench.turn()

    assert len(bench.fleet.messages) == MAX_WAITING
    assert bench.turn() < UNTAKEN_US, "there is more to tell, so it looks again soon"


def test_while_the_fleet_has_work_in_every_queue_no_jobs_are_read_for_more(bench: Bench):
    bench.submit(20)
    bench.fleet.messages = [
        DueMessage(route, ()) for route in (ONE, SLOW) for _ in range(ENOUGH_WAITING)
    ]

    assert bench.turn() == UNTAKEN_US
    assert len(bench.fleet.take()) == 2 * ENOUGH_WAITING
    bench.turn(UNTAKEN_US / SECOND_US)
    assert len(bench.fleet.take()) == 10, "two jobs each"


def test_a_queue_that_is_full_holds_up_no_other(bench: Bench):
    bench.fleet.messages = [DueMessage(ONE, ())] * MAX_WAITING
    bench.submit()
    (job,) = bench.submit(queue="slow")

    bench.turn()

    assert bench.fleet.take()[MAX_WAITING:] == [(job,)]


def test_a_paused_queue_is_not_told_of_until_it_goes_on(bench: Bench):
    (job,) = bench.submit()
    bench.app.pause_queue("default", by="ada")
    bench.turn()
    assert bench.fleet.take() == []

    bench.app.resume_queue("default")
    bench.turn()

    assert bench.fleet.take() == [(job,)]


@pytest.mark.parametrize(
    ("allowance", "told"),
    [
        (Allowance(0), 0),
        (Allowance(TRIALS, by_permit=True), TRIALS),
        (Allowance(3), 3),
        (Allowance(TRIALS, by_permit=True, and_the_rest=True), 20),
        (None, 20),
    ],
)
def test_jobs_that_their_upstream_holds_up_are_not_told_of(
    bench: Bench, allowance: Allowance | None, told: int
):
    bench.submit(20)
    bench.dispatcher._routes = {ONE: "mail", TWO: "mail", SLOW: None}
    bench.allowances = {} if allowance is None else {"mail": allowance}

    bench.turn()

    assert len([job for group in bench.fleet.take() for job in group]) == told


def test_while_the_broker_is_away_it_waits_longer_and_longer_and_loses_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    (job,) = bench.submit()
    bench.fleet.trouble = DOWN
    with caplog.at_level(logging.WARNING):
        pauses = [bench.turn(6) for _ in range(8)]
    bench.fleet.trouble = None

    bench.turn(6)

    assert pauses[0] < pauses[3] <= LONGEST_PAUSE_US
    assert bench.fleet.take() == [(job,)]
    assert [line.event for line in caplog.records] == ["dispatcher_held_up"]


def test_what_the_broker_did_not_confirm_is_told_of_again(bench: Bench):
    (job,) = bench.submit()
    bench.fleet.answer = NotTaken(Trouble.UNCONFIRMED, "silence")
    bench.turn()
    bench.fleet.answer = Confirmed()

    bench.turn(1)

    assert bench.fleet.take() == [(job,)]


def test_a_queue_that_is_made_otherwise_is_a_persons_to_repair(bench: Bench):
    bench.fleet.broken = TopologyMismatch("queue", "q", argument="x-queue-type", reason="classic")

    with pytest.raises(TopologyMismatch):
        bench.turn()

    assert len(bench.fatal) == 1
