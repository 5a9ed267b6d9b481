"""A dead letter's job sent back: once, from where it failed, and what follows if it fails again."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import Breaker, ConflictError, GiveUp, JobFilter, JobState, Pipeline, Upstream
from holdfast.core.dead_letter.dead_letter import LetterState, Standing
from holdfast.core.values.failure import Category
from holdfast.engine.dead_letters.dead_letters import DeadLetters
from holdfast.errors import StaleRevision, StepMissing, WrongState
from holdfast.testing import Script, drain, run_inline
from tests.engine.dead_letters.letters import (
    NO_AMOUNT,
    actions,
    died,
    next_outcomes,
    replayed,
    worked_through,
)


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


def test_a_job_without_a_key_is_replayed_only_when_that_is_called_safe(app, dead):
    worked_through(app, dead)

    with pytest.raises(StepMissing, match="confirm_idempotent") as caught:
        app.dead.replay(dead, by="ada")

    assert caught.value.missing == "safe_to_repeat"
    assert app.job(dead).state is JobState.FAILED


def test_a_job_with_a_key_is_replayed_without_further_ado(app, script):
    next_outcomes(script, NO_AMOUNT)
    letter_id = died(app, key="order-17")
    worked_through(app, letter_id)

    assert app.dead.replay(letter_id, by="ada").standing is Standing.REPLAYING


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


def test_a_replay_while_the_breaker_is_still_open_is_no_escalation(open_app):
    gateway = Upstream("gateway", breaker=Breaker(consecutive=5, mode="fail_fast"))
    pipeline = Pipeline("p")
    pipeline.stage(name="one", calls=gateway)(Script(then=1).handler)
    app = open_app(pipeline)
    app.upstreams.force_open("gateway", by="ada")
    letter_id = died(app)
    replayed(app, letter_id)
    drain(app)

    view = app.dead.get(letter_id)
    assert (view.letter.error_class, view.letter.deaths) == ("CIRCUIT_OPEN", 2)
    assert (view.letter.category, view.standing) == (Category.TRANSIENT, Standing.OPEN)
    assert app.job(letter_id).job.attempt == 1


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
        return app.changes.settle(job_id, make)

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
