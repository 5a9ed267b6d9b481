"""What a stage takes over from the upstream it calls."""

import pytest

from holdfast import Pipeline, Retry, Upstream
from holdfast.classify import Rule, Verdict
from holdfast.errors import InvalidPolicy, InvalidValue
from holdfast.testing import Script, drain

SLOW = Retry(attempts=2, base=30, jitter="none")
TOO_SLOW = Rule(TimeoutError, Verdict("TOO_SLOW", retryable=False))


def plan_of(**options):
    pipeline = Pipeline("p", retry=Retry(attempts=9))
    pipeline.stage(name="one", **options)(Script().handler)
    return pipeline.bound().plan.first


def test_a_stage_takes_timeout_retry_and_name_from_its_upstream():
    stage = plan_of(calls=Upstream("gateway", timeout=30, retry=SLOW))

    assert (stage.upstream, stage.timeout_us, stage.retry) == ("gateway", 30_000_000, SLOW)


def test_what_the_stage_says_itself_goes_before_that():
    own = Retry(attempts=1)
    stage = plan_of(calls=Upstream("gateway", timeout=30, retry=SLOW), timeout=5, retry=own)

    assert (stage.timeout_us, stage.retry) == (5_000_000, own)


def test_without_either_the_pipeline_decides():
    stage = plan_of(calls=Upstream("gateway"))

    assert (stage.timeout_us, stage.retry) == (None, Retry(attempts=9))
    assert plan_of().upstream is None


def test_the_rules_of_the_upstream_judge_after_those_of_the_stage(open_app):
    pipeline = Pipeline("p")
    gateway = Upstream("gateway", rules=[TOO_SLOW, Rule(KeyError, Verdict("ODD", retryable=False))])
    own = Rule(KeyError, Verdict("OWN", retryable=False))
    pipeline.stage(name="one", calls=gateway, rules=[own])(
        Script(TimeoutError(), KeyError()).handler
    )
    app = open_app(pipeline)
    jobs = [app.submit(pipeline), app.submit(pipeline)]
    drain(app)

    assert [job.get().error["error_class"] for job in jobs] == ["TOO_SLOW", "OWN"]


def test_an_upstream_is_checked_when_it_is_declared():
    with pytest.raises(InvalidValue, match="name"):
        Upstream("no spaces")
    with pytest.raises(InvalidPolicy, match="timeout"):
        Upstream("gateway", timeout=0)
