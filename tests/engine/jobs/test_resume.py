"""Answers by token: once, by the right one, in time or as late."""

import threading

import pytest

from holdfast import JobState, Pipeline, Retry, Wait
from holdfast.errors import InvalidValue, TokenRefused, UsageError
from holdfast.runtime.attempts.attempt import Attempt, JobContext
from holdfast.testing import run_inline


class Approvals:
    """A pipeline that asks outside and goes on with the answer, and the tokens it gave out."""

    def __init__(self, *, valid_for: float | None = None, timeout: float | None = None) -> None:
        self.tokens: list[str] = []
        self.pipeline = Pipeline("approvals", retry=Retry(attempts=2, base=1, jitter="none"))

        @self.pipeline.stage
        def ask(job) -> Wait:
            self.tokens.append(job.callback_token(valid_for=valid_for))
            return Wait(timeout)

        @self.pipeline.stage
        def act(_job, ask: dict) -> str:
            return f"approved by {ask['by']}"


def waiting(open_app, clock, approvals, **options):
    app = open_app(approvals.pipeline, clock=clock)
    job = app.submit("approvals", **options)
    run_inline(app)
    assert job.get().state is JobState.WAITING
    return app, job


def test_the_answer_by_token_becomes_the_stage_s_result(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals)
    app.resume(approvals.tokens[0], {"by": "grace"})
    run_inline(app)

    assert job.get().result == "approved by grace"


def test_received_twice_it_counts_once(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals)
    app.resume(approvals.tokens[0], {"by": "grace"})
    again = app.resume(approvals.tokens[0], {"by": "mallory"})
    assert again.job.stage == "act"
    run_inline(app)
    app.resume(approvals.tokens[0], {"by": "mallory"})

    assert job.get().result == "approved by grace"


def test_received_by_many_at_once_it_counts_once(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals)
    threads = [
        threading.Thread(target=app.resume, args=(approvals.tokens[0], {"by": f"n{n}"}))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run_inline(app)

    assert job.get().result.startswith("approved by n")
    events = [line.event for line in app.history(job.id)]
    assert events.count("advanced") == 1


def test_after_the_deadline_it_is_kept_as_late_and_the_state_stays(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals, deadline=60)
    clock.advance(61)
    run_inline(app)
    assert job.get().error["error_class"] == "TIMEOUT"
    view = app.resume(approvals.tokens[0], {"by": "grace"})

    assert view.state is JobState.FAILED
    assert job.get().job.late_result == '{"by":"grace"}'
    assert job.get().error["error_class"] == "TIMEOUT"


def test_at_the_very_deadline_it_is_in_time_and_right_after_it_is_not(open_app, clock):
    for extra_us, state in ((0, JobState.QUEUED), (1, JobState.FAILED)):
        approvals = Approvals()
        app = open_app(approvals.pipeline, clock=clock)
        job = app.submit("approvals", deadline=60)
        run_inline(app)
        clock.advance(60 + extra_us / 1_000_000)
        app.resume(approvals.tokens[0], {"by": "grace"})

        assert job.get().state is state


def test_a_forged_token_is_refused_and_changes_nothing(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals)
    body, _, signature = approvals.tokens[0].partition(".")
    for forged in ("x", body, f"{body}.", f"{body}.{signature[::-1]}", f".{signature}"):
        with pytest.raises(TokenRefused, match="not issued"):
            app.resume(forged, {"by": "mallory"})

    assert job.get().state is JobState.WAITING


def test_an_expired_token_is_refused(open_app, clock):
    approvals = Approvals(valid_for=10)
    app, job = waiting(open_app, clock, approvals)
    clock.advance(11)
    with pytest.raises(TokenRefused, match="expired"):
        app.resume(approvals.tokens[0], {"by": "grace"})

    assert job.get().state is JobState.WAITING


def test_a_token_of_a_run_that_is_over_is_refused(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals, deadline=60)
    clock.advance(61)
    run_inline(app)
    app.retry(job.id, by="ada", from_start=True)
    run_inline(app)
    with pytest.raises(TokenRefused, match="started over"):
        app.resume(approvals.tokens[0], {"by": "grace"})
    app.resume(approvals.tokens[1], {"by": "grace"})
    run_inline(app)

    assert job.get().result == "approved by grace"


def test_a_token_answers_its_own_stage_and_no_other_that_waits(open_app, clock):
    tokens: dict[str, str] = {}
    pipeline = Pipeline("two-signatures")

    @pipeline.stage
    def first(job) -> Wait:
        tokens["first"] = job.callback_token()
        return Wait()

    @pipeline.stage
    def second(job) -> Wait:
        tokens["second"] = job.callback_token()
        return Wait()

    app = open_app(pipeline, clock=clock)
    job = app.submit("two-signatures")
    run_inline(app)
    app.resume(tokens["first"], "grace")
    run_inline(app)
    again = app.resume(tokens["first"], "mallory", message_id="m-1")
    assert (again.state, again.job.stage) == (JobState.WAITING, "second")
    app.resume(tokens["second"], "ada")

    assert job.get().result == "ada"


def test_every_program_on_the_database_reads_the_tokens_of_the_others(open_app, clock):
    approvals = Approvals()
    _, job = waiting(open_app, clock, approvals)
    other = open_app(Approvals().pipeline, clock=clock)
    other.resume(approvals.tokens[0], {"by": "grace"})

    assert job.get().job.stage == "act"


def test_tokens_are_made_where_a_worker_runs_the_stage(open_app, clock):
    approvals = Approvals()
    app, job = waiting(open_app, clock, approvals)
    row = app.job(job.id).job
    bound = approvals.pipeline.bound()
    attempt = Attempt(
        row._replace(holder="w", lease_until=row.run_at),
        plan=bound.plan,
        bound=bound.stages[0],
        checkpoints={},
    )
    with pytest.raises(UsageError, match="where a worker runs"):
        JobContext(attempt).callback_token()


@pytest.mark.parametrize("valid_for", [0, -1, 10**12])
def test_a_time_that_makes_no_sense_is_refused_by_name(open_app, clock, valid_for):
    caught = []
    pipeline = Pipeline("approvals")

    @pipeline.stage
    def ask(job) -> None:
        try:
            job.callback_token(valid_for=valid_for)
        except InvalidValue as error:
            caught.append(str(error))

    app = open_app(pipeline, clock=clock)
    app.submit("approvals")
    run_inline(app)

    assert "valid_for" in caught[0]
