"""Dead letters: complete whatever failed, grouped by cause, found again."""

import httpx
import pytest

from holdfast import GiveUp, Pipeline, Upstream
from holdfast.core.dead_letter.dead_letter import Standing
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import UnknownLetter
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import Script, run_inline
from holdfast.views.explain.advice import BY_CLASS
from tests.engine.dead_letters.letters import NO_AMOUNT, NOBODY, died, next_outcomes


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


def test_letters_are_found_page_by_page(app, script):
    script._then = NO_AMOUNT
    ids = [died(app) for _ in range(3)]

    first = app.dead.find(limit=2)
    second = app.dead.find(limit=2, before=first[-1].id)

    assert [view.id for view in (*first, *second)] == ids[::-1]


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


def refused(body: bytes) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://127.0.0.1/print")
    answer = httpx.Response(403, content=body, request=request)
    return httpx.HTTPStatusError("403 Forbidden", request=request, response=answer)


def test_a_letter_says_what_was_answered_and_whose_move_it_is(app, script):
    next_outcomes(script, refused(b'{"error": "the key has expired"}'))
    letter_id = died(app, key="order-17", owner="bob")

    document = app.dead.show(letter_id).to_document()

    assert document["error_class"] == "AUTH_DENIED"
    assert document["answer"] == '{"error": "the key has expired"}'
    assert document["exception_type"] == "httpx.HTTPStatusError"
    assert document["advice"] == {
        "whose_move": "operator",
        "suggested_cause": "auth_config",
        "what_to_do": BY_CLASS["AUTH_DENIED"].action,
        "runbook": "docs/runbook.md#a-failure-is-critical",
    }


def test_a_letter_names_the_upstream_of_its_stage(open_app):
    pipeline = Pipeline("p")
    script = Script(then=NO_AMOUNT)
    pipeline.stage(name="one", calls=Upstream("gateway"))(script.handler)
    app = open_app(pipeline)

    assert app.dead.show(died(app)).upstream == "gateway"


def test_the_letters_of_a_cause_are_counted_by_when_they_failed(app, script, clock):
    next_outcomes(script, NO_AMOUNT, NO_AMOUNT, NO_AMOUNT)
    died(app, owner="ada")
    first = app.dead.find()[0].letter.last_failure_at
    died(app, owner="bob")
    clock.advance(90)
    died(app, owner="bob")
    (group,) = app.dead.groups()

    counted = app.dead.times(group.fingerprint, first=first, step_us=60 * SECOND_US)
    of_bob = app.dead.times(group.fingerprint, first=first, step_us=60 * SECOND_US, owner="bob")

    assert counted == {0: 2, 1: 1}
    assert of_bob == {0: 1, 1: 1}
    assert app.dead.times("another", first=first, step_us=1) == {}
    assert (group.exception_type, group.category, group.http_status) == (
        "holdfast.errors.GiveUp",
        "PERMANENT",
        None,
    )
