"""Stages that call upstreams, run inline: their breakers act as they do in a worker."""

from collections.abc import Callable

import httpx
import pytest

from holdfast import Breaker, Holdfast, JobState, Pipeline, Retry, Upstream
from holdfast.core.upstream.upstream import Gate
from holdfast.testing import Script, drain, run_inline

PATIENT = Retry(attempts=4, base=1, factor=1, jitter="none")
THREE = Breaker(consecutive=3, cooldown=30, growth=1, release=0)


@pytest.fixture
def calling(open_app) -> Callable[..., Holdfast]:
    """Opens an app with one stage that plays a script and calls an upstream on these terms."""

    def open_one(script, **terms) -> Holdfast:
        upstream = Upstream("gateway", **{"breaker": THREE, "retry": PATIENT, **terms})
        pipeline = Pipeline("work")
        pipeline.stage(name="call", calls=upstream)(script.handler)
        return open_app(pipeline)

    return open_one


def down(times: int) -> list[ConnectionError]:
    return [ConnectionError("refused")] * times


def states(jobs) -> list[JobState]:
    return [job.get().state for job in jobs]


def gate(app) -> Gate:
    return app.upstreams.show("gateway")[0].gate


def test_failures_open_the_breaker_and_the_other_jobs_stay_queued(calling):
    script = Script(*down(9))
    app = calling(script)
    jobs = [app.submit("work") for _ in range(5)]

    run_inline(app)

    assert len(script.calls) == 3
    assert gate(app) is Gate.OPEN
    assert states(jobs) == [JobState.QUEUED] * 5
    assert [job.get().job.attempt for job in jobs] == [1, 1, 1, 0, 0]


def test_after_the_cooldown_a_trial_closes_it_and_the_rest_goes_through(calling, clock):
    script = Script(*down(3), then="fine")
    app = calling(script)
    began = clock.now()
    jobs = [app.submit("work") for _ in range(5)]

    drain(app)

    assert states(jobs) == [JobState.COMPLETE] * 5
    assert gate(app) is Gate.CLOSED
    assert clock.now() - began >= 30_000_000
    assert len(script.calls) == 3 + 5


def test_a_release_in_steps_lets_everything_through_in_the_end(calling):
    script = Script(*down(3), then="fine")
    app = calling(script, breaker=Breaker(consecutive=3, cooldown=30, release=60))
    jobs = [app.submit("work") for _ in range(5)]

    drain(app)

    assert states(jobs) == [JobState.COMPLETE] * 5


def test_an_upstream_that_never_comes_back_uses_the_attempts_up(calling):
    app = calling(Script(then=ConnectionError("refused")))
    jobs = [app.submit("work") for _ in range(3)]

    drain(app)

    assert states(jobs) == [JobState.FAILED] * 3
    assert [job.get().job.attempt for job in jobs] == [4, 4, 4]


def test_fail_fast_fails_the_other_jobs_at_once(calling):
    app = calling(
        Script(*down(9)),
        breaker=Breaker(consecutive=3, cooldown=30, mode="fail_fast"),
        retry=Retry(attempts=1),
    )
    jobs = [app.submit("work") for _ in range(5)]

    run_inline(app)

    codes = [job.get().error["error_class"] for job in jobs]
    assert codes == ["NETWORK"] * 3 + ["CIRCUIT_OPEN"] * 2


def test_a_notice_puts_jobs_off_past_the_cooldown(calling):
    script = Script(*down(3), then="fine")
    app = calling(script, breaker=Breaker(consecutive=3, cooldown=30, mode="notice", release=0))
    jobs = [app.submit("work") for _ in range(4)]

    happened = drain(app)

    assert "held" in {ran.event for ran in happened}
    assert states(jobs) == [JobState.COMPLETE] * 4


def test_a_probe_stands_in_for_the_trial(calling):
    script, probe = Script(*down(3), then="fine"), Script(ConnectionError("not yet"), then=True)
    app = calling(script, probe=probe)
    jobs = [app.submit("work") for _ in range(3)]

    drain(app)

    assert len(probe.calls) == 2
    assert len(script.calls) == 3 + 3
    assert states(jobs) == [JobState.COMPLETE] * 3


def test_a_429_keeps_every_job_away_until_its_retry_after(calling, clock):
    request = httpx.Request("GET", "http://gateway.test")
    limited = httpx.HTTPStatusError(
        "slow down",
        request=request,
        response=httpx.Response(429, headers={"retry-after": "40"}, request=request),
    )
    script = Script(limited, then="fine")
    app = calling(script)
    jobs = [app.submit("work") for _ in range(3)]

    run_inline(app)
    called = len(script.calls)
    began = clock.now()
    drain(app)

    assert called == 1
    assert clock.now() - began >= 39_000_000
    assert states(jobs) == [JobState.COMPLETE] * 3


def test_one_that_is_held_open_by_hand_holds_its_jobs_for_good(calling):
    script = Script(then="fine")
    app = calling(script)
    app.upstreams.force_open("gateway", by="ada")
    job = app.submit("work")

    drain(app)
    held = job.get().state
    app.upstreams.reset("gateway", by="ada")
    drain(app)

    assert held is JobState.QUEUED
    assert job.get().state is JobState.COMPLETE


def test_a_job_that_is_held_past_its_deadline_fails_by_it(calling):
    script = Script(then="fine")
    app = calling(script)
    app.upstreams.force_open("gateway", by="ada")
    job = app.submit("work", deadline=60)

    drain(app)

    assert (job.get().state, job.get().error["error_class"]) == (JobState.FAILED, "TIMEOUT")
    assert (job.get().job.attempt, len(script.calls)) == (0, 0)
