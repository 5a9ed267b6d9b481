"""What follows from a job's own fields, and from what was decided about it."""

import pytest

from holdfast.core.job.decision import Kind
from holdfast.core.job.event import Done, Failed
from holdfast.core.job.job import PRIORITIES, JobState, priorities_from
from holdfast.core.job.lifecycle import decide
from tests.core.job.lifecycle_table import NOW, PLAN, RETRY, UNREACHABLE, a_job


@pytest.mark.parametrize("first", PRIORITIES)
def test_every_priority_has_its_turn_and_the_one_named_comes_first(first):
    order = priorities_from(first)

    assert order[0] == first
    assert sorted(order) == sorted(PRIORITIES)


@pytest.mark.parametrize(
    ("attempt", "event", "kind", "buries"),
    [
        (1, Failed(UNREACHABLE), Kind.RETRIED, False),
        (RETRY.attempts, Failed(UNREACHABLE), Kind.FAILED, True),
        (1, Done("null"), Kind.ADVANCED, False),
    ],
)
def test_only_a_failure_that_ends_the_job_leaves_a_dead_letter(attempt, event, kind, buries):
    decision = decide(a_job(JobState.PROCESSING, attempt=attempt), event, PLAN, NOW, 0.5)

    assert (decision.entry.kind, decision.buries) == (kind, buries)
