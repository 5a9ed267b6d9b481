"""A failure that a stage may meet so many times, among others that it may meet more often."""

import pytest

from holdfast import Pipeline, Retry
from holdfast.classify import Rule, Verdict
from holdfast.testing import Script, drain

DISK = Rule(OSError, Verdict("DISK", retryable=True, attempts=2))
LOST, BROKEN = ConnectionResetError("lost"), OSError("broken")


@pytest.fixture
def ended(open_app):
    """Run a job whose attempts end like this, and return it with the classes of its attempts."""

    def ended(*outcomes, attempts=5):
        lost = Rule(ConnectionError, Verdict("LOST", retryable=True))
        pipeline = Pipeline("p", retry=Retry(attempts=attempts, base=1, jitter="none"))
        script = Script(*outcomes, then=1)
        pipeline.stage(name="one", rules=[lost, DISK])(script.handler)
        app = open_app(pipeline)
        job = app.submit("p")
        drain(app)
        return job.get().state, [line.error_class for line in app.attempts(job.id)]

    return ended


def test_failures_of_another_kind_do_not_use_up_what_one_kind_may_cost(ended):
    assert ended(LOST, LOST, BROKEN) == ("complete", ["LOST", "LOST", "DISK", None])


def test_as_many_of_a_kind_as_it_allows_end_the_job_wherever_they_are(ended):
    assert ended(BROKEN, LOST, BROKEN) == ("failed", ["DISK", "LOST", "DISK"])


def test_the_budget_of_the_stage_counts_all_of_them(ended):
    assert ended(LOST, LOST, BROKEN, attempts=3) == ("failed", ["LOST", "LOST", "DISK"])
