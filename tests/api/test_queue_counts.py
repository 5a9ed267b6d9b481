"""Counting queues once for everybody who asks, where that takes counting many jobs."""

import pytest

from holdfast import Submit
from holdfast.api.queue_counts import QueueCounting


@pytest.fixture
def counting(small_app):
    """Takes two active jobs for many."""
    return QueueCounting(small_app, many=2)


def due(counting):
    return [counts.due for counts in counting.read()]


def test_a_few_jobs_are_counted_each_time(small_app, counting):
    small_app.submit("p", {})
    before = due(counting)
    small_app.submit("p", {})

    assert (before, due(counting)) == ([1], [2])


def test_a_count_of_many_jobs_is_told_for_a_second(small_app, counting, clock):
    small_app.submit_many("p", [Submit(payload={})] * 2)
    before = due(counting)
    small_app.submit("p", {})
    clock.advance(0.999)
    meanwhile = due(counting)

    clock.advance(0.001)

    assert (before, meanwhile, due(counting)) == ([2], [2], [3])


def test_whoever_changes_something_is_told_how_it_is_now(small_app, serve):
    client = serve(small_app)
    client.app.state.serving.queues._many = 1
    small_app.submit("p", {})
    client.get("/api/queues")

    client.post("/api/queues/default/pause")
    (paused,) = client.get("/api/queues").json()["items"]
    client.post("/api/queues/default/resume")
    (resumed,) = client.get("/api/queues").json()["items"]

    assert paused["paused_by"] == "local"
    assert resumed["paused_by"] is None


def test_while_many_jobs_are_counted_anew_others_are_told_the_count_before(
    small_app, counting, clock
):
    small_app.submit_many("p", [Submit(payload={})] * 2)
    before = due(counting)
    small_app.submit("p", {})
    clock.advance(1)

    with counting._counting:
        meanwhile = due(counting)

    assert (before, meanwhile, due(counting)) == ([2], [2], [3])
