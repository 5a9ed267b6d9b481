"""Upstreams: how their breakers stand, how they moved, and what operators do to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import Response

from holdfast.console import words
from holdfast.console.charts import charts, timeline
from holdfast.console.rendering.rendering import ACT_ON_ALL, LOOK_AT_ALL, Console
from holdfast.console.requests.ask import Ask, Done
from holdfast.console.requests.visit import Visit
from holdfast.core.job.decision import Kind
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US
from holdfast.views.durations import span
from holdfast.views.explain.waiting import holds
from holdfast.views.upstream import RateView, UpstreamView

_CALLS: Final = (charts.Series("fine", "good"), charts.Series("failed", "bad"))
_FINE: Final = frozenset({Kind.ADVANCED.value, Kind.COMPLETED.value, Kind.SUSPENDED.value})


class UpstreamLine(NamedTuple):
    """An upstream as a picture shows it."""

    name: str
    word: str
    tone: str
    says: str
    picture: Markup


def add_to(console: Console) -> None:
    """Route to the upstreams and to what may be done to a breaker."""
    console.page("/upstreams", LOOK_AT_ALL, lambda visit: upstreams(console, visit))
    console.page("/upstreams/{name}", LOOK_AT_ALL, lambda visit: upstream_page(console, visit))
    verbs = console.engine.upstreams
    for path, verb, deed in (
        ("open", OPEN, verbs.force_open),
        ("close", CLOSE, verbs.force_closed),
        ("reset", RESET, verbs.reset),
        ("probe", PROBE, verbs.probe),
    ):
        action = BreakerAction(console, verb, deed)
        console.action(f"/upstreams/{{name}}/{path}", ACT_ON_ALL, action)


def upstreams(console: Console, visit: Visit) -> Response:
    """Return every upstream."""
    return console.render(
        visit, "upstreams.html", screen="upstreams", upstreams=upstream_lines(console)
    )


def upstream_lines(console: Console) -> list[UpstreamLine]:
    """Return every upstream as a picture shows it, those in trouble first."""
    held = held_by_upstream(console)
    lines = [_line(view, held.get(view.name, 0)) for view in console.engine.upstreams.list()]
    return sorted(lines, key=lambda line: line.tone == words.GOOD)


def upstream_page(console: Console, visit: Visit) -> Response:
    """Return how a breaker stands, the evidence, and its audit log."""
    report = console.engine.upstreams.show(visit.part("name"))
    view = report.view
    routes = console.engine.upstreams.due(view.name) if holds(view) else []
    held = sum(route.due for route in routes)
    return console.render(
        visit,
        "upstream.html",
        screen="upstreams",
        view=view,
        each=_line(view, held),
        held=held,
        routes=routes,
        failures=view.state.failures[::-1],
        here=f"{visit.base}/upstreams/{quote(view.name, safe='')}",
        can_probe=can_probe(view),
        policy=[] if view.breaker is None else _policy(view, view.breaker),
        rate=[] if view.rate is None else _rate(view.rate),
        calls=_calls(console, view),
        actions=report.actions,
    )


def held_by_upstream(console: Console) -> dict[str, int]:
    """Return how many due jobs wait for a stage that calls each upstream which lets none pass."""
    engine = console.engine
    closed = {view.name for view in engine.upstreams.list() if holds(view)}
    if not closed:
        return {}
    calls = engine.upstreams.callers()
    held: dict[str, int] = {}
    for route, due, _ in engine.store.routes(now=engine.clock.now()):
        upstream = calls.get((route.pipeline, route.stage))
        if upstream in closed:
            held[upstream] = held.get(upstream, 0) + due
    return held


def can_probe(view: UpstreamView) -> bool:
    """Return whether there is a wait that an operator can cut short."""
    waits = view.state.forced is None and view.state.gate is Gate.OPEN
    return waits or view.paused_until is not None


class Verb(NamedTuple):
    """What is asked, what the button says, what it does, and what is said afterwards."""

    title: str
    button: str
    says: str
    word: str
    dangerous: bool = False


OPEN: Final = Verb(
    title="Force the breaker of {} open?",
    button="Force it open",
    says="No call passes until somebody closes or resets it. Jobs wait, and lose no attempt.",
    word="opened",
    dangerous=True,
)
CLOSE: Final = Verb(
    title="Force the breaker of {} closed?",
    button="Force it closed",
    says="Every call passes, however many fail, until somebody opens or resets it.",
    word="closed",
)
RESET: Final = Verb(
    title="Reset the breaker of {}?",
    button="Reset it",
    says="All that is known about the upstream is forgotten, a pause it asked for as well: "
    "the breaker is closed, and moves by itself again.",
    word="reset",
)
PROBE: Final = Verb(
    title="Probe {} now?",
    button="Probe now",
    says="The wait ends now, also one that the upstream asked for: the next trial is made at once.",
    word="probed",
)


class BreakerAction(NamedTuple):
    """Something an operator does to a breaker."""

    console: Console
    verb: Verb
    deed: Callable[..., Any]

    def ask(self, visit: Visit) -> Ask:
        """Ask with the number of jobs that it holds or would hold."""
        view = self.console.engine.upstreams.show(visit.part("name")).view
        held = held_by_upstream(self.console).get(view.name, 0)
        stands = words.breaker_says(view, held)
        return Ask(
            title=self.verb.title.format(view.name),
            sentences=[f"It is {words.spoken(view.gate)} now. {stands}", self.verb.says],
            touches=f"This touches 1 upstream and {words.plural(held, 'held job')}.",
            verb=self.verb.button,
            back=f"/upstreams/{quote(view.name, safe='')}",
            dangerous=self.verb.dangerous,
        )

    def do(self, visit: Visit) -> Done:
        """Do it."""
        name = visit.part("name")
        self.deed(name, by=visit.who.name, reason=visit.reason())
        return Done(f"/upstreams/{quote(name, safe='')}", self.verb.word)


def _line(view: UpstreamView, held: int) -> UpstreamLine:
    word = words.breaker_word(view)
    share = view.share
    easing = view.gate is Gate.CLOSED and share is not None and 0 < share < 1
    tone = words.BAD if word == "open" else words.tone(word)
    gate = Gate.OPEN if word == "paused" else view.gate
    return UpstreamLine(
        view.name,
        word,
        words.WARN if easing else tone,
        words.breaker_says(view, held),
        charts.circuit(gate, trickle=easing),
    )


def _rate(rate: RateView) -> list[tuple[str, str]]:
    if rate.room_at is None:
        left = f"for {words.plural(rate.room, 'call')}"
    else:
        left = f"none for {span(rate.room_at - rate.read_at)}"
    return [
        ("Rate", str(rate.rate)),
        ("Room", f"{left}; jobs wait for it" if rate.is_short else left),
        ("Given to workers", words.plural(rate.out, "call")),
        ("Calls so far", str(rate.begun)),
    ]


def _policy(view: UpstreamView, breaker: Breaker) -> list[tuple[str, str]]:
    rules = []
    if breaker.consecutive is not None:
        rules.append(f"{breaker.consecutive} failures in a row")
    if breaker.failure_rate is not None:
        over = (
            f"the last {breaker.over_calls} calls"
            if breaker.over_calls is not None
            else f"the last {span(int((breaker.over_seconds or 0) * SECOND_US))}"
        )
        rules.append(f"{breaker.failure_rate:.0%} of {over}")
    needed = breaker.successes or breaker.trials
    return [
        ("Opens after", ", or ".join(rules)),
        ("Cools down for", span(int((view.cooldown_s or 0) * SECOND_US))),
        ("Trials", f"{breaker.trials}, of which {needed} must succeed"),
        ("Mode", words.spoken(breaker.mode)),
    ]


def _calls(console: Console, view: UpstreamView) -> Markup | None:
    """Return the calls of the last hour, minute by minute; None when there were none."""
    engine = console.engine
    calls = engine.upstreams.callers()
    counts: Counter[tuple[int, bool]] = Counter()
    for row in engine.activity(since=timeline.HOUR_S):
        # What was held without a failure was not called.
        called = calls.get((row.pipeline, row.stage)) == view.name
        if called and (row.event in _FINE or row.error_class):
            counts[row.minute, row.event in _FINE] += row.count
    if not counts:
        return None
    minutes = timeline.last_hour(view.read_at)
    values = [(counts[minute, True], counts[minute, False]) for minute in minutes]
    fine, failed = (sum(value[index] for value in values) for index in range(len(_CALLS)))
    label = f"In the last hour {fine} calls were fine and {failed} failed"
    return timeline.bars(minutes, values, _CALLS, label=label)
