"""`holdfast dead show`: all that is known of a dead letter."""

from __future__ import annotations

from collections.abc import Sequence

import click

from holdfast.cli.dead_letters.styles import standing_of
from holdfast.cli.jobs.history_table import print_history
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.output import Cell, Column, Output
from holdfast.cli.shell.program import Command
from holdfast.core.dead_letter.dead_letter import WAITING_STANDINGS
from holdfast.store.tables.audit import AuditEntry
from holdfast.views.dead_letter import LetterReport, LetterView
from holdfast.views.delivery import DeliveryView
from holdfast.views.durations import clock, when
from holdfast.views.explain.advice import MOVERS
from holdfast.views.explain.dead_letter import situation


@click.command(
    "show", cls=Command, example="holdfast dead show 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48"
)
@click.argument("letter_id", metavar="ID")
@pass_invocation
def show_letter(invocation: Invocation, letter_id: str) -> None:
    """Show why a job failed for good, what was done about it, and what comes next."""
    output = invocation.output
    report = invocation.engine().dead.show(letter_id)
    view = report.view
    sentences = [each.with_command for each in situation(view)]
    if output.as_json:
        output.document({**report.to_document(), "situation": sentences})
        return
    output.line(f"Dead letter {view.id}", style="bold")
    for sentence in sentences:
        output.line(sentence)
    output.line()
    output.facts(_facts(report))
    output.heading("Error")
    output.facts(_error(view))
    for line in view.letter.stack.splitlines():
        output.line(f"    {line}")
    if report.deliveries:
        _print_deliveries(output, report.deliveries)
    if report.actions:
        _print_actions(output, report.actions)
    if view.job is not None:
        print_history(output, report.history, begun=view.job.created_at)


def _facts(report: LetterReport) -> list[tuple[str, Cell]]:
    view = report.view
    letter, now = view.letter, view.read_at
    context = view.sanitized_context()
    payload = context["payload"]
    allowed = "" if report.attempts_allowed is None else f" of {report.attempts_allowed}"
    return [
        ("standing", standing_of(view)),
        *_advice(view),
        ("pipeline", letter.pipeline),
        ("stage", f"{letter.stage}, attempt {letter.attempts}{allowed}"),
        ("upstream", report.upstream),
        ("queue", letter.queue),
        ("owner", letter.owner or None),
        ("key", context["key"]),
        ("trace", context["trace"]),
        ("payload", f"{payload['bytes']} bytes, sha256 {payload['sha256']}…" if payload else None),
        ("worker", letter.holder),
        ("first failure", when(letter.first_failure_at, now)),
        ("last failure", when(letter.last_failure_at, now)),
        ("fingerprint", letter.fingerprint),
        ("cause", None if letter.cause is None else letter.cause.value),
        ("evidence", letter.evidence),
        ("note", letter.note),
        ("replayed", when(letter.replayed_at, now)),
        ("resolved", when(letter.resolved_at, now)),
    ]


def _advice(view: LetterView) -> list[tuple[str, Cell]]:
    advice = view.advice
    if advice is None or view.standing not in WAITING_STANDINGS:
        return []
    likely = "left open" if advice.cause is None else advice.cause.value
    return [
        ("whose move", MOVERS[advice.mover]),
        ("likely cause", likely),
        ("what to do", advice.action),
        ("runbook", advice.runbook),
    ]


def _error(view: LetterView) -> list[tuple[str, Cell]]:
    letter = view.letter
    return [
        ("error code", None if view.public is None else view.public.code),
        ("error class", letter.error_class),
        ("message", letter.message),
        ("category", letter.category.value),
        ("retryable", "yes" if letter.retryable else "no"),
        ("http status", letter.http_status),
        ("exception type", letter.exception_type or None),
        ("answer", view.answer),
        ("class before", letter.previous_class),
    ]


def _print_deliveries(output: Output, deliveries: Sequence[DeliveryView]) -> None:
    output.heading("Deliveries")
    output.table(
        (
            Column("  ID", least=36),
            Column("STATE", least=7),
            Column("RECIPIENT"),
            Column("SENDS", numeric=True),
            Column("CLASS"),
            Column("", elastic=True),
        ),
        (
            (
                f"  {view.id}",
                view.state.value,
                view.recipient,
                view.delivery.attempts,
                view.delivery.error_class,
                view.error,
            )
            for view in deliveries
        ),
    )


def _print_actions(output: Output, actions: Sequence[AuditEntry]) -> None:
    output.heading("What was done")
    output.table(
        (Column("  TIME"), Column("ACTION"), Column("BY"), Column("", elastic=True)),
        (
            (f"  {clock(entry.at)}", entry.action, entry.done_by, _remark(entry))
            for entry in reversed(actions)
        ),
    )


def _remark(entry: AuditEntry) -> str:
    detail = entry.detail or {}
    said = [str(detail["cause"])] if entry.action == "triaged" and detail.get("cause") else []
    if detail.get("from_start"):
        said.append("from the start")
    if entry.reason:
        said.append(entry.reason)
    return " · ".join(said)
