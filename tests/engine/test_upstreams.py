"""Upstreams as operators see them, and what they do to their breakers."""

import pytest

from holdfast import Breaker, Pipeline, Upstream
from holdfast.core.upstream.breaker import (
    Admits,
    Observed,
    PermitsAsked,
    RateLimited,
    TrialEnded,
    decide_breaker,
)
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.engine.upstreams import SUBJECT, TRIES, Upstreams
from holdfast.errors import ConflictError, InvalidValue, UnknownUpstream
from holdfast.testing import Script

POLICY = Breaker(consecutive=3, cooldown=30, release=10)
TERMS = Upstream("gateway", breaker=POLICY).terms()


@pytest.fixture
def app(open_app):
    pipeline = Pipeline("p")
    pipeline.stage(name="one", calls=Upstream("gateway", breaker=POLICY))(Script(then=1).handler)
    pipeline.stage(name="two", calls=Upstream("mail"))(Script(then=1).handler)
    return open_app(pipeline)


def meet(app, event) -> UpstreamState:
    """Let an event happen to the gateway, as a worker would."""
    rows, now = app.store.upstreams, app.clock.now()
    decided = decide_breaker(rows.get("gateway"), event, POLICY, now)
    return rows.save(decided, now=now)


def opened(app) -> UpstreamState:
    return meet(app, Observed("w", 0, ((0, 3),)))


def test_every_upstream_that_is_declared_is_listed(app):
    assert [(view.name, view.gate, view.share) for view in app.upstreams.list()] == [
        ("gateway", Gate.CLOSED, 1.0),
        ("mail", Gate.CLOSED, 1.0),
    ]
    assert [view.since for view in app.upstreams.list()] == [None, None]


def test_another_process_knows_those_that_jobs_call_and_those_that_are_unwell(app, open_app):
    app.submit("p", {})
    app.store.upstreams.save(UpstreamState("forgotten"), now=app.clock.now())

    views = open_app().upstreams.list()

    assert [view.name for view in views] == ["forgotten", "gateway", "mail"]
    assert [view.breaker for view in views] == [None] * 3


def test_a_view_tells_how_an_open_breaker_stands(app, clock):
    began = clock.now()
    opened(app)
    clock.advance(10)

    view = app.upstreams.show("gateway").view

    assert (view.gate, view.share, view.trials) == (Gate.OPEN, 0.0, 0)
    assert view.since == began
    assert view.until == began + 30 * SECOND_US
    assert view.admission.admits is Admits.NOTHING
    assert repr(view) == "UpstreamView('gateway', open)"
    assert view.to_document() == {
        "upstream": "gateway",
        "breaker": "open",
        "admits": "nothing",
        "share": 0.0,
        "since": "2026-01-01T00:00:00.000000Z",
        "until": "2026-01-01T00:00:30.000000Z",
        "paused_until": None,
        "reason": "3 calls in a row failed",
        "failures": [],
        "forced_by": None,
        "forced_reason": None,
        "generation": 1,
        "reopenings": 0,
        "trials": 0,
        "successes": 0,
        "recently_fine": 0,
        "recently_failed": 0,
        "open_seconds": (view.read_at - began) / SECOND_US,
        "rate": None,
    }


def test_a_view_tells_of_trials_and_of_the_release(app, open_app, clock):
    opened(app)
    clock.advance(30)
    meet(app, PermitsAsked("w", 1))
    half_open = app.upstreams.show("gateway").view
    meet(app, TrialEnded(2, 1, fine=True))
    clock.advance(2)

    assert (half_open.gate, half_open.trials) == (Gate.HALF_OPEN, 1)
    assert half_open.to_document()["admits"] == "trials"
    assert app.upstreams.show("gateway").view.share == pytest.approx(0.3)
    # Without the declaration nobody knows how long the release takes.
    assert open_app().upstreams.show("gateway").view.share is None


def test_a_pause_is_told_while_it_lasts(app, clock):
    now = clock.now()
    state = UpstreamState("gateway", paused_until=now + 5 * SECOND_US)
    app.store.upstreams.save(state, now=now)
    during = app.upstreams.show("gateway").view
    clock.advance(5)
    after = app.upstreams.show("gateway").view

    assert during.paused_until == during.until == now + 5 * SECOND_US
    assert (after.paused_until, after.until, after.share) == (None, None, 1.0)


def test_a_breaker_is_held_open_and_closed_and_let_go(app, clock):
    opened(app)
    seen = []
    for action, reason in (
        (app.upstreams.force_open, "drill"),
        (app.upstreams.force_closed, None),
        (app.upstreams.reset, "over"),
    ):
        clock.advance(1)
        view = action("gateway", by="ada", reason=reason)
        seen.append((view.gate, view.admission.admits, view.state.forced_by, view.state.revision))

    assert seen == [
        (Gate.OPEN, Admits.NOTHING, "ada", 2),
        (Gate.CLOSED, Admits.ALL, "ada", 3),
        (Gate.CLOSED, Admits.ALL, None, 4),
    ]
    assert app.store.upstreams.get("gateway") == view.state


def test_what_was_done_is_on_record_with_who_and_why(app, clock):
    opened(app)
    clock.advance(1)
    app.upstreams.force_closed("gateway", by="ada", reason="the probe lies")
    app.upstreams.reset("gateway", by="bob")

    reset, forced = app.upstreams.show("gateway").actions

    assert (reset.action, reset.done_by, reset.reason) == ("reset", "bob", None)
    assert (forced.action, forced.done_by) == ("forced closed", "ada")
    assert (forced.reason, forced.at) == ("the probe lies", clock.now())
    assert forced.detail == {"from": "open", "generation": 1}
    assert (forced.subject_kind, forced.subject) == (SUBJECT, "gateway")


def test_an_upstream_that_never_failed_may_be_held_open(app):
    view = app.upstreams.force_open("mail", by="ada", reason="maintenance")

    assert (view.gate, view.state.revision) == (Gate.OPEN, 1)


@pytest.mark.parametrize("action", ["show", "force_open", "force_closed", "reset"])
def test_a_name_that_nobody_knows_is_refused_and_nothing_is_stored(app, action):
    options = {} if action == "show" else {"by": "ada"}

    with pytest.raises(UnknownUpstream, match="known: gateway, mail") as caught:
        getattr(app.upstreams, action)("gatway", **options)

    assert (caught.value.upstream, caught.value.known) == ("gatway", ("gateway", "mail"))
    assert app.store.upstreams.all() == []
    assert app.store.audit.latest() == []


@pytest.mark.parametrize("by", ["", "a\nb", "x" * 256, None])
def test_who_asks_has_to_be_told(app, by):
    with pytest.raises(InvalidValue):
        app.upstreams.force_open("gateway", by=by)

    assert app.store.upstreams.all() == []


def test_a_reason_is_made_safe_to_store(app):
    view = app.upstreams.force_open("gateway", by="ada", reason="odd\x00\ud800 password=hunter2x")

    assert "\x00" not in view.state.forced_reason
    assert "hunter2x" not in view.state.forced_reason
    assert app.upstreams.show("gateway").actions[0].reason == view.state.forced_reason


class Meddler:
    """A clock by which somebody else writes the upstream whenever it is looked at."""

    def __init__(self, clock, app, times: int) -> None:
        self._clock, self._app, self._left = clock, app, times

    def now(self):
        if self._left > 0:
            self._left -= 1
            rows = self._app.store.upstreams
            assert rows.save(rows.get("gateway"), now=self._clock.now()) is not None
        return self._clock.now()


def meddled(app, clock, times: int) -> Upstreams:
    meddler = Meddler(clock, app, times)
    return Upstreams(
        lambda: app.store,
        clock=meddler,
        declared=lambda: {"gateway": TERMS},
        moved=app.signals.gates,
    )


def test_who_is_overtaken_reads_again(app, clock):
    view = meddled(app, clock, 3).force_open("gateway", by="ada")

    assert (view.gate, view.state.revision) == (Gate.OPEN, 4)
    assert len(app.store.audit.latest()) == 1


def test_who_is_overtaken_again_and_again_gives_up(app, clock):
    with pytest.raises(ConflictError, match="try again"):
        meddled(app, clock, TRIES).force_open("gateway", by="ada")

    assert app.store.audit.latest() == []


def test_a_probe_cuts_a_cooldown_short(app):
    opened(app)

    view = app.upstreams.probe("gateway", by="ada", reason="they say it is back")

    assert view.gate is Gate.OPEN
    assert view.admission.admits is Admits.TRIALS
    assert meet(app, PermitsAsked("w", 1)).gate is Gate.HALF_OPEN
    entry = app.upstreams.show("gateway").actions[0]
    assert (entry.action, entry.done_by, entry.reason) == ("probed", "ada", "they say it is back")


def test_a_probe_ends_a_pause_that_the_upstream_asked_for(app, clock):
    meet(app, RateLimited(Instant(clock.now() + 60 * SECOND_US)))

    view = app.upstreams.probe("gateway", by="ada")

    assert view.paused_until is None
    assert view.admission.admits is Admits.ALL


@pytest.mark.parametrize("stands", ["closed", "held"])
def test_a_probe_is_refused_where_nothing_is_waited_for(app, stands):
    if stands == "held":
        opened(app)
        app.upstreams.force_open("gateway", by="ada")
    before = app.upstreams.show("gateway").actions

    with pytest.raises(ConflictError, match="waits for nothing"):
        app.upstreams.probe("gateway", by="ada")

    assert app.upstreams.show("gateway").actions == before
