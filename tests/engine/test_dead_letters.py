"""Dead letters: complete whatever failed, moved step by step, replayed once."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import ConflictError, GiveUp, JobFilter, JobState, Pipeline
from holdfast.core.dead_letter import LetterState, Standing
from holdfast.core.failure import MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH
from holdfast.dead_letters import DeadLetters
from holdfast.errors import (
    InvalidValue,
    StaleRevision,
    StepMissing,
    UnknownLetter,
    WrongState,
)
from holdfast.store.letters import LetterFilter
from holdfast.testing import Script, drain, run_inline

NOBODY = "0190aaaa-0000-7000-8000-000000000000"
NO_AMOUNT = GiveUp("INVALID", "no amount")


@pytest.fixture
def dead(app, script):
    """The id of a job that has failed for good; a second run would succeed."""
    next_outcomes(script, NO_AMOUNT)
    return died(app)


def next_outcomes(script, *outcomes) -> None:
    """Let the next calls end like this, before the script goes on as it was."""
    script._outcomes = (*script._outcomes[: len(script.calls)], *outcomes)


def died(app, **options) -> str:
    job = app.submit("p", {"order": 17}, **options)
    drain(app)
    assert job.get().state is JobState.FAILED
    return job.id


def worked_through(app, letter_id) -> None:
    app.dead.triage(letter_id, cause="data", by="ada", note="the source left it out")
    app.dead.remediate(letter_id, evidence="INC-7", by="ada")


def replayed(app, letter_id, **options):
    worked_through(app, letter_id)
    return app.dead.replay(letter_id, by="ada", confirm_idempotent=True, **options)


def actions(app, letter_id) -> list[tuple[str, str, str | None]]:
    done = app.dead.show(letter_id).actions
    return [(entry.action, entry.done_by, entry.reason) for entry in reversed(done)]


def test_a_job_that_fails_for_good_is_a_dead_letter_at_once(app, dead):
    (view,) = app.dead.find()

    assert (view.id, view.standing, view.escalated) == (dead, Standing.OPEN, False)
    assert app.verify() == []


def test_a_letter_holds_what_a_person_needs_and_nothing_of_the_payload(app, script):
    script._then = TimeoutError("no answer in 30 s")
    letter_id = died(app, key="order-17", trace="trace-1", owner="bob")

    document = app.dead.show(letter_id).to_document()

    assert document["error_class"] == "NETWORK_TIMEOUT"
    assert "TimeoutError" in document["last_stack"]
    assert (document["stage"], document["attempts"], document["attempts_allowed"]) == ("one", 2, 2)
    assert document["first_failure_at"] < document["last_failure_at"]
    context = document["sanitized_context"]
    assert (context["job_id"], context["key"]) == (letter_id, "order-17")
    assert (context["trace"], context["stage"], context["attempts"]) == ("trace-1", "one", 2)
    assert context["payload"]["bytes"] == len('{"order":17}')
    assert len(context["payload"]["sha256"]) == 16
    assert 'order":' not in str(document)
    assert document["record"]["submissionId"] == "order-17"
    assert document["record"]["attemptsMade"] == 2


def test_a_job_without_a_key_is_its_own_submission(app, dead):
    assert app.dead.get(dead).record()["submissionId"] == dead


def test_secrets_are_kept_out_of_everything_people_write(app, script):
    script._then = GiveUp("INVALID", "Authorization: Bearer sk-live-0123456789abcdefghij")
    letter_id = died(app, key="password=hunter2secret")
    app.dead.triage(letter_id, cause="data", by="ada", note="api_key=abcdef0123456789abcdef")
    app.dead.remediate(letter_id, evidence="token=ghp_0123456789abcdefghij0123456789abcdef", by="a")
    app.dead.replay(letter_id, by="ada", reason="password: tr0ub4dor&3xyz")

    shown = str(app.dead.show(letter_id).to_document())

    for secret in ("sk-live", "hunter2", "abcdef0123456789abcdef", "ghp_", "tr0ub4dor"):
        assert secret not in shown
    assert "redacted" in shown


def test_the_whole_way_from_death_to_resolution(app, dead, script):
    view = replayed(app, dead, reason="corrected")
    assert (view.standing, view.job_state) == (Standing.REPLAYING, JobState.QUEUED)
    run_inline(app)
    assert app.dead.get(dead).standing is Standing.VERIFIED

    resolved = app.dead.resolve(dead, note="delivered", by="bob")

    assert (resolved.standing, resolved.dismissed) == (Standing.RESOLVED, False)
    assert actions(app, dead) == [
        ("triaged", "ada", "the source left it out"),
        ("remediated", "ada", "INC-7"),
        ("replayed", "ada", "corrected"),
        ("resolved", "bob", "delivered"),
    ]
    assert app.dead.find(LetterFilter(states=(LetterState.OPEN,))) == []
    assert app.verify() == []


def test_a_replay_goes_on_at_the_failed_stage_or_from_the_start(open_app):
    one, two = Script(then="one"), Script(NO_AMOUNT, NO_AMOUNT, then="two")
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(one.handler)
    pipeline.stage(name="two")(two.handler)
    app = open_app(pipeline)
    letter_id = died(app)

    replayed(app, letter_id)
    run_inline(app)
    assert len(one.calls) == 1

    replayed(app, letter_id, from_start=True)
    run_inline(app)
    assert (len(one.calls), len(two.calls)) == (2, 3)
    assert app.job(letter_id).state is JobState.COMPLETE


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        (lambda dead, one: dead.remediate(one, evidence="INC-7", by="ada"), "triage"),
        (lambda dead, one: dead.replay(one, by="ada"), "triage"),
        (lambda dead, one: dead.resolve(one, note="done", by="ada"), "triage"),
        (lambda dead, one: dead.resolve(one, note=" ", by="ada", unreplayed=True), "note"),
    ],
    ids=["remediate", "replay", "resolve", "dismiss without a note"],
)
def test_a_step_out_of_order_is_refused_and_changes_nothing(app, dead, step, missing):
    before = app.dead.get(dead).letter

    with pytest.raises(StepMissing, match="cannot") as caught:
        step(app.dead, dead)

    assert (caught.value.missing, caught.value.state) == (missing, "open")
    assert caught.value.letter_id == dead
    assert app.dead.get(dead).letter == before
    assert actions(app, dead) == []


def test_evidence_must_say_something(app, dead):
    app.dead.triage(dead, cause="data", by="ada")

    with pytest.raises(StepMissing, match="the evidence is empty"):
        app.dead.remediate(dead, evidence="  ", by="ada")


def test_a_job_without_a_key_is_replayed_only_when_that_is_called_safe(app, dead):
    worked_through(app, dead)

    with pytest.raises(StepMissing, match="--safe-to-repeat") as caught:
        app.dead.replay(dead, by="ada")

    assert caught.value.missing == "safe_to_repeat"
    assert app.job(dead).state is JobState.FAILED


def test_a_job_with_a_key_is_replayed_without_further_ado(app, script):
    next_outcomes(script, NO_AMOUNT)
    letter_id = died(app, key="order-17")
    worked_through(app, letter_id)

    assert app.dead.replay(letter_id, by="ada").standing is Standing.REPLAYING


def test_a_letter_is_not_resolved_while_its_job_is_under_way(app, dead):
    replayed(app, dead)

    for unreplayed in (False, True):
        with pytest.raises(StepMissing, match="not complete"):
            app.dead.resolve(dead, note="done", by="ada", unreplayed=unreplayed)


def test_a_dismissal_is_on_record_as_one(app, dead):
    view = app.dead.resolve(dead, note="a test order", by="ada", unreplayed=True)

    assert (view.standing, view.dismissed) == (Standing.RESOLVED, True)
    assert actions(app, dead) == [("dismissed", "ada", "a test order")]


def test_a_letter_whose_replayed_job_was_cancelled_can_be_dismissed(app, dead):
    replayed(app, dead)
    app.cancel(dead, by="ada")
    assert app.dead.get(dead).standing is Standing.CANCELLED

    view = app.dead.resolve(dead, note="no longer wanted", by="ada", unreplayed=True)

    assert view.dismissed
    assert app.verify() == []


def test_a_plain_retry_moves_the_letter_too(app, dead):
    app.retry(dead, by="bob", reason="try")

    assert app.dead.get(dead).standing is Standing.REPLAYING
    assert actions(app, dead) == [("replayed", "bob", "try")]
    run_inline(app)
    assert app.dead.get(dead).standing is Standing.VERIFIED


def test_a_plain_retry_of_many_moves_their_letters_too(app, script):
    next_outcomes(script, NO_AMOUNT, NO_AMOUNT)
    dead = [died(app), died(app)]

    app.retry_many(JobFilter(), by="bob")

    assert {app.dead.get(one).standing for one in dead} == {Standing.REPLAYING}
    assert app.verify() == []


def test_a_dismissed_letter_comes_back_when_its_job_is_sent_back_and_fails(app, dead, script):
    app.dead.resolve(dead, note="a test order", by="ada", unreplayed=True)
    next_outcomes(script, GiveUp("GONE"))
    app.retry(dead, by="bob")
    run_inline(app)

    letter = app.dead.get(dead).letter
    assert (letter.state, letter.deaths, letter.note) == (LetterState.OPEN, 2, None)


@pytest.mark.parametrize(
    ("second", "standing"),
    [
        (NO_AMOUNT, Standing.ESCALATED),
        (GiveUp("GONE"), Standing.OPEN),
    ],
    ids=["the same reason", "another reason"],
)
def test_a_replay_that_fails_again_is_back(app, dead, script, second, standing):
    next_outcomes(script, second)
    replayed(app, dead)
    run_inline(app)

    view = app.dead.get(dead)
    assert view.standing is standing
    assert (view.letter.deaths, view.letter.previous_class) == (2, "INVALID")
    assert (view.letter.cause, view.letter.evidence) == (None, None)


def test_a_passing_failure_that_returns_is_no_escalation(app, script):
    script._then = TimeoutError("no answer")
    letter_id = died(app)
    replayed(app, letter_id)
    drain(app)

    view = app.dead.get(letter_id)
    assert (view.letter.deaths, view.standing) == (2, Standing.OPEN)


def test_an_escalation_is_cried_out(app, dead, script, caplog):
    next_outcomes(script, NO_AMOUNT)
    replayed(app, dead)
    with caplog.at_level(logging.CRITICAL, logger="holdfast.worker"):
        run_inline(app)

    (record,) = caplog.records
    assert (record.levelname, record.event, record.job_id) == ("CRITICAL", "escalated", dead)
    assert (record.error_code, record.deaths) == ("INVALID", 2)


def test_the_first_death_is_no_escalation(app, script, caplog):
    next_outcomes(script, NO_AMOUNT)
    with caplog.at_level(logging.CRITICAL, logger="holdfast.worker"):
        died(app)

    assert caplog.records == []


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__
    __reduce__ = __str__


def a_cycle() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


@pytest.mark.parametrize(
    "error",
    [
        Unprintable(),
        ValueError("x" * 10_000_000),
        a_cycle(),
        ExceptionGroup("many", [ValueError("a"), ExceptionGroup("more", [Unprintable()])]),
        ValueError("\0 \ud800 \x1b[31m"),
    ],
    ids=["no text", "ten megabytes", "a cycle of causes", "a group", "odd text"],
)
def test_a_letter_is_complete_whatever_was_raised(app, script, error):
    script._then = error
    letter_id = died(app)

    letter = app.dead.get(letter_id).letter
    assert letter.error_class == "BUG"
    assert 0 < len(letter.message) <= MAX_MESSAGE_LENGTH
    assert type(error).__name__ in letter.exception_type
    assert type(error).__name__ in letter.stack
    assert len(letter.stack) <= MAX_STACK_LENGTH
    assert len(letter.fingerprint) == 16
    assert app.verify() == []


def test_a_passed_deadline_is_a_dead_letter(app, clock):
    job = app.submit("p", deadline=5)
    clock.advance(6)
    run_inline(app)

    letter = app.dead.get(job.id).letter
    assert (letter.error_class, letter.attempts) == ("TIMEOUT", 0)


def test_the_same_cause_is_one_group(app, script):
    def refuse(job):
        raise GiveUp("INVALID", f"order {job.id} has no amount")

    next_outcomes(script, refuse, refuse, GiveUp("GONE"))
    ids = [died(app) for _ in range(3)]

    many, one = app.dead.groups()

    assert (many.letters, many.error_class, one.letters) == (2, "INVALID", 1)
    found = app.dead.find(LetterFilter(fingerprint=many.fingerprint))
    assert {view.id for view in found} == set(ids[:2])


def test_two_replays_at_once_give_one_run(app, dead, script):
    worked_through(app, dead)
    gate = threading.Barrier(4)

    def replay(number: int) -> str:
        gate.wait()
        try:
            app.dead.replay(dead, by=f"person {number}", confirm_idempotent=True)
        except ConflictError as error:
            return type(error).__name__
        return "sent back"

    with ThreadPoolExecutor(4) as people:
        answers = sorted(people.map(replay, range(4)))
    run_inline(app)

    assert answers.count("sent back") == 1
    assert len(script.calls) == 2
    assert app.job(dead).job.retries == 1
    assert [action for action, *_ in actions(app, dead)].count("replayed") == 1
    assert app.verify() == []


def test_a_replay_on_the_word_of_an_earlier_death_is_refused(app, dead, script):
    """Between reading the letter and sending the job back it was replayed, and died again."""
    next_outcomes(script, NO_AMOUNT)
    worked_through(app, dead)

    def slowly(job_id, make):
        app.retry(dead, by="bob")
        run_inline(app)
        return app._settle(job_id, make)

    somebody = DeadLetters(lambda: app.store, clock=app.clock, settle=slowly)

    with pytest.raises(StaleRevision):
        somebody.replay(dead, by="ada", confirm_idempotent=True)

    assert app.dead.get(dead).standing is Standing.ESCALATED
    assert app.job(dead).job.retries == 1


def test_a_letter_that_disagrees_with_its_job_sends_nothing_back(app, dead):
    app.retry(dead, by="bob")
    letter = app.dead.get(dead).letter
    app.store.letters.save(letter._replace(state=LetterState.REMEDIATED))

    with pytest.raises(WrongState, match="cannot replay"):
        app.dead.replay(dead, by="ada", confirm_idempotent=True)

    assert app.job(dead).job.retries == 1


def test_two_people_who_triage_at_once_are_both_on_record(app, dead):
    gate = threading.Barrier(2)

    def triage(person: str) -> None:
        gate.wait()
        app.dead.triage(dead, cause="data", by=person)

    with ThreadPoolExecutor(2) as people:
        list(people.map(triage, ("ada", "bob")))

    assert {by for _, by, _ in actions(app, dead)} == {"ada", "bob"}
    assert app.dead.get(dead).letter.revision == 2


def test_letters_are_found_page_by_page(app, script):
    script._then = NO_AMOUNT
    ids = [died(app) for _ in range(3)]

    first = app.dead.find(limit=2)
    second = app.dead.find(limit=2, before=first[-1].id)

    assert [view.id for view in (*first, *second)] == ids[::-1]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda dead, one: dead.find(limit=0), "limit"),
        (lambda dead, one: dead.find(limit=10_001), "limit"),
        (lambda dead, one: dead.groups(limit=0), "limit"),
        (lambda dead, one: dead.triage(one, cause="weather", by="ada"), "cause"),
        (lambda dead, one: dead.triage(one, cause="data", by=""), "by"),
        (lambda dead, one: dead.triage(one, cause="data", by="ada", note=7), "note"),
        (lambda dead, one: dead.remediate(one, evidence=None, by="ada"), "evidence"),
        (lambda dead, one: dead.replay(one, by="a\nb"), "by"),
        (lambda dead, one: dead.resolve(one, note=b"x", by="ada"), "note"),
    ],
)
def test_what_makes_no_sense_is_refused(app, dead, call, field):
    with pytest.raises(InvalidValue) as caught:
        call(app.dead, dead)

    assert caught.value.field == field
    assert actions(app, dead) == []


@pytest.mark.parametrize("letter_id", [NOBODY, "no-id"])
def test_a_letter_that_is_not_there_is_unknown(app, letter_id):
    for call in (
        app.dead.get,
        app.dead.show,
        lambda one: app.dead.triage(one, cause="data", by="ada"),
        lambda one: app.dead.replay(one, by="ada"),
    ):
        with pytest.raises(UnknownLetter, match=letter_id):
            call(letter_id)


def test_a_job_that_did_not_fail_has_no_letter(app):
    job = app.submit("p")
    run_inline(app)

    with pytest.raises(UnknownLetter):
        app.dead.get(job.id)


def test_notes_are_cut_to_what_a_row_holds(app, dead):
    view = app.dead.triage(dead, cause="data", by="ada", note="long " * 10_000)

    assert len(view.letter.note) <= MAX_MESSAGE_LENGTH
    assert app.dead.get(dead).letter == view.letter
