"""Functions as jobs: what they take, what they are called with, and what comes of it."""

import asyncio
from dataclasses import dataclass

import pytest

from holdfast import Holdfast, JobContext, Retry, Upstream, UsageError
from holdfast.errors import InvalidDocument, UnknownJob
from holdfast.testing import run_inline


@dataclass
class Receipt:
    to: str
    payload: int


@pytest.fixture
def app(open_app) -> Holdfast:
    return open_app()


def test_a_function_is_a_job_that_takes_its_arguments_and_returns_its_type(app):
    @app.job
    def send(to: str, payload: int = 3) -> Receipt:
        return Receipt(to, payload)

    by_place, by_name = send.submit("ada"), send.submit(to="bob", payload=9)
    run_inline(app)

    assert by_place.result(0) == Receipt("ada", 3)
    assert by_name.result(0) == Receipt("bob", 9)
    assert by_name.get().payload == {"to": "bob", "payload": 9}


def test_an_async_function_and_one_that_takes_the_job_are_called_as_they_are_declared(app):
    @app.job(name="greeting", retry=Retry(attempts=2))
    async def greet(context: JobContext, name: str) -> str:
        await asyncio.sleep(0)
        return f"{name} {context.pipeline} {context.attempt}"

    @app.job
    def untyped(job, number):
        return [job.stage, number]

    handles = [greet.submit("ada"), untyped.submit(7)]
    run_inline(app)

    assert [handle.result(0) for handle in handles] == ["ada greeting 1", ["untyped", 7]]


def test_called_like_the_function_it_is_the_function(app):
    @app.job
    def double(number: int) -> int:
        """Return twice the number."""
        return 2 * number

    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Return twice the number.")
    assert app.count() == 0


def test_wrong_arguments_are_refused_by_name_when_they_are_submitted(app):
    @app.job
    def send(to: str, *, copies: int = 1) -> None: ...

    for wrong in (
        send.submit,
        lambda: send.submit(too="ada"),
        lambda: send.submit("ada", 2),
    ):
        with pytest.raises(UsageError, match=r"^send\(to: str, \*, copies: int = 1\): "):
            wrong()
    with pytest.raises(InvalidDocument, match="/copies"):
        send.submit("ada", copies="many")
    assert app.count() == 0


def test_one_job_is_submitted_under_a_key_with_a_delay_for_an_owner(app):
    @app.job
    def send(to: str) -> None: ...

    later = send.using(key="letter-1", owner="tenant-7").using(delay=60)
    first, again = later.submit("ada"), later.submit("ada")

    assert (first.created, again.created, first.id == again.id) == (True, False, True)
    assert (first.get().job.owner, first.get().label) == ("tenant-7", "scheduled")


def test_many_jobs_are_made_at_once_with_options_of_their_own(app):
    @app.job
    def send(to: str) -> str:
        return to

    made = send.submit_many(send.using(key=name).call(name) for name in ("ada", "bob", "ada"))
    run_inline(app)

    assert [each.created for each in made] == [True, True, False]
    assert app.job(str(made[1].job_id)).result == "bob"


def test_a_function_that_calls_an_upstream_has_its_policies(app):
    mail = Upstream("mail", timeout=7, retry=Retry(attempts=5))

    @app.job(calls=mail, queue="letters", deadline=60)
    def send(to: str) -> None: ...

    job = send.submit("ada").get().job

    plan = send.pipeline.bound().plan
    assert (job.queue, job.deadline_at is None) == ("letters", False)
    assert (plan.stages[0].upstream, plan.stages[0].retry.attempts) == ("mail", 5)


def test_what_cannot_be_filled_from_a_payload_is_refused_where_it_is_declared(app):
    with pytest.raises(UsageError, match="by name"):

        @app.job
        def several(*names: str) -> None: ...

    app.job(name="one")(lambda: 1)
    with pytest.raises(UsageError, match="two pipelines"):
        app.job(name="one")(lambda: 2)


def test_a_job_is_still_read_by_its_id(app):
    @app.job
    def send(to: str) -> None: ...

    handle = send.submit("ada")

    assert app.job(handle.id).id == handle.id
    with pytest.raises(UnknownJob):
        app.job(handle.id, owner="somebody-else")
