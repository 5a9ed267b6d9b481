"""How many calls an upstream gets, and when it asks for none."""

from dataclasses import replace

import httpx
import pytest

from holdfast import Pipeline, Upstream
from holdfast.core.job.decision import Kind
from holdfast.core.upstream.upstream import Gate
from holdfast.errors import InvalidPolicy, StoreUnavailable, UsageError
from tests.runtime.breakers.calls import FIVE, Unwritable, calling, opened, state_of, turn
from tests.runtime.crew import Crew


def test_a_429_pauses_the_upstream_for_every_worker_until_its_retry_after(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway")))
    crew, other = Crew(app, limit=1), Crew(app, name="w2", seed=2)
    for _ in range(4):
        app.submit("p")
    gateway.up = False
    gateway.raises = _limited(seconds=20)
    turn(crew)
    assert gateway.calls == 1
    for _ in range(3):
        turn(crew)
        turn(other)

    assert gateway.calls == 1
    assert state_of(app).gate is Gate.CLOSED
    gateway.up = True
    crew.clock.advance(20.1)
    turn(other)
    assert gateway.calls == 5


def _limited(*, seconds: int) -> Exception:
    request = httpx.Request("POST", "http://127.0.0.1/")
    response = httpx.Response(429, headers={"Retry-After": str(seconds)}, request=request)
    return httpx.HTTPStatusError("429", request=request, response=response)


def test_after_closing_calls_are_released_in_steps(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, release=10))
    app, crew = opened(open_app, gateway, upstream, jobs=60)
    crew.lane.limit = 20
    gateway.up = True
    crew.clock.advance(30)
    turn(crew)
    assert state_of(app).gate is Gate.CLOSED
    loads = []
    for _ in range(5):
        crew.claim()
        loads.append(crew.lane.load())
        crew.lane.run()
        crew.report()
        crew.breakers.tick(crew.clock.now())
        crew.clock.advance(2.5)

    assert loads[0] == 2
    assert loads == sorted(loads)
    assert loads[-1] >= 20


def test_an_upstream_never_gets_more_calls_at_a_time_than_its_concurrency(open_app, gateway):
    slow = calling(gateway, Upstream("gateway", concurrency=2))
    quick = Pipeline("quick")

    @quick.stage
    def only(_job) -> None:
        pass

    app = open_app(slow, quick)
    crew = Crew(app, limit=6)
    for _ in range(10):
        app.submit("p")
        app.submit("quick")
    crew.claim()
    names = [attempt.job.pipeline for attempt in crew.lane.waiting]

    assert names.count("p") == 2
    assert names.count("quick") == 4
    crew.lane.limit = 20
    crew.claim()
    crew.claim()
    names = [attempt.job.pipeline for attempt in crew.lane.waiting]
    assert names.count("p") == 2
    assert names.count("quick") == 10


def test_an_upstream_that_may_have_many_calls_gets_no_more_than_a_lane_has_room_for(
    open_app, gateway
):
    upstreams = [Upstream(name, concurrency=10) for name in ("gateway", "other")]
    app = open_app(
        *(calling(gateway, upstream, upstream.name) for upstream in upstreams),
    )
    crew = Crew(app, limit=6)
    for _ in range(5):
        app.submit("gateway")
    for _ in range(10):
        app.submit("other")
    crew.claim()

    assert crew.lane.load() == 6


def test_a_429_is_heeded_although_the_store_is_away(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway")))
    crew = Crew(app, limit=1)
    for _ in range(3):
        app.submit("p")
    store = crew.breakers._store = Unwritable(app.store)
    gateway.up = False
    gateway.raises = _limited(seconds=60)
    crew.breakers.tick(crew.clock.now())
    crew.work()
    store.down = True
    with pytest.raises(StoreUnavailable):
        crew.breakers.tick(crew.clock.now())
    store.down = False
    crew.clock.advance(1)
    crew.claim()
    crew.breakers.tick(crew.clock.now())

    assert crew.lane.load() == 0
    assert state_of(app).paused_until is not None


def test_retries_are_at_most_a_share_of_first_attempts_and_a_few(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", retry_budget=0.1)))
    crew = Crew(app, limit=50)
    gateway.up = False
    for _ in range(100):
        app.submit("p")
    for _ in range(20):
        turn(crew)
    first = 100

    retries = gateway.calls - first
    assert retries <= 10 + 0.1 * first + 1
    budgets = [
        line
        for view in app.jobs()
        for line in app.history(view.id)
        if line.event == Kind.HELD and line.meta["reason"] == "RETRY_BUDGET"
    ]
    assert budgets


def test_an_upstream_declared_twice_in_different_ways_is_refused(open_app, gateway):
    app = open_app(
        calling(gateway, Upstream("gateway", breaker=FIVE)),
        calling(gateway, Upstream("gateway", breaker=replace(FIVE, cooldown=5)), name="q"),
    )
    with pytest.raises(UsageError, match="declared twice"):
        Crew(app)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retry_budget", -0.1),
        ("retry_budget", 2),
        ("concurrency", 0),
        ("concurrency", True),
        ("probe", print),
    ],
)
def test_terms_that_make_no_sense_are_refused_by_name(field, value):
    with pytest.raises(InvalidPolicy, match=field):
        Upstream("gateway", **{field: value})
