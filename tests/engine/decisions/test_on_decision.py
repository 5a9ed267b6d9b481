"""Messages that a pipeline adds to decisions about its jobs: with the commit, or not at all."""

import json
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    Breaker,
    GiveUp,
    Holdfast,
    JobFilter,
    JobState,
    Pipeline,
    Retry,
    RetryLater,
    Upstream,
    UserError,
    Wait,
)
from holdfast.answers import Progress
from holdfast.core.values.outbox import OutboxMessage
from holdfast.errors import PipelineNeeded, StoreUnavailable
from holdfast.messaging import Decided, Message
from holdfast.testing import Script, run_inline
from holdfast.workers import WorkerOptions

RETRY = Retry(attempts=2, base=10, jitter="none")


class Listener:
    """What a pipeline is called with; it returns a message for each decision."""

    def __init__(self) -> None:
        self.seen: list[Decided] = []
        self.instead: Callable[[Decided], Any] | None = None

    def __call__(self, decided: Decided) -> Any:
        self.seen.append(decided)
        if self.instead is not None:
            return self.instead(decided)
        return [Message(f"job.{decided.kind}", {"n": decided.payload["n"], "at": decided.revision})]

    @property
    def kinds(self) -> list[str]:
        return [decided.kind for decided in self.seen]


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def make(open_app, listener) -> Callable[..., Holdfast]:
    """Makes an app whose pipeline `p` plays a script in its only stage."""

    def make_app(*outcomes: object, calls: Upstream | None = None, **options: Any) -> Holdfast:
        pipeline = Pipeline("p", retry=RETRY, on_decision=listener, **options)
        pipeline.stage(name="one", calls=calls)(Script(*outcomes, then=1).handler)
        return open_app(pipeline)

    return make_app


def published(app: Holdfast) -> list[OutboxMessage]:
    return app.outbox.find()[::-1]


def types(app: Holdfast) -> list[str]:
    return [message.message_type.removeprefix("job.") for message in published(app)]


def submitted(app: Holdfast, **options: Any) -> str:
    return app.submit("p", {"n": 7}, **options).id


def test_every_decision_of_a_worker_has_its_messages(make, listener) -> None:
    app = make(TimeoutError("slow"), 5)
    job_id = submitted(app, key="k", owner="ann")
    run_inline(app, advance=True)

    assert types(app) == ["retried", "completed"]
    assert [json.loads(message.payload)["n"] for message in published(app)] == [7, 7]
    assert {message.aggregate_id for message in published(app)} == {job_id}
    retried, completed = listener.seen
    assert (retried.job_id, retried.pipeline, retried.key, retried.owner) == (
        job_id,
        "p",
        "k",
        "ann",
    )
    assert (retried.stage, retried.attempt, retried.attempts, retried.run) == ("one", 1, 1, 1)
    assert retried.failure is not None
    assert (retried.failure.error_class, retried.failure.retryable) == ("NETWORK_TIMEOUT", True)
    assert retried.until == retried.at + timedelta(seconds=10)
    assert (completed.failure, completed.until, completed.result) == (None, None, 5)
    assert (completed.attempt, completed.at) == (2, retried.until)


@pytest.mark.parametrize(
    ("outcomes", "kinds"),
    [
        ((GiveUp("NO", "never"),), ["failed"]),
        ((UserError("BAD", "yours"),), ["refused"]),
        ((RetryLater(after=5, reason="busy"), 1), ["snoozed", "completed"]),
        ((TimeoutError(), TimeoutError()), ["retried", "failed"]),
    ],
)
def test_what_a_handler_raises_decides_the_kind(make, listener, outcomes, kinds) -> None:
    app = make(*outcomes)
    submitted(app)
    run_inline(app, advance=True)

    assert listener.kinds == kinds
    assert types(app) == kinds


def test_a_passed_deadline_has_its_messages(make, listener, clock) -> None:
    app = make(deadline=30)
    app.pause_queue("default", by="ann")
    submitted(app)
    clock.advance(31)
    run_inline(app)

    assert types(app) == ["expired"]
    [expired] = listener.seen
    assert expired.deadline_at == expired.created_at + timedelta(seconds=30)
    assert expired.failure is not None
    assert expired.failure.error_class == "TIMEOUT"


def test_what_people_do_has_its_messages(make, listener) -> None:
    app = make(GiveUp("NO"))
    job_id = submitted(app)
    run_inline(app)
    app.retry(job_id, by="ann", reason="again", from_start=True)
    app.cancel(job_id, by="bob", reason="enough")

    assert types(app) == ["failed", "revived", "cancelled"]
    _, revived, cancelled = listener.seen
    assert (revived.retries, revived.run, revived.detail["by"]) == (1, 2, "ann")
    assert dict(cancelled.detail) == {"by": "bob", "reason": "enough"}


def test_what_people_do_to_many_has_its_messages(make) -> None:
    app = make()
    for _ in range(3):
        submitted(app)
    app.cancel_many(JobFilter(pipeline="p"), by="ann")

    assert types(app) == ["cancelled"] * 3


def test_a_job_that_is_turned_away_has_its_messages(make) -> None:
    app = make()
    app.refuse("p", {"n": 7}, GiveUp("TOO_LARGE", "no"), key="k")
    app.refuse("p", {"n": 7}, GiveUp("TOO_LARGE", "no"), key="k")

    assert types(app) == ["refused"]


def test_a_stage_that_waits_and_its_answer_have_their_messages(make, listener) -> None:
    app = make(Wait(timeout=60))
    job_id = submitted(app)
    run_inline(app)
    app.answer(job_id, {"done": True})

    assert types(app) == ["suspended", "completed"]
    suspended, completed = listener.seen
    assert suspended.until is not None
    assert completed.result == {"done": True}


def test_a_wait_that_nobody_ends_has_its_messages(make) -> None:
    app = make(Wait(timeout=60), Wait(timeout=60))
    submitted(app)
    run_inline(app, advance=True)

    assert types(app) == ["suspended", "retried", "suspended", "failed"]


def test_a_job_that_its_breaker_puts_off_has_its_messages(make, listener) -> None:
    breaker = Breaker(consecutive=1, cooldown=60, mode="notice")
    app = make(ConnectionError(), calls=Upstream("up", breaker=breaker, retry=RETRY))
    submitted(app)
    run_inline(app, advance=True)

    assert types(app) == ["retried", "held", "completed"]
    held = listener.seen[1]
    assert (held.detail["upstream"], held.detail["reason"]) == ("up", "CIRCUIT_OPEN")
    assert held.until is not None
    assert held.until > held.at


def test_what_comes_after_a_cancel_is_late_and_nothing_of_the_dropped_decision_is_written(
    make, listener
) -> None:
    app = make(5)
    job_id = submitted(app)
    once: list[int] = []

    def overtake(decided: Decided) -> list[Message]:
        if decided.kind == "completed" and not once:
            once.append(1)
            app.cancel(job_id, by="ann")
        return [Message(f"job.{decided.kind}", {"kind": decided.kind})]

    listener.instead = overtake
    run_inline(app)

    assert listener.kinds[0] == "completed"
    assert app.job(job_id).state is JobState.CANCELLED
    assert types(app) == ["cancelled", "late"]


def test_a_decision_that_has_to_be_made_again_is_published_once(make, listener) -> None:
    app = make(TimeoutError(), 5)
    job_id = submitted(app)
    moved: list[int] = []

    def note(decided: Decided) -> list[Message]:
        # Another process writes to the job between the decision and its write.
        if decided.kind == "retried" and not moved:
            moved.append(decided.revision)
            app.answer(job_id, Progress("half", percent=50), stage="one")
        return [Message(f"job.{decided.kind}", {"revision": decided.revision})]

    listener.instead = note
    run_inline(app, advance=True)

    assert types(app) == ["progress", "retried", "completed"]
    assert len({message.id for message in published(app)}) == 3
    assert listener.kinds.count("retried") == 2


def test_messages_of_the_handler_come_first(open_app) -> None:
    pipeline = Pipeline("p", on_decision=lambda _: [Message("second"), Message("third", None, "x")])

    @pipeline.stage
    def one(job: Any) -> None:
        job.publish("first")

    app = open_app(pipeline)
    job = app.submit("p")
    run_inline(app)

    assert types(app) == ["first", "second", "third"]
    assert [message.aggregate_id for message in published(app)] == [job.id, job.id, "x"]


@pytest.mark.parametrize(
    "instead",
    [
        lambda _: 1 / 0,
        lambda _: [Message("good"), Message("")],
        lambda _: [Message("good", {"x": object()})],
        lambda _: [Message("many")] * 101,
    ],
)
def test_a_function_that_fails_costs_the_messages_and_not_the_decision(
    make, listener, caplog, instead
) -> None:
    app = make(5)
    job_id = submitted(app)
    listener.instead = instead
    with caplog.at_level(logging.ERROR, logger="holdfast.worker"):
        run_inline(app)

    assert app.job(job_id).state is JobState.COMPLETE
    assert types(app) == []
    assert "on_decision of pipeline p failed" in caplog.text


def test_a_store_that_is_away_for_the_function_has_the_decision_made_later(make, listener) -> None:
    app = make(5)
    job_id = submitted(app)
    away = [StoreUnavailable("db", reason="gone")]

    def read(decided: Decided) -> list[Message]:
        if away:
            raise away.pop()
        return [Message("read")]

    listener.instead = read
    with pytest.raises(StoreUnavailable):
        app.cancel(job_id, by="ann")
    assert app.job(job_id).state is JobState.QUEUED
    app.cancel(job_id, by="ann")

    assert types(app) == ["read"]


def test_nothing_at_all_may_be_returned(make, listener) -> None:
    listener.instead = lambda _: None
    app = make(5)
    submitted(app)
    run_inline(app)

    assert types(app) == []


def test_secrets_are_not_in_what_the_function_sees_of_a_failure(make, listener) -> None:
    app = make(GiveUp("NO", "password is correct-horse-battery"))
    app.add_secrets(["correct-horse-battery"])
    submitted(app)
    run_inline(app)

    [failed] = listener.seen
    assert failed.failure is not None
    assert "correct-horse" not in failed.failure.message
    assert "correct-horse" not in str(failed.detail)


class TestWithoutTheCode:
    """A process that does not know the pipeline leaves its jobs to one that does."""

    def test_its_sweeper_leaves_the_jobs_alone(self, make, listener, open_app, clock) -> None:
        app, other = make(deadline=30), open_app()
        job_id = submitted(app)
        clock.advance(31)
        run_inline(other)
        assert app.job(job_id).state is JobState.QUEUED

        run_inline(app)

        assert types(app) == ["expired"]

    def test_it_takes_no_decision_by_hand(self, make, open_app) -> None:
        app, other = make(), open_app()
        job_id = submitted(app)

        with pytest.raises(PipelineNeeded, match="'p'") as caught:
            other.cancel(job_id, by="ann")
        assert (caught.value.pipeline, caught.value.job_id) == ("p", job_id)
        chunk = other.cancel_many(JobFilter(pipeline="p"), by="ann")
        assert (chunk.matched, chunk.changed, sum(chunk.refused.values())) == (1, 0, 1)
        assert app.job(job_id).state is JobState.QUEUED

    def test_it_sends_no_failed_job_back(self, make, open_app) -> None:
        app, other = make(GiveUp("NO")), open_app()
        job_id = submitted(app)
        run_inline(app)

        with pytest.raises(PipelineNeeded):
            other.retry(job_id, by="ann")
        assert app.job(job_id).state is JobState.FAILED

    def test_pipelines_without_the_function_are_decided_by_everybody(self, open_app, clock) -> None:
        pipeline = Pipeline("plain", deadline=30)
        pipeline.stage(name="one")(lambda job: 1)
        app, other = open_app(pipeline), open_app()
        job = app.submit("plain")
        clock.advance(31)
        run_inline(other)

        assert job.get().state is JobState.FAILED

    def test_jobs_of_code_that_has_lost_the_function_go_on(self, make, open_app) -> None:
        app = make()
        job_id = submitted(app)
        later = Pipeline("p", retry=RETRY)
        later.stage(name="one")(lambda job: 1)
        run_inline(open_app(later))

        assert app.job(job_id).state is JobState.COMPLETE
        assert types(app) == []


def test_messages_are_erased_with_their_owner(make) -> None:
    app = make(TimeoutError(), 5)
    submitted(app, owner="ann")
    run_inline(app, advance=True)
    submitted(app, owner="bob")
    run_inline(app, advance=True)
    assert types(app) == ["retried", "completed", "completed"]

    erased = app.erase("ann", by="ops", cancel=True)

    assert erased.rows["messages"] == 2
    assert types(app) == ["completed"]


def test_a_worker_with_threads_publishes_too(make, listener, app_options) -> None:
    app_options.pop("clock")
    app = make(TimeoutError(), 5)
    job = app.submit("p", {"n": 1})
    worker = app.worker()
    worker.start()
    try:
        job.wait(timeout=30)
    finally:
        worker.drain()

    assert types(app) == ["retried", "completed"]


def test_what_comes_after_the_end_of_an_attempt_given_up_has_its_messages(
    open_app, listener, app_options
) -> None:
    app_options.pop("clock")
    pipeline = Pipeline("p", on_decision=listener, retry=Retry(attempts=1))

    @pipeline.stage
    def returns_once_it_was_given_up(job: Any) -> int:
        assert eventually(lambda: job.cancelled)
        return 5

    app = open_app(pipeline)
    job = app.submit("p", {"n": 1})
    worker = app.worker(options=WorkerOptions(lease=2.0))
    worker.start()
    try:
        assert eventually(lambda: job.get().state is JobState.PROCESSING)
        app.cancel(job.id, by="ann")
        assert eventually(lambda: types(app) == ["cancelled", "late"])
    finally:
        worker.drain()


def eventually(condition: Callable[[], bool], *, within_s: float = 30.0) -> bool:
    gives_up_at = time.monotonic() + within_s
    while time.monotonic() < gives_up_at:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
