"""What a view of a job tells of its time."""

from holdfast.core.instant import to_datetime
from holdfast.testing import run_inline


def test_a_view_says_when_the_job_was_made_and_when_it_ended(app, clock):
    made_at = to_datetime(clock.now())
    job = app.submit("p")
    before = job.get()
    clock.advance(7)
    run_inline(app)
    after = job.get()

    assert (before.created_at, before.finished_at) == (made_at, None)
    assert (after.created_at, after.finished_at) == (made_at, to_datetime(clock.now()))
