"""What people do to jobs and queues: only legal moves, each with its name in the history."""

import pytest

from holdfast import GiveUp, JobState, Pipeline, Retry, Wait
from holdfast.errors import InvalidDocument, InvalidValue, UnknownJob, WrongState
from holdfast.testing import Script, drain, run_inline

NOBODY = "0190aaaa-0000-7000-8000-000000000000"


def events(app, job) -> list[str]:
    return [line.event for line in app.history(job.id)]


@pytest.fixture
def two_stages(open_app):
    def make(one, two):
        pipeline = Pipeline("two", retry=Retry(attempts=1))
        pipeline.stage(name="one")(one.handler)
        pipeline.stage(name="two")(two.handler)
        return open_app(pipeline)

    return make


def test_a_queued_job_can_be_cancelled(app, script):
    job = app.submit("p")
    view = app.cancel(job.id, by="ada", reason="a mistake")
    run_inline(app)

    assert view.state is JobState.CANCELLED
    assert script.calls == []
    line = app.history(job.id)[-1]
    assert (line.event, line.meta["by"], line.meta["reason"]) == ("cancelled", "ada", "a mistake")


def test_cancelling_twice_is_cancelling_once(app):
    job = app.submit("p")
    app.cancel(job.id, by="ada")
    app.cancel(job.id, by="bob")

    assert events(app, job) == ["queued", "cancelled"]


@pytest.mark.parametrize("outcome", [1, GiveUp("NO")])
def test_a_job_that_has_ended_cannot_be_cancelled(app, script, outcome):
    script._then = outcome
    job = app.submit("p")
    run_inline(app)

    with pytest.raises(WrongState, match="cannot cancel") as caught:
        app.cancel(job.id, by="ada")
    assert caught.value.state == job.get().state


def test_a_job_cancelled_while_it_runs_stays_cancelled_and_the_completion_is_noted(app, script):
    script._then = lambda job: app.cancel(job.id, by="ada").state.value
    job = app.submit("p")
    run_inline(app)

    assert job.get().state is JobState.CANCELLED
    assert job.get().result is None
    assert events(app, job) == ["queued", "processing", "cancelled", "late"]
    assert app.verify() == []


def test_a_waiting_job_can_be_cancelled(app, script):
    script._then = Wait()
    job = app.submit("p")
    run_inline(app)

    assert app.cancel(job.id, by="ada").state is JobState.CANCELLED


def test_a_failed_job_goes_on_at_the_stage_that_failed(two_stages):
    one, two = Script("a"), Script(GiveUp("NO"), lambda job: job.results["one"])
    app = two_stages(one, two)
    job = app.submit("two")
    run_inline(app)
    assert job.get().state is JobState.FAILED

    view = app.retry(job.id, by="ada", reason="fixed it")
    assert (view.state, view.job.stage, view.job.attempt) == (JobState.QUEUED, "two", 0)
    assert view.error is None
    run_inline(app)
    assert job.get().result == "a"
    assert len(one.calls) == 1


def test_a_failed_job_can_be_sent_back_to_the_start(two_stages):
    one, two = Script("a", "b"), Script(GiveUp("NO"), lambda job: job.results["one"])
    app = two_stages(one, two)
    job = app.submit("two")
    run_inline(app)
    app.retry(job.id, by="ada", from_start=True)
    assert app.results(job.id) == {}
    run_inline(app)

    assert job.get().result == "b"
    assert app.results(job.id) == {"one": "b", "two": "b"}
    assert app.verify() == []


def test_a_job_sent_back_has_its_whole_budget_again(app, script):
    script._then = TimeoutError()
    job = app.submit("p")
    drain(app)
    app.retry(job.id, by="ada")
    drain(app)

    assert len(script.calls) == 4
    assert job.get().job.retries == 1


def test_only_failed_jobs_can_be_retried(app):
    job = app.submit("p")
    with pytest.raises(WrongState, match="cannot retry"):
        app.retry(job.id, by="ada")
    run_inline(app)

    with pytest.raises(WrongState, match="it is complete"):
        app.retry(job.id, by="ada")


def test_an_answer_is_the_result_of_the_stage_that_waits(two_stages):
    app = two_stages(Script(Wait()), Script(lambda job: job.results["one"]))
    job = app.submit("two")
    run_inline(app)
    assert job.get().state is JobState.WAITING

    app.answer(job.id, {"approved": True}, stage="one")
    run_inline(app)
    assert job.get().result == {"approved": True}


def test_an_answer_given_twice_counts_once(app, script):
    script._then = Wait()
    job = app.submit("p")
    run_inline(app)
    app.answer(job.id, "first")
    view = app.answer(job.id, "second")

    assert view.result == "first"
    assert events(app, job) == ["queued", "processing", "suspended", "completed"]


def test_an_answer_may_come_before_the_handler_has_returned(app, script):
    def ask(job):
        app.answer(job.id, "already there")
        return Wait()

    script._then = ask
    job = app.submit("p")
    run_inline(app)

    assert job.get().result == "already there"


def test_an_answer_after_the_deadline_is_kept_as_late(app, script, clock):
    script._then = Wait()
    job = app.submit("p", deadline=60)
    run_inline(app)
    clock.advance(61)
    view = app.answer(job.id, "late")

    assert (view.state, view.error["error_class"]) == (JobState.FAILED, "TIMEOUT")
    assert view.late_result == "late"
    assert app.answer(job.id, "later").late_result == "late"


def test_an_answer_for_a_job_that_asks_nothing_is_refused(app):
    job = app.submit("p")

    with pytest.raises(WrongState, match="cannot answer"):
        app.answer(job.id, 1)


def test_an_answer_that_is_no_json_is_refused(app, script):
    script._then = Wait()
    job = app.submit("p")
    run_inline(app)

    with pytest.raises(InvalidDocument, match="answer"):
        app.answer(job.id, float("nan"))
    assert job.get().state is JobState.WAITING


def test_nobody_can_do_anything_to_a_job_that_is_not_there(app):
    for action in (
        lambda: app.cancel(NOBODY, by="ada"),
        lambda: app.retry(NOBODY, by="ada"),
        lambda: app.answer(NOBODY, 1),
        lambda: app.history(NOBODY),
        lambda: app.results(NOBODY),
    ):
        with pytest.raises(UnknownJob, match=NOBODY):
            action()


@pytest.mark.parametrize("by", ["", "\x00", "\ud800", "x" * 256, None, 7])
def test_who_asks_must_have_a_name(app, by):
    job = app.submit("p")

    for action in (
        lambda: app.cancel(job.id, by=by),
        lambda: app.retry(job.id, by=by),
        lambda: app.pause_queue("default", by=by),
    ):
        with pytest.raises(InvalidValue, match="by"):
            action()
    assert job.get().job.revision == 0


def test_reasons_are_made_safe_and_cut(app):
    job = app.submit("p")
    app.cancel(job.id, by="ada", reason="\x00\ud800\x1b[31m" + "x" * 10_000_000)

    reason = app.history(job.id)[-1].meta["reason"]
    assert reason.startswith("\\x00\\ud800\\x1b[31m")
    assert len(reason) <= 2_000


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(app, script):
    app.submit("p")

    assert app.pause_queue("default", by="ada") is True
    assert app.pause_queue("default", by="bob") is False
    run_inline(app)
    assert script.calls == []
    [queue] = app.queues()
    assert (queue.queue, queue.paused_by, queue.due) == ("default", "ada", 1)
    assert app.resume_queue("default") is True
    assert app.resume_queue("default") is False
    run_inline(app)
    assert len(script.calls) == 1


def test_what_runs_when_its_queue_is_paused_goes_on_to_its_end(app, script):
    script._then = lambda job: app.pause_queue("default", by="ada")
    job = app.submit("p")
    run_inline(app)

    assert job.get().state is JobState.COMPLETE


def test_an_empty_queue_can_be_paused_ahead(app, script):
    app.pause_queue("later", by="ada")
    app.submit("p", queue="later")
    run_inline(app)

    assert script.calls == []


@pytest.mark.parametrize("queue", ["", "no spaces", 7, None])
def test_a_queue_must_have_a_name(app, queue):
    with pytest.raises(InvalidValue, match="queue"):
        app.pause_queue(queue, by="ada")
    with pytest.raises(InvalidValue, match="queue"):
        app.resume_queue(queue)


def test_the_history_tells_everything_in_order(app, script, clock):
    def fail(job):
        clock.advance(2)
        raise ConnectionResetError("reset")

    script._outcomes = (fail, "ok")
    job = app.submit("p")
    drain(app)

    lines = app.history(job.id)
    assert [(line.event, line.attempt) for line in lines] == [
        ("queued", 0),
        ("processing", 1),
        ("retried", 1),
        ("processing", 2),
        ("completed", 2),
    ]
    assert lines[2].meta == {
        "state": "queued",
        "duration_ms": 2000,
        "error_code": "NETWORK",
        "error_class": "NETWORK",
        "message": "reset",
        "delay_us": 10_000_000,
    }
    assert lines[1].meta == {"worker": "inline"}
    assert [line.at for line in lines] == sorted(line.at for line in lines)
