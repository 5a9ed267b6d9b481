"""What a handler sees of its job."""

from datetime import timedelta

import pytest

from holdfast import Wait
from holdfast.core.values.instant import to_datetime
from holdfast.errors import InvalidValue
from holdfast.testing import Script, drain, run_inline
from tests.runtime.crew import pipeline_of


def seen_by_handler(open_app, look, *, scripts=(), **options):
    app = open_app(pipeline_of(*scripts, Script(then=look)))
    job = app.submit("p", {"n": 1}, **options)
    run_inline(app)
    return app, job


def test_it_knows_what_was_submitted(open_app, clock):
    seen = []
    app, job = seen_by_handler(
        open_app, seen.append, key="k", owner="ada", version=3, trace="00-1", deadline=60
    )

    [context] = seen
    assert (context.id, context.pipeline, context.stage) == (job.id, "p", "one")
    assert (context.key, context.owner, context.version, context.trace) == ("k", "ada", 3, "00-1")
    assert context.created_at == to_datetime(clock.now())
    assert context.deadline == context.created_at + timedelta(seconds=60)
    assert context.payload == {"n": 1}
    assert context.payload is context.payload
    assert not context.cancelled
    assert app.clock is clock


def test_it_knows_how_many_attempts_are_left(open_app):
    seen = []

    def fail(job):
        seen.append((job.attempt, job.last_attempt, job.idempotency_token))
        raise TimeoutError

    app = open_app(pipeline_of(Script(then=fail)))
    job = app.submit("p")
    drain(app)

    token = f"{job.id}:1:one"
    assert seen == [(1, False, token), (2, False, token), (3, True, token)]


def test_no_two_attempts_publish_messages_of_the_same_id(open_app):
    ids = []

    def publish_and_fail(job):
        ids.extend(job.publish("made", {"n": number}) for number in range(2))
        raise TimeoutError

    app = open_app(pipeline_of(Script(then=publish_and_fail)))
    app.submit("p")
    drain(app)

    assert len(ids) == 6
    assert len(set(ids)) == 6


def test_its_token_differs_by_stage_and_by_run(open_app):
    tokens = []

    def note(job):
        tokens.append(job.idempotency_token)
        if len(tokens) == 2:
            raise KeyError

    app = open_app(pipeline_of(Script(then=note), Script(then=note)))
    job = app.submit("p")
    drain(app)
    app.retry(job.id, by="ada", from_start=True)
    drain(app)

    assert len(set(tokens)) == 4


def test_it_has_the_results_of_earlier_stages_and_no_others(open_app):
    seen = []
    seen_by_handler(
        open_app, lambda job: seen.append(dict(job.results)), scripts=[Script("a"), Script(None)]
    )

    assert seen == [{"one": "a", "two": None}]


def test_without_limits_its_time_does_not_end(open_app):
    seen = []
    seen_by_handler(open_app, lambda job: seen.append((job.time_left, job.deadline)))

    assert seen == [(None, None)]


def test_its_time_runs_out_with_the_deadline(open_app):
    seen = []
    seen_by_handler(open_app, lambda job: seen.append(job.time_left), deadline=60)

    assert 59 < seen[0] <= 60.001


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_wait_must_end_at_some_time(timeout):
    with pytest.raises(InvalidValue, match="timeout"):
        Wait(timeout=timeout)
