"""Durable tasks: submitted as Celery's are, stored as jobs, refused with a word on what to do."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery

from holdfast import Holdfast, JobContext, JobState, Retry, Upstream
from holdfast.bridges.celery import CeleryBridge
from holdfast.errors import InvalidDocument, InvalidValue, UsageError
from holdfast.testing import ManualClock, drain
from holdfast.testing.conformance.messages.outbox import rolled_back


@pytest.fixture
def app(database_url: str, clock: ManualClock) -> Iterator[Holdfast]:
    with Holdfast(database_url, clock=clock) as opened:
        yield opened


@pytest.fixture
def durable(app: Holdfast) -> CeleryBridge:
    return app.celery(Celery("shop", broker="amqp://nobody.invalid/"))


def test_a_task_is_submitted_by_delay_and_run_with_its_arguments(
    app: Holdfast, durable: CeleryBridge
):
    @durable.task(name="join")
    def join(*parts: str, end: str = "") -> str:
        """Put texts together."""
        return "-".join(parts) + end

    handle = join.delay("a", "b", end="!")
    drain(app)

    assert handle.get().result == "a-b!"
    assert join("x") == "x"
    assert (join.name, join.__name__, join.__doc__) == ("join", "join", "Put texts together.")


def test_a_task_may_be_async_and_may_see_its_job(app: Holdfast, durable: CeleryBridge):
    @durable.task(name="seen", bind=True)
    async def seen(job: JobContext, word: str) -> list[object]:
        await asyncio.sleep(0)
        return [job.attempt, job.key, word]

    handle = seen.apply_async(("w",), key="k-1")
    again = seen.apply_async(("w",), key="k-1")
    drain(app)

    assert handle.get().result == [1, "k-1", "w"]
    assert (again.id, again.created) == (handle.id, False)


def test_a_task_that_waits_is_the_stores_to_time(
    app: Holdfast, durable: CeleryBridge, clock: ManualClock
):
    @durable.task(name="tick")
    def tick() -> str:
        return "done"

    soon = tick.apply_async(countdown=60)
    at = tick.apply_async(
        eta=datetime.fromtimestamp(clock.now() / 1e6, UTC) + timedelta(seconds=90)
    )
    now = tick.apply_async(countdown=0)

    assert soon.get().job.run_at - soon.get().job.created_at == 60_000_000
    assert at.get().job.run_at - at.get().job.created_at == 90_000_000
    assert now.get().job.run_at == now.get().job.created_at


def test_the_policies_of_a_task_are_those_of_its_stage(app: Holdfast, durable: CeleryBridge):
    mail = Upstream("mail", concurrency=2)

    @durable.task(
        name="send", queue="slow", retry=Retry(attempts=7), timeout=5, deadline=60, calls=mail
    )
    def send() -> None:
        """Send nothing."""

    bound = send.pipeline.bound()
    stage = bound.plan.stage("run")
    assert (bound.queue, bound.plan.deadline_us) == ("slow", 60_000_000)
    assert (stage.retry.attempts, stage.timeout_us, stage.upstream) == (7, 5_000_000, "mail")


def test_what_is_submitted_in_a_transaction_shares_its_fate(app: Holdfast, durable: CeleryBridge):
    @durable.task(name="note")
    def note(n: int) -> int:
        return n

    with app.store.transaction() as connection:
        with durable.using(connection):
            note.delay(1)
        note.apply_async((2,), connection=connection)
    with rolled_back(app.store) as connection:
        with durable.using(connection):
            note.delay(3)
        note.apply_async((4,), connection=connection)
    note.delay(5)

    assert sorted(view.payload["args"][0] for view in app.jobs()) == [1, 2, 5]


def test_arguments_that_do_not_fit_are_refused_where_they_are_given(
    app: Holdfast, durable: CeleryBridge
):
    @durable.task(name="strict", bind=True)
    def strict(job: JobContext, n: int) -> int:
        return n

    with pytest.raises(TypeError):
        strict.delay()
    with pytest.raises(TypeError):
        strict.delay(1, 2)
    with pytest.raises(InvalidDocument):
        strict.delay(object())
    assert app.jobs() == []


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("task_id", "key="),
        ("expires", "deadline="),
        ("priority", "Holdfast.submit"),
        ("link", "stage"),
        ("serializer", "JSON"),
        ("routing_key", "queue="),
        ("time_limit", "timeout="),
        ("retry_policy", "retry="),
        ("headers", "known are connection"),
    ],
)
def test_an_option_that_belongs_elsewhere_is_refused_with_a_word_on_where(
    durable: CeleryBridge, option: str, instead: str
):
    @durable.task(name="plain")
    def plain() -> None:
        """Do nothing."""

    with pytest.raises(UsageError, match=instead):
        plain.apply_async(**{option: 1})


@pytest.mark.parametrize("option", ["autoretry_for", "max_retries", "rate_limit", "acks_late"])
def test_a_decorator_refuses_what_the_store_decides(durable: CeleryBridge, option: str):
    with pytest.raises(UsageError, match=option):
        durable.task(**{option: 1})


def test_the_canvas_is_left_to_celery(durable: CeleryBridge):
    @durable.task(name="alone")
    def alone() -> None:
        """Do nothing."""

    with pytest.raises(UsageError, match="Pipeline"):
        alone.s()
    assert not hasattr(alone, "something_else")


def test_a_task_is_named_after_its_module_as_celery_does(durable: CeleryBridge):
    @durable.task
    def short() -> None:
        """Do nothing."""

    assert short.name == f"{__name__}.short"
    with pytest.raises(UsageError, match="two pipelines"):
        durable.task(name=short.name)(lambda: None)
    with pytest.raises(InvalidValue, match="name"):
        durable.task(name="x" * 65)(lambda: None)


def test_the_state_of_a_task_that_fails_is_a_jobs(app: Holdfast, durable: CeleryBridge):
    @durable.task(name="fails")
    def fails() -> None:
        raise ValueError("no")

    handle = fails.delay()
    drain(app)

    assert handle.get().state is JobState.FAILED
    assert app.dead.get(handle.id).letter.error_class == "BUG"
