"""`holdfast outbox`: what is to be published, and having it tried again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import click

from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Cell, Column, Output, Styled
from holdfast.cli.shell.paging import limit_option
from holdfast.cli.shell.program import Command, Group
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import OutboxMessage, OutboxStatus
from holdfast.engine.app import Holdfast
from holdfast.engine.outbox import message_document
from holdfast.errors import ConflictError, UsageError
from holdfast.redaction.printable import json_text
from holdfast.store.tables.outbox import OutboxFilter, Standing
from holdfast.views.durations import short, span, when

CHUNK: Final = 500
_ID_LENGTH: Final = 36
_STYLES: Final = {
    OutboxStatus.PENDING: "yellow",
    OutboxStatus.PUBLISHED: "green",
    OutboxStatus.FAILED: "red",
}
_COLUMNS: Final = (
    Column("ID", least=_ID_LENGTH),
    Column("TYPE"),
    Column("AGGREGATE"),
    Column("STATUS"),
    Column("TRIES", numeric=True),
    Column("AGE", numeric=True),
    Column("", elastic=True),
)


@click.group("outbox", cls=Group)
def outbox() -> None:
    """Look at messages that a relay publishes, and have them tried again."""


def _status(given: str) -> OutboxStatus:
    try:
        return OutboxStatus(given.strip().lower())
    except ValueError:
        message = f"{given!r} must be one of {', '.join(OutboxStatus)}."
        raise click.BadParameter(message) from None


@outbox.command("list", cls=Command, example="holdfast outbox list --limit 20")
@click.option("-s", "--status", type=_status, metavar="STATUS", help="Messages of this status.")
@click.option("--type", "message_type", type=text, help="Messages of this type.")
@click.option("--aggregate", type=text, help="Messages about this aggregate.")
@limit_option
@click.option("--before", type=text, help="Messages older than this one, for the next page.")
@pass_invocation
def list_messages(
    invocation: Invocation,
    status: OutboxStatus | None,
    message_type: str | None,
    aggregate: str | None,
    before: str | None,
    *,
    limit: int,
) -> None:
    """List messages, newest first, and say how many wait."""
    engine, output = invocation.engine(), invocation.output
    wanted = OutboxFilter(status=status, aggregate_id=aggregate, message_type=message_type)
    found = engine.outbox.find(wanted, before=before, limit=limit)
    now = engine.clock.now()
    if output.as_json:
        for message in found:
            output.document(message_document(message, now))
        return
    if found:
        output.table(_COLUMNS, (_row(message, now) for message in found))
    output.remark(_summary(engine.outbox.standing(), now))


@outbox.command(
    "show", cls=Command, example="holdfast outbox show 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48"
)
@click.argument("message_id", type=text)
@pass_invocation
def show_message(invocation: Invocation, message_id: str) -> None:
    """Show all that is known of a message, its payload included."""
    engine, output = invocation.engine(), invocation.output
    message = engine.outbox.get(message_id)
    now = engine.clock.now()
    if output.as_json:
        output.document(message_document(message, now))
        return
    output.line(f"Message {message.id}", style="bold")
    output.line(_sentence(message, now))
    output.line()
    output.facts(
        (
            ("type", message.message_type),
            ("aggregate", message.aggregate_id),
            ("status", Styled(message.status.value, _STYLES[message.status])),
            ("made", when(message.created_at, now)),
            ("ended", when(message.processed_at, now)),
            ("tries in vain", message.retry_count),
            ("last error", message.error_message),
            ("with relay", message.holder),
            ("trace", message.trace),
        )
    )
    output.heading("Payload")
    output.line(json_text(message_document(message, now)["payload"]))


@outbox.command(
    "retry", cls=Command, example="holdfast outbox retry 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48"
)
@click.argument("message_ids", type=text, nargs=-1, metavar="[MESSAGE_ID]...")
@click.option("--failed", is_flag=True, help="All messages that were given up.")
@click.option("--type", "message_type", type=text, help="Of those, the ones of this type.")
@by_option
@click.option("--reason", type=text, help="Why; kept in the audit log.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_invocation
def retry_messages(
    invocation: Invocation,
    message_ids: tuple[str, ...],
    message_type: str | None,
    by: str | None,
    reason: str | None,
    *,
    failed: bool,
    yes: bool,
) -> None:
    """Have messages tried now, with a new budget: those named, or all that were given up.

    A message that is published stays so: consumers have it.
    """
    engine, output = invocation.engine(), invocation.output
    if bool(message_ids) == failed:
        raise UsageError("name messages, or say --failed for all that were given up")
    wanted = list(message_ids)
    if failed:
        wanted = [message.id for message in _given_up(engine, message_type)]
        _agree(output, len(wanted), yes=yes)
    for message_id in wanted:
        try:
            engine.outbox.retry(message_id, by=by or os_user(), reason=reason)
        except ConflictError:
            if not failed:
                raise
            continue  # it was taken up since it was listed
        if output.as_json:
            output.document({"id": message_id, "status": OutboxStatus.PENDING.value})
        else:
            output.line(f"Message {message_id} is tried again.")
    if failed and not wanted:
        output.remark("No message was given up.")


def _given_up(engine: Holdfast, message_type: str | None) -> Iterator[OutboxMessage]:
    wanted = OutboxFilter(status=OutboxStatus.FAILED, message_type=message_type)
    before: str | None = None
    while page := engine.outbox.find(wanted, before=before, limit=CHUNK):
        yield from page
        if len(page) < CHUNK:
            return
        before = page[-1].id


def _agree(output: Output, count: int, *, yes: bool) -> None:
    """Ask before many messages are touched, where there is a person to ask."""
    if yes or not count:
        return
    question = f"Have {count} messages that were given up tried again?"
    if output.as_json or not sys.stdin.isatty():
        raise UsageError(f"{question} Say --yes to do it")
    click.confirm(question, abort=True, err=True)


def _row(message: OutboxMessage, now: Instant) -> list[Cell]:
    return [
        message.id,
        message.message_type,
        message.aggregate_id,
        Styled(message.status.value, _STYLES[message.status]),
        message.retry_count,
        short(now - message.created_at),
        Styled(_remark(message, now), "dim"),
    ]


def _remark(message: OutboxMessage, now: Instant) -> str:
    if message.status is OutboxStatus.PENDING and message.holder is not None:
        return f"with relay {message.holder}"
    if message.status is OutboxStatus.PENDING and message.run_at > now:
        return f"again in {span(message.run_at - now)}: {message.error_message or ''}"
    return "" if message.status is OutboxStatus.PUBLISHED else message.error_message or ""


def _sentence(message: OutboxMessage, now: Instant) -> str:
    match message.status:
        case OutboxStatus.PUBLISHED:
            return "The broker has it."
        case OutboxStatus.FAILED:
            return (
                f"It was given up: {message.error_message}. Once that is repaired: "
                f"holdfast outbox retry {message.id}"
            )
        case OutboxStatus.PENDING:
            waiting = f"It has been waiting for {span(now - message.created_at)}"
            return f"{waiting}; {_remark(message, now) or 'a relay has yet to take it'}."


def _summary(standing: Standing, now: Instant) -> str:
    parts = [f"{standing.pending} pending"]
    if standing.oldest_pending_at is not None:
        parts.append(f"the oldest for {span(now - standing.oldest_pending_at)}")
    return f"{', '.join(parts)}; {standing.failed} given up."
