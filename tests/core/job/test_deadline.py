import pytest

from holdfast.core.job.deadline import attempt_ends_at, passed, renewed
from holdfast.core.job.job import JobState, label
from holdfast.core.values.instant import FAR_FUTURE, Instant
from tests.core.job.lifecycle_table import NOW, a_job


@pytest.mark.parametrize(
    ("deadline_at", "is_over"),
    [
        (None, False),
        (FAR_FUTURE, False),
        (Instant(NOW + 1), False),
        (NOW, False),
        (Instant(NOW - 1), True),
        (Instant(0), True),
    ],
)
def test_time_is_up_after_the_deadline(deadline_at, is_over):
    assert passed(a_job(JobState.QUEUED, deadline_at=deadline_at), NOW) is is_over


@pytest.mark.parametrize(
    ("deadline_at", "timeout_us", "ends_at"),
    [
        (None, None, None),
        (None, 5, Instant(NOW + 5)),
        (Instant(NOW + 3), None, Instant(NOW + 3)),
        (Instant(NOW + 3), 5, Instant(NOW + 3)),
        (Instant(NOW + 9), 5, Instant(NOW + 5)),
        (None, 10**18, FAR_FUTURE),
    ],
)
def test_an_attempt_ends_at_its_timeout_or_the_deadline_whichever_is_first(
    deadline_at, timeout_us, ends_at
):
    job = a_job(JobState.PROCESSING, deadline_at=deadline_at)

    assert attempt_ends_at(job, timeout_us=timeout_us, now=NOW) == ends_at


def test_a_job_sent_back_has_as_long_as_at_first():
    job = a_job(JobState.FAILED, deadline_at=Instant(NOW - 40))

    assert renewed(job, NOW) == NOW + 60
    assert renewed(a_job(JobState.FAILED), NOW) is None


def test_a_job_whose_deadline_lay_before_its_start_gets_no_time():
    job = a_job(JobState.FAILED, deadline_at=Instant(5))

    assert renewed(job, NOW) == NOW


@pytest.mark.parametrize(
    ("state", "changes", "word"),
    [
        (JobState.QUEUED, {}, "due"),
        (JobState.QUEUED, {"run_at": NOW}, "due"),
        (JobState.QUEUED, {"run_at": Instant(NOW + 1)}, "retrying"),
        (JobState.QUEUED, {"run_at": Instant(NOW + 1), "attempt": 0}, "scheduled"),
        (JobState.QUEUED, {"deadline_at": Instant(NOW - 1)}, "overdue"),
        (JobState.QUEUED, {"deadline_at": NOW}, "due"),
        (JobState.PROCESSING, {}, "processing"),
        (JobState.PROCESSING, {"deadline_at": Instant(NOW - 1)}, "overdue"),
        (JobState.WAITING, {}, "waiting"),
        (JobState.WAITING, {"deadline_at": Instant(NOW - 1)}, "overdue"),
        (JobState.COMPLETE, {"deadline_at": Instant(NOW - 1)}, "complete"),
        (JobState.FAILED, {"deadline_at": Instant(NOW - 1)}, "failed"),
        (JobState.CANCELLED, {"deadline_at": Instant(NOW - 1)}, "cancelled"),
    ],
)
def test_the_label_says_what_time_has_made_of_the_job(state, changes, word):
    assert label(a_job(state, **changes), NOW) == word
