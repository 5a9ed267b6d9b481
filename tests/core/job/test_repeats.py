"""How often attempts may fail in the same way."""

import pytest

from holdfast.core.job.decision import Entry, Kind
from holdfast.core.job.event import Failed
from holdfast.core.job.job import JobState
from holdfast.core.job.lifecycle import decide
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.job.repeats import depends_on_repeats, failed_alike
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retry import Retry
from tests.core.job.lifecycle_table import NOW, a_job

RETRY = Retry(attempts=5, base=1, jitter="none")
PLAN = Plan("p", (StagePlan("two", RETRY),))
TWICE = Failure(
    error_class="DISK", message="it broke", category=Category.TRANSIENT, retryable=True, attempts=2
)
TWICE_ANYWAY = TWICE._replace(own_budget=True)
REFUSED = Failure(
    error_class="KEY_REFUSED",
    message="401",
    category=Category.CRITICAL,
    retryable=True,
    spends_attempt=False,
)


def processing(attempt):
    return a_job(JobState.PROCESSING, attempt=attempt)


def past(kind, error_class=None):
    return Entry(kind, NOW, "two", 1, None, None, error_class, None, None)


@pytest.mark.parametrize(
    ("attempt", "alike", "kind"),
    [
        (1, None, Kind.RETRIED),
        (2, None, Kind.FAILED),
        (2, 0, Kind.RETRIED),
        (4, 0, Kind.RETRIED),
        (2, 1, Kind.FAILED),
        (4, 1, Kind.FAILED),
        (5, 0, Kind.FAILED),
    ],
)
def test_as_many_attempts_may_end_like_this_as_the_failure_allows(attempt, alike, kind):
    decision = decide(processing(attempt), Failed(TWICE, alike), PLAN, NOW, 0.5)

    assert decision.entry.kind is kind


@pytest.mark.parametrize(
    ("attempt", "alike", "kind"),
    [
        (5, 0, Kind.RETRIED),
        (6, 1, Kind.FAILED),
        (5, 1, Kind.FAILED),
        (2, 1, Kind.FAILED),
        (5, None, Kind.FAILED),
    ],
)
def test_a_failure_with_a_budget_of_its_own_may_be_tried_beyond_the_stages(attempt, alike, kind):
    decision = decide(processing(attempt), Failed(TWICE_ANYWAY, alike), PLAN, NOW, 0.5)

    assert decision.entry.kind is kind


def test_a_stage_of_one_attempt_has_another_after_such_a_failure_and_no_third():
    plan = Plan("p", (StagePlan("two", Retry(attempts=1)),))
    other = TWICE._replace(attempts=None)

    first = decide(processing(1), Failed(TWICE_ANYWAY), plan, NOW, 0.5)
    second = decide(processing(2), Failed(TWICE_ANYWAY, alike=1), plan, NOW, 0.5)
    another = decide(processing(2), Failed(other), plan, NOW, 0.5)

    kinds = [each.entry.kind for each in (first, second, another)]
    assert kinds == [Kind.RETRIED, Kind.FAILED, Kind.FAILED]


def test_attempts_are_alike_when_they_failed_with_the_same_class():
    history = [
        past(Kind.RETRIED, "DISK"),
        past(Kind.RETRIED, "NETWORK"),
        past(Kind.SNOOZED),
        past(Kind.HELD),
        past(Kind.RETRIED, "DISK"),
    ]

    assert failed_alike(TWICE, history) == 2


@pytest.mark.parametrize("end", [Kind.ADVANCED, Kind.REVIVED])
def test_what_failed_in_an_earlier_stage_or_before_a_manual_retry_is_over(end):
    history = [past(Kind.RETRIED, "DISK"), past(end), past(Kind.RETRIED, "DISK")]

    assert failed_alike(TWICE, history) == 1


@pytest.mark.parametrize(
    ("attempt", "failure", "depends"),
    [
        (2, TWICE, True),
        (4, TWICE, True),
        (1, TWICE, False),
        (5, TWICE, False),
        (2, TWICE._replace(attempts=None), False),
        (2, TWICE._replace(attempts=1), False),
        (2, TWICE._replace(retryable=False), False),
        (5, TWICE_ANYWAY, True),
        (1, TWICE_ANYWAY, False),
        (5, TWICE_ANYWAY._replace(attempts=None), False),
        (1, REFUSED, True),
        (1, REFUSED._replace(retryable=False), False),
    ],
)
def test_the_past_is_asked_for_only_where_it_decides(attempt, failure, depends):
    assert depends_on_repeats(processing(attempt), failure, RETRY) is depends


@pytest.mark.parametrize("attempt", range(1, 6))
@pytest.mark.parametrize("limit", [None, 1, 2, 3])
@pytest.mark.parametrize("own_budget", [False, True])
def test_where_it_does_not_it_would_change_nothing(attempt, limit, own_budget):
    failure = TWICE._replace(attempts=limit, own_budget=own_budget)
    if depends_on_repeats(processing(attempt), failure, RETRY):
        return
    without = decide(processing(attempt), Failed(failure), PLAN, NOW, 0.5)

    for alike in range(attempt):
        assert decide(processing(attempt), Failed(failure, alike), PLAN, NOW, 0.5) == without


@pytest.mark.parametrize(("attempt", "alike"), [(1, None), (1, 0), (5, 0), (5, 40), (9, 10_000)])
def test_what_no_job_can_help_spends_no_attempt_however_often_it_happens(attempt, alike):
    decision = decide(processing(attempt), Failed(REFUSED, alike), PLAN, NOW, 0.5)

    assert decision.entry.kind is Kind.RETRIED
    assert decision.failure == REFUSED
    assert decision.change.state is JobState.QUEUED
    assert decision.change.attempt == attempt - 1


@pytest.mark.parametrize(
    ("alike", "seconds"),
    [(None, 1), (0, 1), (1, 2), (2, 4), (5, 32), (8, 256), (9, 300), (99, 300)],
)
def test_it_waits_longer_each_time_and_five_minutes_at_most(alike, seconds):
    plan = Plan("p", (StagePlan("two", Retry(attempts=3, base=1, cap=None, jitter="none")),))

    decision = decide(processing(1), Failed(REFUSED, alike), plan, NOW, 0.5)

    assert decision.change.run_at - NOW == seconds * SECOND_US


def test_it_ends_with_the_time_of_its_job():
    job = processing(1)._replace(deadline_at=NOW + SECOND_US // 2)

    decision = decide(job, Failed(REFUSED), PLAN, NOW, 0.5)

    assert decision.entry.kind is Kind.FAILED
