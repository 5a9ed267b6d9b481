"""What follows from every event in every state, as the table has it."""

import itertools
from typing import get_args

import pytest

from holdfast.core.job.decision import Ignored
from holdfast.core.job.event import Event
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.lifecycle import ACCEPTS, decide, evolve
from holdfast.core.values.ids import JobId
from tests.core.job.lifecycle_table import EVENTS, NOW, PLAIN, PLAN, SITUATIONS, VARIATIONS, a_job


def rows_of(table: str) -> dict[tuple[str, str], tuple[str, ...]]:
    rows = {}
    for line in table.splitlines():
        given, _, outcome = line.partition("|")
        if outcome and not given.startswith("state"):
            state, event = given.split()
            assert (state, event) not in rows, f"{state}, {event} is listed twice"
            rows[state, event] = tuple(outcome.split())
    return rows


def outcome_of(job: Job, event: Event) -> tuple[str, ...]:
    decision = decide(job, event, PLAN, NOW, roll=0.5)
    if isinstance(decision, Ignored):
        return ("ignored",)
    after = evolve(job, decision)
    lease = "held" if after.holder == job.holder is not None else "-"
    assert (lease == "held") == (after.lease_until is not None)
    cells = (
        decision.entry.kind,
        after.state,
        after.stage,
        after.attempt,
        after.token,
        lease,
        after.result,
        after.late_result,
        after.error_class,
    )
    assert (after.error is None) == (after.error_class is None)
    return tuple("-" if cell is None else str(cell) for cell in cells)


PAIRS = list(itertools.product([state.value for state in JobState], EVENTS))
PLAIN_ROWS = rows_of(PLAIN)


def test_every_event_has_an_example():
    assert {type(event) for event in EVENTS.values()} == set(get_args(Event))
    assert [type(event).__name__ for event in EVENTS.values()] == list(EVENTS)


def test_every_pair_of_state_and_event_is_in_the_table():
    assert set(PLAIN_ROWS) == set(PAIRS)


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_what_follows(state, event):
    assert outcome_of(a_job(JobState(state)), EVENTS[event]) == PLAIN_ROWS[state, event]


def test_every_variation_has_its_situation():
    assert list(VARIATIONS) == list(SITUATIONS)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_follows_in_other_situations(situation):
    changes, events = SITUATIONS[situation]
    pairs = [pair for pair in PAIRS if not situation.startswith("failed") or pair[0] == "failed"]

    outcomes = {
        (state, event): outcome_of(a_job(JobState(state), **changes), {**EVENTS, **events}[event])
        for state, event in pairs
    }

    expected = {**PLAIN_ROWS, **rows_of(VARIATIONS[situation])}
    assert outcomes == {pair: expected[pair] for pair in pairs}


def test_the_table_of_accepted_events_says_what_can_happen_and_no_more():
    tables = [rows_of(table) for table in (PLAIN, *VARIATIONS.values())]
    answered = {pair for rows in tables for pair in rows if rows[pair] != ("ignored",)}

    accepted = {(state.value, kind.__name__) for state in JobState for kind in ACCEPTS[state]}

    assert accepted == answered


def test_a_stage_that_the_plan_does_not_have_changes_nothing():
    for state, event in PAIRS:
        job = a_job(JobState(state), stage="gone")

        assert isinstance(decide(job, EVENTS[event], PLAN, NOW, 0.5), Ignored)


def test_what_is_ignored_says_why():
    decision = decide(a_job(JobState.COMPLETE), EVENTS["Failed"], PLAN, NOW, 0.5)

    assert decision == Ignored(
        JobId("0190-job"), JobState.COMPLETE, "Failed", "not accepted in this state"
    )
