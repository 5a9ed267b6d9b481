"""`holdfast upstreams`: how their breakers stand, and holding them open or closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Cell, Column, Styled
from holdfast.cli.shell.program import Command, Group
from holdfast.core.upstream.breaker import Admits
from holdfast.core.upstream.upstream import FailedCall, Gate
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.store.tables.audit import AuditEntry
from holdfast.views.durations import clock, span, when
from holdfast.views.explain.waiting import holds
from holdfast.views.upstream import CallingStage, RateView, UpstreamView

_WORDS: Final = {
    Gate.CLOSED: Styled("closed", "green"),
    Gate.OPEN: Styled("open", "red"),
    Gate.HALF_OPEN: Styled("half-open", "yellow"),
}
_COLUMNS: Final = (
    Column("UPSTREAM"),
    Column("BREAKER"),
    Column("SINCE", numeric=True),
    Column("UNTIL", numeric=True),
    Column("SHARE", numeric=True),
    Column("", elastic=True),
)
_RECORD: Final = (
    Column("  TIME"),
    Column("ACTION"),
    Column("BY"),
    Column("", elastic=True),
)
_FAILURES: Final = (
    Column("  TIME"),
    Column("JOB"),
    Column("CLASS"),
    Column("MESSAGE", elastic=True),
)

_F = TypeVar("_F", bound=Callable[..., Any])


@click.group("upstreams", cls=Group)
def upstreams() -> None:
    """Look at upstreams and their breakers; hold one open or closed."""


def _about_one(command: _F) -> _F:
    for option in (
        by_option,
        click.option("--reason", type=text, help="Why; kept in the audit log."),
        click.argument("upstream", type=text),
    ):
        command = option(command)
    return command


@upstreams.command("list", cls=Command, example="holdfast upstreams list")
@pass_invocation
def list_upstreams(invocation: Invocation) -> None:
    """List every upstream that stages call, and how its breaker stands."""
    output = invocation.output
    found = invocation.engine().upstreams.list()
    if output.as_json:
        for view in found:
            output.document(view.to_document())
    elif found:
        output.table(_COLUMNS, map(_row, found))
    else:
        output.remark("No stage calls an upstream, and nothing is known about any.")


@upstreams.command("show", cls=Command, example="holdfast upstreams show gateway")
@click.argument("upstream", type=text)
@pass_invocation
def show_upstream(invocation: Invocation, upstream: str) -> None:
    """Show all that is known of an upstream, and what was recently done to it."""
    output = invocation.output
    found = invocation.engine().upstreams
    view, actions = found.show(upstream)
    held = found.due(view.name) if holds(view) else []
    if output.as_json:
        document = {**view.to_document(), "held_jobs": sum(stage.due for stage in held)}
        output.document({**document, "record": [_action_document(one) for one in actions]})
        return
    state, now = view.state, view.read_at
    output.line(f"Upstream {view.name}", style="bold")
    output.line(_sentence(view))
    output.line()
    share = view.share
    output.facts(
        (
            ("breaker", _WORDS[view.gate]),
            ("since", when(view.since, now)),
            ("why", state.reason),
            ("next call", when(view.until, now)),
            ("paused until", when(view.paused_until, now)),
            ("let through", None if share is None else f"{share:.0%}"),
            ("rate", None if view.rate is None else str(view.rate.rate)),
            ("room", None if view.rate is None else _room(view.rate, now)),
            ("held by", state.forced_by),
            ("because", state.forced_reason),
            ("failed trials", str(state.reopenings) if state.reopenings else None),
            ("trials", f"{view.trials} under way" if view.trials else None),
            ("recent calls", _recent(view)),
            ("held jobs", str(sum(stage.due for stage in held)) if held else None),
            *(("to list them", _listing(stage)) for stage in held),
        )
    )
    if state.failures:
        output.heading("Failures that opened it" if view.gate is not Gate.CLOSED else "Failures")
        output.table(_FAILURES, (_failure_row(call) for call in reversed(state.failures)))
    if actions:
        output.heading("Record")
        output.table(_RECORD, (_action_row(one) for one in actions))


@upstreams.command(
    "open", cls=Command, example='holdfast upstreams open gateway --reason "maintenance until noon"'
)
@_about_one
@pass_invocation
def open_upstream(
    invocation: Invocation, upstream: str, by: str | None, reason: str | None
) -> None:
    """Hold a breaker open: nothing is let through until it is closed or reset by hand."""
    engine = invocation.engine()
    _tell(invocation, engine.upstreams.force_open(upstream, by=by or os_user(), reason=reason))


@upstreams.command(
    "close", cls=Command, example='holdfast upstreams close gateway --reason "it is back"'
)
@_about_one
@pass_invocation
def close_upstream(
    invocation: Invocation, upstream: str, by: str | None, reason: str | None
) -> None:
    """Hold a breaker closed: everything is let through, whatever fails, until it is reset."""
    engine = invocation.engine()
    _tell(invocation, engine.upstreams.force_closed(upstream, by=by or os_user(), reason=reason))


@upstreams.command("reset", cls=Command, example="holdfast upstreams reset gateway")
@_about_one
@pass_invocation
def reset_upstream(
    invocation: Invocation, upstream: str, by: str | None, reason: str | None
) -> None:
    """Let go of a breaker and forget what it has seen: closed, and moving by itself again."""
    engine = invocation.engine()
    _tell(invocation, engine.upstreams.reset(upstream, by=by or os_user(), reason=reason))


@upstreams.command("probe", cls=Command, example="holdfast upstreams probe gateway")
@_about_one
@pass_invocation
def probe_upstream(
    invocation: Invocation, upstream: str, by: str | None, reason: str | None
) -> None:
    """Have the next trial made now: ends a cooldown, and a pause that the upstream asked for."""
    engine = invocation.engine()
    _tell(invocation, engine.upstreams.probe(upstream, by=by or os_user(), reason=reason))


def _tell(invocation: Invocation, view: UpstreamView) -> None:
    if invocation.as_json:
        invocation.output.document(view.to_document())
    else:
        invocation.output.line(_sentence(view))


def _sentence(view: UpstreamView) -> str:
    """Return how the upstream stands and whose move it is."""
    state, now, subject = view.state, view.read_at, f"The breaker of {view.name}"
    if state.forced is not None:
        what = "nothing" if state.forced is Gate.OPEN else "everything"
        return (
            f"{subject} is held {state.forced.value} by {state.forced_by}: {what} is let through; "
            f"to let go of it: holdfast upstreams reset {view.name}"
        )
    if view.paused_until is not None:
        left = span(view.paused_until - now)
        return f"{view.name} asked to be left alone for another {left}; its jobs are held."
    match view.gate:
        case Gate.CLOSED if view.rate is not None:
            short = "; jobs wait for room" if view.rate.is_short else ""
            return f"{subject} is closed: calls go through, {view.rate.rate}{short}."
        case Gate.CLOSED:
            return f"{subject} is closed: calls go through."
        case Gate.OPEN if view.admission.admits is Admits.NOTHING and view.until is not None:
            why = f" because {state.reason}" if state.reason else ""
            return f"{subject} is open{why}; a trial may be made in {span(view.until - now)}."
        case Gate.OPEN:
            return f"{subject} is open; the next call is a trial."
    return f"{subject} is half-open: trials decide whether it closes."


def _row(view: UpstreamView) -> list[Cell]:
    now, share = view.read_at, view.share
    return [
        view.name,
        _WORDS[view.gate],
        "" if view.since is None else f"{span(now - view.since)} ago",
        "" if view.until is None else f"in {span(view.until - now)}",
        "" if share is None else f"{share:.0%}",
        _remark(view),
    ]


def _remark(view: UpstreamView) -> str:
    """Return the one thing worth knowing of an upstream in a list."""
    state = view.state
    if state.forced is not None:
        why = f": {state.forced_reason}" if state.forced_reason else ""
        return f"held {state.forced.value} by {state.forced_by}{why}"
    if view.paused_until is not None:
        return "asked to be left alone"
    if view.gate is Gate.HALF_OPEN:
        return f"{_trials(view.trials)} under way, {state.successes} succeeded"
    if view.gate is Gate.OPEN:
        failed = f", {_trials(state.reopenings)} failed" if state.reopenings else ""
        return f"{'waits for a trial' if view.until is None else 'cooling down'}{failed}"
    if view.rate is not None:
        short = ", and jobs wait for room" if view.rate.is_short else ""
        return f"{view.rate.rate}{short}"
    return _recent(view) or ""


def _room(rate: RateView, now: Instant) -> str:
    """Return how many calls could begin, or when one may, and whether jobs wait for it."""
    waits = "; jobs wait for it" if rate.is_short else ""
    if rate.room_at is not None:
        return f"none for {span(rate.room_at - now)}{waits}"
    return f"for {rate.room} of {rate.rate.at_once}{waits}"


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _recent(view: UpstreamView) -> str | None:
    samples = view.state.samples
    if not samples:
        return None
    failed = sum(sample.failed for sample in samples)
    calls = failed + sum(sample.fine for sample in samples)
    return f"{failed} of {calls} failed"


def _listing(stage: CallingStage) -> str:
    of_stage = f"--pipeline {stage.pipeline} --stage {stage.stage}"
    return f"holdfast jobs list --label held {of_stage}"


def _failure_row(call: FailedCall) -> list[Cell]:
    job = call.job_id or "probe"
    return [f"  {clock(call.at)[:19]}", job, call.error_class, call.message]


def _action_document(entry: AuditEntry) -> dict[str, Any]:
    return {**entry._asdict(), "at": to_rfc3339(entry.at)}


def _action_row(entry: AuditEntry) -> list[Cell]:
    return [f"  {clock(entry.at)[:19]}", entry.action, entry.done_by, entry.reason]
