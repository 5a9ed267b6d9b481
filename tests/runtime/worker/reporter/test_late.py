"""What comes after a deadline, a cancel or a stop is kept as late, and flips nothing."""

import pytest

from holdfast import JobState
from holdfast.core.job.decision import Kind
from holdfast.errors import StoreUnavailable
from holdfast.runtime.attempts.attempt import Fate
from holdfast.runtime.worker import reporter as reporting
from holdfast.testing import Script, failing
from tests.runtime.worker.reporter.ledgers import kinds_of


def test_a_result_after_the_deadline_is_kept_as_late(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p", deadline=60)
    crew.claim()
    crew.clock.advance(61)
    crew.lane.run()
    crew.report()

    view = job.get()
    assert (view.state, view.error["error_class"], view.late_result) == ("failed", "TIMEOUT", 1)


def test_a_result_after_the_sweeper_is_kept_as_late_and_flips_nothing(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p", deadline=60)
    crew.claim()
    crew.clock.advance(61)
    crew.sweep()
    crew.lane.run()
    crew.report()
    crew.report()

    view = job.get()
    assert (view.state, view.error["error_class"], view.late_result) == ("failed", "TIMEOUT", 1)
    assert kinds_of(app, job) == [Kind.EXPIRED, Kind.LATE]
    assert app.verify() == []


def test_a_completion_after_a_cancel_is_noted_and_flips_nothing(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p")
    crew.claim()
    app.cancel(job.id, by="ada")
    crew.lane.run()
    crew.report()
    crew.report()

    assert job.get().state is JobState.CANCELLED
    assert kinds_of(app, job) == [Kind.CANCELLED, Kind.LATE]
    assert app.verify() == []


def test_a_failure_after_a_cancel_is_dropped(make_crew):
    app, crew = make_crew(failing(1))
    job = app.submit("p")
    crew.claim()
    app.cancel(job.id, by="ada")
    crew.lane.run()
    crew.report()
    crew.report()

    assert kinds_of(app, job) == [Kind.CANCELLED]
    assert crew.reporter.stale == 1


def late_attempt(crew):
    """An attempt that was given up, and whose job has passed its deadline."""
    crew.claim()
    attempt = crew.lane.waiting.popleft()
    attempt.fate, attempt.ended = Fate.TIMED_OUT, True
    crew.clock.advance(61)
    crew.sweep()
    return attempt


def test_what_a_handler_returns_after_its_attempt_was_given_up_is_kept_as_late(
    make_crew, announced
):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, {"pages": 3})
    assert crew.reporter.wake.is_set()
    crew.report()

    assert job.get().late_result == {"pages": 3}
    assert job.get().state is JobState.FAILED
    assert announced == [Kind.EXPIRED, Kind.LATE]


def test_a_late_result_waits_for_the_database(make_crew):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, 1)
    crew.store.refuse("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.store.restore()
    crew.store.skip("apply", set())
    assert crew.report() == reporting.AGAIN_US
    crew.store.restore()
    crew.report()

    assert job.get().late_result == 1


def test_a_late_result_whose_reply_was_lost_is_announced_once(make_crew, announced):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, 1)
    crew.store.lose_reply("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.report()
    crew.report()

    assert job.get().late_result == 1
    assert announced == [Kind.EXPIRED, Kind.LATE]


def test_what_comes_late_for_a_job_that_others_run_by_now_is_nothing(make_crew):
    app, crew = make_crew(Script())
    job = app.submit("p")
    crew.claim()
    attempt = crew.lane.waiting.popleft()
    crew.clock.advance(31)
    crew.sweep()
    row = job.get().job
    crew.reporter.report_late(attempt, "late")
    crew.report()

    assert job.get().job == row


def test_what_comes_late_and_is_no_result_is_nothing(make_crew):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, object())
    crew.report()

    assert job.get().late_result is None


def test_an_attempt_stopped_right_before_the_deadline_is_left_to_the_sweeper(make_crew):
    """The clocks of the lane and the store may differ by a moment."""
    app, crew = make_crew(Script(TimeoutError()))
    job = app.submit("p", deadline=60)
    crew.claim()
    [attempt] = crew.lane.waiting
    crew.clock.advance(59)
    attempt.fate = Fate.TIMED_OUT
    crew.lane.run()
    attempt.ends_with_job = True
    crew.report()
    assert job.get().state is JobState.PROCESSING

    crew.clock.advance(2)
    crew.sweep()
    assert job.get().error["error_class"] == "TIMEOUT"
