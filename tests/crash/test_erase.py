"""Erasures that are killed: what they leave is whole, and the next one completes them."""

import signal
import sys

import pytest

from holdfast import Holdfast, JobFilter, JobState
from tests.crash import dying_erase
from tests.crash.fleet import PATIENCE_S, REPOSITORY, Fleet, environment_of
from tests.warm.process import run

OWNER = "ada"


def _erase(fleet: Fleet, number: int) -> int:
    done = run(
        [sys.executable, dying_erase.__file__, fleet.url, OWNER, str(number)],
        cwd=REPOSITORY,
        env=environment_of(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_an_erasure_killed_at_any_statement_is_completed_by_the_next(fleet: Fleet) -> None:
    app: Holdfast = fleet.app
    kept = app.submit("steps", {"n": 1}, owner="bob").id
    worker = fleet.start(only="steps")
    fleet.finished([kept])
    number, status = 0, -signal.SIGKILL
    while status:
        number += 1
        jobs = [app.submit("steps", {"n": 1}, key=f"k-{n}", owner=OWNER).id for n in range(3)]
        fleet.finished(jobs)
        status = _erase(fleet, number)
        assert app.verify() == []
        assert {job.state for job in app.jobs()} <= {JobState.COMPLETE}

        app.erase(OWNER, by="grace")
        assert app.count(JobFilter(owner=OWNER)) == 0
        assert app.of_key("steps", "k-0", owner=OWNER) == []
        assert [view.id for view in app.jobs()] == [kept]
    worker.signal(signal.SIGTERM)

    assert worker.ended() == 0
    assert number > 10
