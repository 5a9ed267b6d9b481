"""The list of dead letters."""

from __future__ import annotations

from typing import Any, Final

from markupsafe import Markup
from starlette.responses import Response

from holdfast.console import words
from holdfast.console.charts import charts, timeline
from holdfast.console.pages.dead_letters.groups import group_lines, group_of
from holdfast.console.rendering.rendering import LOOK, Console
from holdfast.console.requests.tabs import Tab
from holdfast.console.requests.visit import Visit
from holdfast.core.dead_letter.dead_letter import WAITING, LetterState
from holdfast.errors import InvalidValue, UsageError
from holdfast.store.tables.dead_letters import LetterFilter, LetterGroup
from holdfast.views.dead_letter import LetterView
from holdfast.views.explain.advice import MOVERS

PAGE: Final = 50
_FAILED: Final = (charts.Series("failed", "bad"),)
INPUTS: Final = (
    ("pipeline", "Pipeline"),
    ("stage", "Stage"),
    ("owner", "Owner"),
    ("error_class", "Error class"),
    ("fingerprint", "Fingerprint"),
)
_STATES: Final = (
    ("Waiting", None),
    ("Open", "open"),
    ("Escalated", "escalated"),
    ("Triaged", "triaged"),
    ("Remediated", "remediated"),
    ("Replayed", "replayed"),
    ("Resolved", "resolved"),
)


def add_to(console: Console) -> None:
    """Route to the list."""
    console.page("/dead-letters", LOOK, lambda visit: letters(console, visit))


def letters(console: Console, visit: Visit) -> Response:
    """Return matching letters, newest job first; those that wait for a person unless asked."""
    engine, trouble = console.engine, None
    found: list[LetterView] = []
    state = visit.asked("state")
    try:
        wanted = _wanted(visit, state)
        found = engine.dead.find(
            wanted, before=visit.asked("before"), limit=PAGE + 1, owner=visit.owner
        )
    except UsageError as error:
        trouble = str(error)
    fingerprint = visit.asked("fingerprint")
    shown = [console.shown_to(visit).letter(view) for view in found[:PAGE]]
    return console.render(
        visit,
        "letters.html",
        screen="letters",
        status=200 if trouble is None else 422,
        letters=shown,
        group=None if fingerprint is None else _group(console, visit, fingerprint),
        movers=MOVERS,
        filtered=state is not None or any(visit.asked(name) for name, _ in INPUTS),
        states=[] if state is None else [state],
        inputs=[
            (name, label, visit.asked(name) or "")
            for name, label in INPUTS
            if name != "owner" or visit.owner is None
        ],
        tabs=[
            Tab(name, visit.href(state=value, before=None), value == state)
            for name, value in _STATES
        ],
        next_href=visit.href(before=shown[-1].id) if len(found) > PAGE else None,
        first_href=visit.href(before=None) if visit.asked("before") else None,
        trouble=trouble,
    )


def _group(console: Console, visit: Visit, fingerprint: str) -> dict[str, Any] | None:
    group = group_of(console, fingerprint, visit.owner)
    if group is None:
        return None
    shown = console.shown_to(visit)
    calls = {} if shown.end_user else console.engine.upstreams.callers()
    upstreams = {calls.get((pipeline, group.stage)) for pipeline in group.pipelines} - {None}
    return {
        **group_lines([group], shown)[0],
        "upstreams": sorted(filter(None, upstreams)),
        "times": _times(console, visit, group),
    }


def _times(console: Console, visit: Visit, group: LetterGroup) -> Markup:
    """Return when the letters of a group failed, as bars over time."""
    starts, step_us = timeline.spans(group.first_failure_at, group.last_failure_at)
    counts = console.engine.dead.times(
        group.fingerprint, first=starts[0], step_us=step_us, owner=visit.owner
    )
    values = [(counts.get(index, 0),) for index in range(len(starts))]
    label = f"{words.plural(group.letters, 'letter')} by when they failed"
    return timeline.bars(starts, values, _FAILED, label=label, height=timeline.LOW)


def _wanted(visit: Visit, state: str | None) -> LetterFilter:
    named: dict[str, Any] = {name: visit.asked(name) for name, _ in INPUTS}
    asked = LetterFilter(**named)
    if state is None:
        return asked._replace(states=tuple(sorted(WAITING)))
    if state == "escalated":
        return asked._replace(states=(LetterState.OPEN,), escalated=True)
    try:
        return asked._replace(states=(LetterState(state),))
    except ValueError:
        known = ", ".join(LetterState)
        raise InvalidValue(
            "dead letters", field="state", value=state, limit=f"one of {known}"
        ) from None
