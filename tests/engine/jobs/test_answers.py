"""A waiting stage may be answered with a failure or a progress note, by when it was received."""

from datetime import datetime, timedelta

import pytest

from holdfast import GiveUp, JobState, Pipeline, Retry, RetryLater, Wait
from holdfast.answers import AnswerStanding, Progress
from holdfast.classify import CallbackFailure, Rule, Verdict
from holdfast.core.values.instant import SECOND_US, Instant, to_datetime
from holdfast.errors import InvalidPolicy, InvalidValue, TokenRefused, UsageError, WrongState
from holdfast.testing import drain, run_inline

BUSY = CallbackFailure("UPSTREAM_5XX", "the grader is down")
BROKEN = CallbackFailure("AUDIO_UNREADABLE", "no sound in it")


class Grading:
    """A pipeline that asks outside, and the tokens it gave out."""

    def __init__(self, *, timeout: float | None = None, **options) -> None:
        self.tokens: list[str] = []
        retry = Retry(attempts=2, base=60, jitter="none")
        self.pipeline = Pipeline("grading", retry=retry)

        @self.pipeline.stage(**options)
        def ask(job) -> Wait:
            self.tokens.append(job.callback_token())
            return Wait(timeout)

        @self.pipeline.stage
        def tell(_job, ask: int) -> str:
            return f"graded {ask}"


@pytest.fixture
def asked(open_app, clock):
    def ask(grading: Grading | None = None, **options):
        grading = grading or Grading()
        app = open_app(grading.pipeline, clock=clock)
        job = app.submit("grading", **options)
        run_inline(app)
        assert job.get().state is JobState.WAITING
        return app, job, grading.tokens[0]

    return ask


def events(app, job) -> list[str]:
    return [line.event for line in app.history(job.id) if line.event != "processing"]


def by_id(app, job, token, answer, **options):
    return app.answer(job.id, answer, **options)


def by_token(app, job, token, answer, **options):
    return app.resume(token, answer, **options)


WAYS = pytest.mark.parametrize("give", [by_id, by_token])


@WAYS
def test_a_failure_that_may_pass_has_the_stage_ask_again(asked, clock, give):
    app, job, token = asked()
    view = give(app, job, token, BUSY)

    assert view.state is JobState.QUEUED
    assert view.job.run_at == clock.now() + 60 * SECOND_US
    clock.advance(60)
    run_inline(app)
    give(app, job, token, 87)
    run_inline(app)
    assert job.get().result == "graded 87"
    assert events(app, job) == [
        *("queued", "suspended", "retried", "suspended", "advanced", "completed"),
    ]


@WAYS
def test_a_failure_that_cannot_pass_is_a_dead_letter_at_once(asked, give):
    app, job, token = asked()
    view = give(app, job, token, BROKEN)

    assert view.state is JobState.FAILED
    assert view.error["error_class"] == "AUDIO_UNREADABLE"
    assert view.error["message"] == "no sound in it"
    [letter] = app.dead.find()
    assert (letter.id, letter.letter.error_class) == (job.id, "AUDIO_UNREADABLE")
    assert app.verify() == []


def test_the_budget_of_the_stage_ends_failures_that_may_pass(asked, clock):
    app, _job, token = asked()
    app.resume(token, BUSY)
    clock.advance(60)
    run_inline(app)
    view = app.resume(token, BUSY)

    assert (view.state, view.error["error_class"]) == (JobState.FAILED, "UPSTREAM_5XX")
    assert app.verify() == []


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (CallbackFailure("RATE_LIMITED"), JobState.QUEUED),
        (CallbackFailure("CIRCUIT_OPEN"), JobState.QUEUED),
        (CallbackFailure("AUTH_DENIED"), JobState.FAILED),
        (CallbackFailure("THEIR_OWN"), JobState.FAILED),
        (CallbackFailure("THEIR_OWN", retryable=True), JobState.QUEUED),
        (CallbackFailure("UPSTREAM_5XX", retryable=False), JobState.FAILED),
        (GiveUp("THEIR_OWN"), JobState.FAILED),
        (ConnectionResetError("gone"), JobState.QUEUED),
    ],
    ids=lambda value: getattr(value, "error_class", str(value)),
)
def test_whether_it_is_retried_follows_from_the_class_unless_it_says_so(asked, failure, state):
    app, _job, token = asked()

    assert app.resume(token, failure).state is state


def test_the_wait_that_a_failure_asks_for_is_kept(asked, clock):
    app, _job, token = asked()
    view = app.resume(token, CallbackFailure("RATE_LIMITED", retry_after=120))

    assert view.job.run_at == clock.now() + 120 * SECOND_US


def test_the_rules_of_the_stage_judge_a_failure_first(asked):
    rule = Rule(CallbackFailure, Verdict("KNOWN_HERE", retryable=True))
    app, job, token = asked(Grading(rules=[rule]))
    view = app.resume(token, BROKEN)

    assert view.state is JobState.QUEUED
    assert app.history(job.id)[-1].meta["error_code"] == "KNOWN_HERE"


def test_a_rule_that_allows_few_such_failures_counts_those_before(asked, clock):
    rule = Rule(CallbackFailure, Verdict("KNOWN_HERE", retryable=True, attempts=2))
    grading = Grading(rules=[rule], retry=Retry(attempts=9, base=1, jitter="none"))
    app, _job, token = asked(grading)
    states = []
    for _ in range(2):
        states.append(app.resume(token, BROKEN).state)
        clock.advance(60)
        run_inline(app)

    assert states == ["queued", "failed"]


def test_a_program_that_does_not_know_the_pipeline_may_answer_with_a_failure(
    asked, open_app, clock
):
    _, job, token = asked()
    stranger = open_app(clock=clock)
    stranger.resume(token, BROKEN)

    assert job.get().error["error_class"] == "AUDIO_UNREADABLE"


def test_a_failure_while_the_stage_still_runs_ends_its_attempt(open_app, clock):
    pipeline, answers = Pipeline("p", retry=Retry(attempts=2, base=60, jitter="none")), []

    @pipeline.stage
    def ask(job) -> Wait:
        answers.append(app.resume(job.callback_token(), BUSY).state)
        return Wait()

    app = open_app(pipeline, clock=clock)
    job = app.submit("p")
    run_inline(app)

    assert answers == [JobState.QUEUED]
    assert events(app, job) == ["queued", "retried"]


def test_secrets_in_a_failure_or_a_note_are_not_kept(asked):
    app, job, token = asked()
    app.add_secrets(["hunter2-and-more"])
    app.resume(token, Progress("signing in with hunter2-and-more"))
    app.resume(token, CallbackFailure("REFUSED_LOGIN", "hunter2-and-more was refused"))

    assert "hunter2" not in str([line.to_document() for line in app.history(job.id)])
    assert "hunter2" not in str(job.get().error)


@WAYS
def test_a_progress_note_stands_in_the_history_and_changes_no_state(asked, clock, give):
    app, job, token = asked(Grading(timeout=100))
    until = job.get().job.run_at
    clock.advance(50)
    view = give(app, job, token, Progress("page 3 of 6", percent=50))

    assert (view.state, view.job.run_at) == (JobState.WAITING, until)
    line = app.history(job.id)[-1]
    assert (line.event, line.stage, line.attempt) == ("progress", "ask", 1)
    assert line.meta == {"state": "waiting", "note": "page 3 of 6", "percent": 50}
    assert app.verify() == []
    app.resume(token, 87)
    run_inline(app)
    assert job.get().result == "graded 87"
    assert [attempt.stage for attempt in app.attempts(job.id)] == ["ask", "tell"]


def test_a_progress_note_is_told_in_the_stream(asked):
    app, _job, token = asked()
    tail = app.tail()
    app.resume(token, Progress("page 3 of 6"))

    [event] = tail.read()
    assert (event.name, event.data["state"]) == ("progress", "waiting")
    assert event.data["meta"]["note"] == "page 3 of 6"


def test_a_progress_note_lets_a_stage_wait_on_only_where_it_is_declared_so(asked, clock):
    patient, plain = Grading(timeout=100, progress_extends=100), Grading(timeout=100)
    for grading, state in ((patient, JobState.WAITING), (plain, JobState.QUEUED)):
        app, job, token = asked(grading)
        clock.advance(90)
        app.resume(token, Progress("half done"))
        clock.advance(90)
        run_inline(app)
        assert job.get().state is state
    # Nobody goes on for ever without a word.
    app, job, token = asked(Grading(timeout=100, progress_extends=100))
    app.resume(token, Progress("half done"))
    clock.advance(101)
    run_inline(app)
    assert app.history(job.id)[-1].meta["error_code"] == "CALLBACK_TIMEOUT"


def test_progress_notes_extend_no_deadline(asked, clock):
    app, job, token = asked(Grading(timeout=100, progress_extends=100), deadline=150)
    clock.advance(90)
    app.resume(token, Progress("half done"))
    clock.advance(61)
    run_inline(app)

    assert job.get().error["error_class"] == "TIMEOUT"


def test_a_progress_note_while_the_stage_still_runs_does_not_disturb_it(open_app, clock):
    pipeline = Pipeline("p")

    @pipeline.stage
    def ask(job) -> Wait:
        app.resume(job.callback_token(), Progress("begun"))
        return Wait()

    app = open_app(pipeline, clock=clock)
    job = app.submit("p")
    run_inline(app)

    assert job.get().state is JobState.WAITING
    assert events(app, job) == ["queued", "progress", "suspended"]
    assert app.verify() == []


def test_an_answer_counts_by_when_it_was_received_and_not_by_when_it_is_written(asked, clock):
    """At the very deadline it is in time; a microsecond later it is not."""
    for late_us, state in ((0, JobState.QUEUED), (1, JobState.FAILED)):
        app, job, token = asked(deadline=60)
        received = to_datetime(clock.now() + 60 * SECOND_US + late_us)
        clock.advance(75)
        app.resume(token, 87, received_at=received)

        assert job.get().state is state
        assert app.history(job.id)[-1].meta["received_at"] == received.isoformat(
            timespec="microseconds"
        ).replace("+00:00", "Z")


def test_an_answer_in_time_completes_the_job_although_it_is_written_after_the_deadline(
    open_app, clock
):
    pipeline, tokens = Pipeline("p"), []

    @pipeline.stage
    def ask(job) -> Wait:
        tokens.append(job.callback_token())
        return Wait()

    app = open_app(pipeline, clock=clock)
    job = app.submit("p", deadline=60)
    run_inline(app)
    received = to_datetime(clock.now())
    clock.advance(75)
    receipt = app.receive_answer(tokens[0], "signed", received_at=received)

    assert receipt.standing is AnswerStanding.ACCEPTED
    assert job.get().result == "signed"


def test_a_failure_after_the_deadline_is_a_timeout_and_one_after_that_is_kept_as_late(asked, clock):
    app, job, token = asked(deadline=60)
    clock.advance(61)
    first = app.receive_answer(token, BROKEN)
    second = app.receive_answer(token, BROKEN)

    assert (first.standing, second.standing) == ("late", "late")
    assert job.get().error["error_class"] == "TIMEOUT"
    assert events(app, job)[-2:] == ["expired", "late"]
    assert app.history(job.id)[-1].meta["error_code"] == "AUDIO_UNREADABLE"
    assert app.verify() == []


@pytest.mark.parametrize("answer", [87, BUSY], ids=["result", "failure"])
def test_after_a_cancel_an_answer_is_on_record_and_changes_nothing(asked, answer):
    app, job, token = asked()
    app.cancel(job.id, by="ada")
    receipt = app.receive_answer(token, answer)
    progress = app.receive_answer(token, Progress("half done"))

    assert (receipt.standing, progress.standing) == ("late", "ignored")
    assert job.get().state is JobState.CANCELLED
    assert events(app, job)[-1] == "late"


def test_what_became_of_an_answer_is_said(asked, clock):
    app, _job, token = asked()
    taken = app.receive_answer(token, 87, message_id="m-1")
    again = app.receive_answer(token, 87, message_id="m-1")
    other = app.receive_answer(token, 12, message_id="m-2")

    assert [one.standing for one in (taken, again, other)] == ["accepted", "repeated", "ignored"]
    assert (taken.stage, taken.received_at) == ("ask", clock.now())
    assert taken.job.job.stage == "tell"


def test_no_answer_is_said_to_have_been_received_after_now(asked, clock):
    app, _job, token = asked()
    ahead = to_datetime(Instant(clock.now() + 60 * SECOND_US))

    taken = app.receive_answer(token, 87, received_at=ahead)

    assert taken.received_at == clock.now()


def test_the_same_failure_without_an_id_counts_once_for_every_time_the_stage_asks(asked, clock):
    app, _job, token = asked(Grading(retry=Retry(attempts=3, base=60, jitter="none")))
    standings = []
    for _ in range(2):
        standings += [
            app.receive_answer(token, BUSY, fingerprint="same").standing for _ in range(2)
        ]
        clock.advance(60)
        run_inline(app)
    standings.append(app.receive_answer(token, 87, fingerprint="other").standing)

    assert standings == ["accepted", "repeated", "accepted", "repeated", "accepted"]


def test_the_same_result_without_an_id_counts_again_after_the_job_was_sent_back(asked, clock):
    app, job, token = asked(deadline=60)
    clock.advance(61)
    late = app.receive_answer(token, 87, fingerprint="same")
    again = app.receive_answer(token, 87, fingerprint="same")
    app.retry(job.id, by="ada")
    run_inline(app)
    anew = app.receive_answer(token, 87, fingerprint="same")

    assert [one.standing for one in (late, again, anew)] == ["late", "repeated", "accepted"]


def test_a_token_is_good_if_it_was_when_the_answer_was_received(open_app, clock):
    pipeline, tokens = Pipeline("p"), []

    @pipeline.stage
    def ask(job) -> Wait:
        tokens.append(job.callback_token(valid_for=10))
        return Wait()

    app = open_app(pipeline, clock=clock)
    app.submit("p")
    run_inline(app)
    in_time = to_datetime(clock.advance(10))
    clock.advance(5)
    with pytest.raises(TokenRefused, match="expired"):
        app.resume(tokens[0], Progress("half done"))

    assert app.resume(tokens[0], 1, received_at=in_time).state is JobState.COMPLETE


@pytest.mark.parametrize("answer", [BUSY, Progress("half done")], ids=["failure", "progress"])
def test_a_stage_that_has_yet_to_ask_again_takes_no_answer(asked, answer):
    app, _job, token = asked()
    app.resume(token, BUSY)

    with pytest.raises(WrongState):
        app.resume(token, answer)


def test_what_is_no_failure_is_refused(asked):
    app, job, token = asked()
    with pytest.raises(UsageError, match="give a CallbackFailure"):
        app.resume(token, RetryLater(after=5))

    assert job.get().state is JobState.WAITING


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: CallbackFailure("lower case"), "error_class"),
        (lambda: CallbackFailure("TIMEOUT"), "error_class"),
        (lambda: CallbackFailure("WORKER_LOST"), "error_class"),
        (lambda: CallbackFailure("OWN", 5), "message"),
        (lambda: CallbackFailure("OWN", retryable="yes"), "retryable"),
        (lambda: CallbackFailure("OWN", retry_after=-1), "retry_after"),
        (lambda: CallbackFailure("OWN", retry_after=True), "retry_after"),
        (lambda: Progress(""), "note"),
        (lambda: Progress("x" * 1001), "note"),
        (lambda: Progress("x", percent=101), "percent"),
        (lambda: Progress("x", percent=True), "percent"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused_by_name(make, field):
    with pytest.raises(InvalidValue) as refused:
        make()

    assert refused.value.field == field


def test_a_time_without_a_zone_is_refused(asked):
    app, _job, token = asked()
    with pytest.raises(InvalidValue, match="received_at"):
        app.resume(token, 87, received_at=datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


def test_a_declared_extension_has_to_be_a_span():
    with pytest.raises(InvalidPolicy, match="progress_extends"):
        Pipeline("p").stage(name="s", progress_extends=timedelta(0))(lambda job: None)


def test_many_notes_end_where_the_history_would_grow_without_end(asked):
    app, _job, token = asked()
    table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set revision = 10000")

    assert app.receive_answer(token, Progress("again")).standing == "ignored"
    assert app.resume(token, 87).job.stage == "tell"


def test_an_unanswered_stage_fails_as_before(asked):
    app, job, _ = asked(Grading(timeout=10))
    drain(app)

    assert job.get().error["error_class"] == "CALLBACK_TIMEOUT"


def reads_of(app):
    """Return what counts the reads of jobs from now on, as the store reports them."""
    seen: list[str] = []
    app.store.timings.observe(lambda name, _took_s, _error: seen.append(name))
    return lambda: seen.count("get")


@pytest.mark.parametrize("answer", [Progress("half"), 87])
def test_a_job_that_was_just_read_is_not_read_again_for_its_answer(asked, answer):
    app, job, token = asked()
    view = job.get()
    reads = reads_of(app)
    receipt = app.receive_answer(token, answer, message_id="m-1", job=view)

    assert (receipt.standing, reads()) == ("accepted", 0)


def test_an_answer_reads_its_job_once(asked):
    app, _job, token = asked()
    reads = reads_of(app)
    app.receive_answer(token, 87, message_id="m-1")

    assert reads() == 1


@pytest.mark.parametrize(
    ("between", "standing"), [(Progress("half"), "accepted"), (87, "repeated"), (88, "ignored")]
)
def test_an_answer_to_a_job_that_has_moved_on_since_it_was_read(asked, between, standing):
    app, job, token = asked()
    old = job.get()
    app.receive_answer(token, between, message_id="m-1" if between == 87 else "m-0")
    receipt = app.receive_answer(token, 87, message_id="m-1", job=old)

    assert (receipt.standing, receipt.job.job.stage) == (standing, "tell")


def test_a_job_that_the_token_is_not_of_is_refused(asked):
    app, _job, token = asked()
    other = app.submit("grading").get()
    with pytest.raises(UsageError, match=other.id):
        app.receive_answer(token, 87, job=other)


def test_a_progress_note_wakes_no_workers_and_a_result_does(asked):
    app, _job, token = asked()
    listener = app.store.listen()
    while listener.wait(0.1):
        pass
    app.receive_answer(token, Progress("half"))
    woken_by_note = listener.wait(0.1)
    app.receive_answer(token, 87)
    woken_by_result = listener.wait(10)
    listener.close()

    # On SQLite every commit wakes whoever listens.
    on_sqlite = app.store.url.startswith("sqlite")
    assert (woken_by_note, woken_by_result) == (on_sqlite, True)
