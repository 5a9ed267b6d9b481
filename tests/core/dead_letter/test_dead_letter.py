"""What follows from everything a person may do about a dead letter, written out.

A line reads: a letter in that state, whose job is in that one, met by that event, leads to this:
the state after it, or the step that is missing. `any` stands for every state of a job.
"""

from typing import get_args

import pytest

from holdfast.core.dead_letter.dead_letter import (
    FILE,
    WAITING,
    Cause,
    DeadLetter,
    LetterEvent,
    LetterState,
    Refused,
    Remediated,
    ReplayAsked,
    Resolved,
    Standing,
    Step,
    Triaged,
    is_dismissed,
    is_escalated,
    standing,
)
from holdfast.core.dead_letter.lifecycle import decide_letter
from holdfast.core.job.job import JobState
from holdfast.core.values.failure import Category, Severity
from holdfast.core.values.instant import SECOND_US, Instant

NOW = Instant(1_800_000_000 * SECOND_US)
BEFORE = Instant(NOW - SECOND_US)
JOB_STATES = (*JobState, None)
"""None is a job that is gone."""

EVENTS: dict[str, LetterEvent] = {
    "Triaged": Triaged(Cause.DATA, "ada", "no amount"),
    "Remediated": Remediated("INC-7: corrected at the source", "ada"),
    "Remediated-bare": Remediated(" \n", "ada"),
    "Replay": ReplayAsked("ada", safe_to_repeat=True),
    "Replay-unsafe": ReplayAsked("ada"),
    "Replay-doubts": ReplayAsked("ada", safe_to_repeat=True, undecided=True),
    "Resolved": Resolved("delivered", "ada"),
    "Resolved-bare": Resolved("  ", "ada"),
    "Dismissed": Resolved("no longer needed", "ada", unreplayed=True),
    "Dismissed-bare": Resolved("", "ada", unreplayed=True),
}

TABLE = """
letter     job        event           | leads to

open       any        Triaged         | triaged
open       any        Remediated      | missing triage
open       any        Remediated-bare | missing triage
open       any        Replay          | missing triage
open       any        Replay-unsafe   | missing triage
open       any        Replay-doubts   | missing triage
open       any        Resolved        | missing triage
open       any        Resolved-bare   | missing triage
open       any        Dismissed       | resolved
open       any        Dismissed-bare  | missing note

triaged    any        Triaged         | triaged
triaged    any        Remediated      | remediated
triaged    any        Remediated-bare | missing evidence
triaged    any        Replay          | missing remediate
triaged    any        Replay-unsafe   | missing remediate
triaged    any        Replay-doubts   | missing remediate
triaged    any        Resolved        | missing remediate
triaged    any        Resolved-bare   | missing remediate
triaged    any        Dismissed       | resolved
triaged    any        Dismissed-bare  | missing note

remediated any        Triaged         | triaged
remediated any        Remediated      | remediated
remediated any        Remediated-bare | missing evidence
remediated any        Replay          | replayed
remediated any        Replay-unsafe   | missing safe_to_repeat
remediated any        Replay-doubts   | missing deliveries
remediated any        Resolved        | missing replay
remediated any        Resolved-bare   | missing replay
remediated any        Dismissed       | resolved
remediated any        Dismissed-bare  | missing note

replayed   any        Triaged         | missing new_death
replayed   any        Remediated      | missing new_death
replayed   any        Remediated-bare | missing new_death
replayed   any        Replay          | missing new_death
replayed   any        Replay-unsafe   | missing new_death
replayed   any        Replay-doubts   | missing new_death
replayed   queued     Resolved        | missing completion
replayed   processing Resolved        | missing completion
replayed   waiting    Resolved        | missing completion
replayed   complete   Resolved        | resolved
replayed   failed     Resolved        | missing completion
replayed   cancelled  Resolved        | missing completion
replayed   gone       Resolved        | missing completion
replayed   queued     Resolved-bare   | missing completion
replayed   processing Resolved-bare   | missing completion
replayed   waiting    Resolved-bare   | missing completion
replayed   complete   Resolved-bare   | missing note
replayed   failed     Resolved-bare   | missing completion
replayed   cancelled  Resolved-bare   | missing completion
replayed   gone       Resolved-bare   | missing completion
replayed   queued     Dismissed       | missing completion
replayed   processing Dismissed       | missing completion
replayed   waiting    Dismissed       | missing completion
replayed   complete   Dismissed       | resolved
replayed   failed     Dismissed       | missing completion
replayed   cancelled  Dismissed       | resolved
replayed   gone       Dismissed       | resolved
replayed   queued     Dismissed-bare  | missing completion
replayed   processing Dismissed-bare  | missing completion
replayed   waiting    Dismissed-bare  | missing completion
replayed   complete   Dismissed-bare  | missing note
replayed   failed     Dismissed-bare  | missing completion
replayed   cancelled  Dismissed-bare  | missing note
replayed   gone       Dismissed-bare  | missing note

resolved   any        Triaged         | missing new_death
resolved   any        Remediated      | missing new_death
resolved   any        Remediated-bare | missing new_death
resolved   any        Replay          | missing new_death
resolved   any        Replay-unsafe   | missing new_death
resolved   any        Replay-doubts   | missing new_death
resolved   any        Resolved        | missing new_death
resolved   any        Resolved-bare   | missing new_death
resolved   any        Dismissed       | missing new_death
resolved   any        Dismissed-bare  | missing new_death
"""


def a_letter(state: LetterState = LetterState.OPEN, **changes) -> DeadLetter:
    triaged = state is not LetterState.OPEN
    letter = DeadLetter(
        id="018bcfe5-6800-7000-8000-000000000001",
        kind="job",
        pipeline="p",
        stage="one",
        queue="default",
        owner="",
        error_class="INVALID",
        previous_class=None,
        category=Category.PERMANENT,
        severity=Severity.ERROR,
        retryable=False,
        outcome_known=True,
        http_status=None,
        attempts=1,
        deaths=1,
        first_failure_at=BEFORE,
        last_failure_at=BEFORE,
        holder="w",
        message="no amount",
        exception_type="ValueError",
        stack="",
        fingerprint="f",
        payload=None,
        state=state,
        revision=3,
        updated_at=BEFORE,
        cause=Cause.TRANSIENT if triaged else None,
        evidence="INC-1" if state in {LetterState.REMEDIATED, LetterState.REPLAYED} else None,
        note="old" if triaged else None,
        replayed_at=BEFORE if state is LetterState.REPLAYED else None,
        resolved_at=BEFORE if state is LetterState.RESOLVED else None,
    )
    return letter._replace(**changes)


def cases():
    for line in TABLE.strip().splitlines()[2:]:
        if not line:
            continue
        given, _, expected = line.partition(" | ")
        state, job, event = given.split()
        jobs = JOB_STATES if job == "any" else (None if job == "gone" else JobState(job),)
        for job_state in jobs:
            yield LetterState(state), job_state, event, expected


CASES = list(cases())


@pytest.mark.parametrize("event", EVENTS)
def test_every_pair_leads_where_the_table_says(event):
    for case in CASES:
        state, job_state, of_case, expected = case
        if of_case != event:
            continue
        letter = a_letter(state)

        decided = decide_letter(letter, EVENTS[event], job_state=job_state, now=NOW)

        if isinstance(decided, Refused):
            name = type(EVENTS[event]).__name__
            assert decided[:3] == (letter.id, state, name), case
            assert expected == f"missing {decided.missing}", case
        else:
            assert decided.state == expected, case
            assert decided.updated_at == NOW, case
            assert decided.revision == letter.revision, case


def test_the_table_holds_every_pair_once():
    told = [case[:3] for case in CASES]

    assert len(told) == len(set(told)) == len(LetterState) * len(JOB_STATES) * len(EVENTS)
    assert {type(event) for event in EVENTS.values()} == set(get_args(LetterEvent))


def test_every_step_is_missing_somewhere():
    missing = {case[3].removeprefix("missing ") for case in CASES if "missing" in case[3]}

    assert missing == {step.value for step in Step}


def moved(letter: DeadLetter, event: str, job_state: JobState | None = None) -> DeadLetter:
    decided = decide_letter(letter, EVENTS[event], job_state=job_state, now=NOW)
    assert isinstance(decided, DeadLetter)
    return decided


def test_the_whole_way_keeps_what_was_found_out():
    letter = a_letter()
    triaged = moved(letter, "Triaged")
    remediated = moved(triaged, "Remediated")
    replayed = moved(remediated, "Replay")
    resolved = moved(replayed, "Resolved", JobState.COMPLETE)

    assert (triaged.cause, triaged.note) == (Cause.DATA, "no amount")
    assert remediated.evidence == "INC-7: corrected at the source"
    assert (replayed.replayed_at, replayed.resolved_at) == (NOW, None)
    assert (resolved.resolved_at, resolved.note) == (NOW, "delivered")
    assert resolved == letter._replace(
        state=LetterState.RESOLVED,
        updated_at=NOW,
        cause=Cause.DATA,
        evidence=remediated.evidence,
        note="delivered",
        replayed_at=NOW,
        resolved_at=NOW,
    )


def test_another_triage_asks_for_other_evidence():
    remediated = a_letter(LetterState.REMEDIATED)

    triaged = moved(remediated, "Triaged")

    assert (triaged.state, triaged.evidence) == (LetterState.TRIAGED, None)
    assert triaged.cause is Cause.DATA


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"deaths": 2, "previous_class": "INVALID"}, True),
        ({"deaths": 5, "previous_class": "INVALID"}, True),
        ({"deaths": 1, "previous_class": None}, False),
        ({"deaths": 2, "previous_class": "BUG"}, False),
        ({"deaths": 2, "previous_class": "INVALID", "retryable": True}, False),
    ],
)
def test_only_the_same_reason_that_no_repetition_cures_escalates(changes, expected):
    assert is_escalated(a_letter(**changes)) is expected


AGAIN = {"deaths": 2, "previous_class": "INVALID"}


@pytest.mark.parametrize(
    ("state", "changes", "job_state", "expected"),
    [
        (LetterState.OPEN, {}, JobState.FAILED, Standing.OPEN),
        (LetterState.OPEN, AGAIN, JobState.FAILED, Standing.ESCALATED),
        (LetterState.TRIAGED, AGAIN, JobState.FAILED, Standing.TRIAGED),
        (LetterState.REMEDIATED, AGAIN, JobState.FAILED, Standing.REMEDIATED),
        (LetterState.REPLAYED, AGAIN, JobState.QUEUED, Standing.REPLAYING),
        (LetterState.REPLAYED, {}, JobState.PROCESSING, Standing.REPLAYING),
        (LetterState.REPLAYED, {}, JobState.WAITING, Standing.REPLAYING),
        (LetterState.REPLAYED, {}, None, Standing.REPLAYING),
        (LetterState.REPLAYED, AGAIN, JobState.COMPLETE, Standing.VERIFIED),
        (LetterState.REPLAYED, {}, JobState.CANCELLED, Standing.CANCELLED),
        (LetterState.RESOLVED, AGAIN, JobState.COMPLETE, Standing.RESOLVED),
        (LetterState.RESOLVED, {}, JobState.FAILED, Standing.RESOLVED),
    ],
)
def test_the_word_for_a_letter_is_worked_out(state, changes, job_state, expected):
    assert standing(a_letter(state, **changes), job_state) is expected


def test_a_letter_closed_without_success_was_dismissed():
    resolved = a_letter(LetterState.RESOLVED)

    assert not is_dismissed(resolved, JobState.COMPLETE)
    assert is_dismissed(resolved, JobState.FAILED)
    assert is_dismissed(resolved, JobState.CANCELLED)
    assert is_dismissed(resolved, None)
    assert not is_dismissed(a_letter(LetterState.REPLAYED), JobState.CANCELLED)


def test_a_letter_from_a_file_that_was_submitted_was_not_dismissed():
    closed = a_letter(LetterState.RESOLVED, kind=FILE)

    assert not is_dismissed(closed._replace(replayed_at=BEFORE), None)
    assert is_dismissed(closed, None)


def test_letters_that_wait_are_those_a_person_can_move():
    movable = {
        state
        for state in LetterState
        if isinstance(
            decide_letter(a_letter(state), EVENTS["Triaged"], job_state=None, now=NOW), DeadLetter
        )
    }

    assert movable == set(WAITING)
