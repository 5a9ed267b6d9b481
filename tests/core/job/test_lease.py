import pytest

from holdfast.core.job.job import JobState, WorkerId
from holdfast.core.job.lease import Lease, claimable, claimed, holds, lease_of
from holdfast.core.values.instant import FAR_FUTURE, Instant
from tests.core.job.lifecycle_table import NOW, a_job


@pytest.mark.parametrize(
    ("state", "changes", "may_be_taken"),
    [
        (JobState.QUEUED, {}, True),
        (JobState.QUEUED, {"run_at": NOW}, True),
        (JobState.QUEUED, {"run_at": Instant(NOW + 1)}, False),
        (JobState.QUEUED, {"deadline_at": Instant(NOW + 1)}, True),
        (JobState.QUEUED, {"deadline_at": NOW}, False),
        *((state, {}, False) for state in JobState if state is not JobState.QUEUED),
    ],
)
def test_what_is_queued_and_due_and_in_time_may_be_claimed(state, changes, may_be_taken):
    assert claimable(a_job(state, **changes), now=NOW) is may_be_taken


def test_a_claim_counts_the_attempt_and_sets_the_lease():
    job = a_job(JobState.QUEUED)

    after = claimed(job, holder=WorkerId("w2"), lease_us=30, now=NOW)

    assert after == job._replace(
        state=JobState.PROCESSING,
        attempt=2,
        token=5,
        revision=10,
        holder=WorkerId("w2"),
        lease_until=Instant(NOW + 30),
        attempt_at=NOW,
        updated_at=NOW,
    )


def test_the_first_claim_is_the_start_of_the_job():
    job = a_job(JobState.QUEUED, started_at=None)

    assert claimed(job, holder=WorkerId("w"), lease_us=1, now=NOW).started_at == NOW


def test_a_lease_does_not_lead_out_of_the_calendar():
    after = claimed(a_job(JobState.QUEUED), holder=WorkerId("w"), lease_us=10**18, now=NOW)

    assert after.lease_until == FAR_FUTURE


@pytest.mark.parametrize(
    ("state", "token", "held"),
    [
        (JobState.PROCESSING, 4, True),
        (JobState.PROCESSING, 3, False),
        (JobState.PROCESSING, 5, False),
        (JobState.QUEUED, 4, False),
        (JobState.CANCELLED, 4, False),
    ],
)
def test_a_lease_is_held_while_the_job_runs_under_it(state, token, held):
    job = a_job(state)

    assert holds(job, Lease(job.id, token)) is held
    assert lease_of(job) == Lease(job.id, 4)
