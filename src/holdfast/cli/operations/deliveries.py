"""`holdfast deliveries`: who has been notified, who has not, and who nobody knows about."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import click

from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import duration_or_moment, instant, text
from holdfast.cli.shell.output import Cell, Column, Output, Styled
from holdfast.cli.shell.paging import limit_option, tell_next_page
from holdfast.cli.shell.program import Command, Group
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.delivery.event import Word
from holdfast.engine.arguments import LONGEST_PAGE
from holdfast.engine.deliveries import LOOKUPS_A_SECOND, MAX_MISSING
from holdfast.store.tables.deliveries import DeliveryFilter
from holdfast.views.delivery import DeliveryReport, DeliveryView, Reconciliation
from holdfast.views.durations import clock, short, when
from holdfast.views.explain.delivery import situation

_STYLES: Final = {
    DeliveryState.SENDING: "cyan",
    DeliveryState.SENT: "green",
    DeliveryState.FAILED: "red",
    DeliveryState.UNKNOWN: "bold red",
}
_UNSENT: Final = tuple(state for state in DeliveryState if state is not DeliveryState.SENT)
_COLUMNS: Final = (
    Column("ID", least=36),
    Column("STATE", least=7),
    Column("SUBJECT"),
    Column("RECIPIENT"),
    Column("VERSION", numeric=True),
    Column("PROVIDER"),
    Column("ATTEMPTS", numeric=True),
    Column("AGE", numeric=True),
    Column("", elastic=True),
)


def delivery_states(given: str) -> tuple[DeliveryState, ...]:
    """Return states of deliveries, one or several with commas between them."""
    try:
        return tuple(DeliveryState(name.strip().lower()) for name in given.split(","))
    except ValueError:
        message = f"{given!r} must be one of {', '.join(DeliveryState)}."
        raise click.BadParameter(message) from None


@click.group("deliveries", cls=Group)
def deliveries() -> None:
    """Look after deliveries: what recipients are sent, each once."""


@deliveries.command("list", cls=Command, example="holdfast deliveries list --state unknown")
@click.option(
    "-s",
    "--state",
    type=delivery_states,
    metavar="STATE",
    multiple=True,
    help=f"Deliveries in this state: {', '.join(DeliveryState)}. Without it, all but those sent.",
)
@click.option("--provider", type=text, help="Deliveries through this provider.")
@click.option("--subject", type=text, help="Deliveries about this subject.")
@click.option("--recipient", type=text, help="Deliveries to this very recipient.")
@click.option("--job", "job_id", type=text, help="Deliveries that this job waits for.")
@click.option("--error-class", type=text, help="Deliveries that failed last with this class.")
@click.option(
    "--since",
    type=duration_or_moment,
    metavar="TIME",
    help="Deliveries made since then: a time, or how long ago, such as 1h.",
)
@click.option(
    "--until", type=duration_or_moment, metavar="TIME", help="Deliveries made before then."
)
@limit_option
@click.option("--before", type=text, metavar="ID", help="Only older ones: the next page.")
@pass_invocation
def list_deliveries(
    invocation: Invocation,
    /,
    *,
    state: tuple[tuple[DeliveryState, ...], ...],
    since: float | datetime | None,
    until: float | datetime | None,
    limit: int,
    before: str | None,
    **texts: str | None,
) -> None:
    """List deliveries, the newest first; those that were sent only when asked for."""
    engine, output = invocation.engine(), invocation.output
    now = engine.clock.now()
    states = tuple(dict.fromkeys(one for group in state for one in group)) or _UNSENT
    wanted = DeliveryFilter(
        states=states,
        created_since=instant(since, now),
        created_until=instant(until, now),
        **texts,  # type: ignore[arg-type]
    )
    page = engine.deliveries.find(wanted, before=before, limit=limit)
    if output.as_json:
        for view in page:
            output.document(view.to_document())
        return
    if not page:
        output.remark("No delivery matches; those that were sent are listed by: --state sent")
        return
    output.table(_COLUMNS, map(_row, page))
    tell_next_page(output, page, limit=limit)


@deliveries.command(
    "show", cls=Command, example="holdfast deliveries show 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48"
)
@click.argument("delivery_id", metavar="ID")
@pass_invocation
def show_delivery(invocation: Invocation, delivery_id: str) -> None:
    """Show how a delivery stands, each send and lookup, what was done, and whose move it is."""
    output = invocation.output
    report = invocation.engine().deliveries.show(delivery_id)
    sentences = [each.with_command for each in situation(report.view)]
    if output.as_json:
        output.document({**report.to_document(), "situation": sentences})
        return
    output.line(f"Delivery {report.view.id}", style="bold")
    for sentence in sentences:
        output.line(sentence)
    output.line()
    output.facts(_facts(report.view))
    if report.log:
        _print_log(output, report)
    if report.actions:
        _print_actions(output, report)


@deliveries.command(
    "resolve",
    cls=Command,
    example="holdfast deliveries resolve 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48 --as sent",
)
@click.argument("delivery_ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--as",
    "word",
    type=click.Choice([word.value for word in Word]),
    required=True,
    help="sent: the recipient has been told. resend: send it, though it may be told twice. "
    "fail: it is not to be told.",
)
@click.option("--reason", type=text, help="How that is known, or why; kept in the audit log.")
@click.option("--by", type=text, help="Who says so; the user of this system by default.")
@pass_invocation
def resolve_deliveries(
    invocation: Invocation,
    delivery_ids: tuple[str, ...],
    word: str,
    reason: str | None,
    by: str | None,
) -> None:
    """Say what became of deliveries, or what is to become of them: of unknown and failed ones."""
    engine, output = invocation.engine(), invocation.output
    for delivery_id in delivery_ids:
        view = engine.deliveries.resolve(delivery_id, word, by=by or os_user(), reason=reason)
        if output.as_json:
            output.document(view.to_document())
        else:
            output.words(f"{view.id}  ", _state(view))


@deliveries.command("reconcile", cls=Command, example="holdfast deliveries reconcile")
@click.option(
    "--since",
    type=duration_or_moment,
    metavar="TIME",
    help="Only deliveries made since then: a time, or how long ago, such as 6h.",
)
@click.option("--provider", type=text, help="Only deliveries through this provider.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 10_000_000),
    default=LONGEST_PAGE,
    show_default=True,
    help="At most this many.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0.01, LONGEST_PAGE),
    default=LOOKUPS_A_SECOND,
    show_default=True,
    help="Lookups a second.",
)
@click.option(
    "--stop-after",
    type=click.IntRange(1, LONGEST_PAGE),
    default=MAX_MISSING,
    show_default=True,
    help="Stop when a provider knows nothing of so many in a row that were marked as sent.",
)
@pass_invocation
def reconcile_deliveries(
    invocation: Invocation,
    *,
    since: float | datetime | None,
    provider: str | None,
    limit: int,
    rate: float,
    stop_after: int,
) -> None:
    """Compare deliveries with what their providers know, and put right what differs.

    What a provider has, and nobody had marked, is marked and not sent again: after a backup was
    restored, run this before the workers. What is marked, and the provider does not have, is sent
    again. Needs the app, because it calls its providers.
    """
    engine, output = invocation.application(), invocation.output
    told = engine.deliveries.reconcile(
        since=since, provider=provider, limit=limit, rate=rate, stop_after=stop_after
    )
    if output.as_json:
        output.document(told.to_document())
    else:
        output.facts(_summary(told))
    if told.stopped:
        output.remark(
            "Stopped: the provider knows nothing of what was marked as sent. Is its key that of "
            "another account? Nothing more is taken back."
        )
    if told.stopped or told.unavailable:
        click.get_current_context().exit(ExitCode.FAILED)


def _row(view: DeliveryView) -> list[Cell]:
    row = view.delivery
    return [
        view.id,
        _state(view),
        row.subject,
        view.recipient,
        row.version,
        row.provider,
        row.attempts,
        short(view.read_at - row.created_at),
        row.error_class,
    ]


def _state(view: DeliveryView) -> Cell:
    style = _STYLES.get(view.state)
    return view.state.value if style is None else Styled(view.state.value, style)


def _facts(view: DeliveryView) -> list[tuple[str, Cell]]:
    row, now = view.delivery, view.read_at
    return [
        ("state", _state(view)),
        ("subject", row.subject),
        ("recipient", view.recipient),
        ("version", row.version),
        ("provider", row.provider),
        ("token", row.token),
        ("job", row.job_id),
        ("stage", row.stage),
        ("required", "yes" if row.required else "no"),
        ("attempts", row.attempts),
        ("lookups", row.lookups or None),
        ("made", when(row.created_at, now)),
        ("first send in doubt", when(row.began_at, now)),
        ("notification id", row.notification_id),
        ("notified", when(row.notified_at, now)),
        ("confirmed", when(row.checked_at, now)),
        ("courier", row.holder),
        ("error class", row.error_class),
        ("error", view.error),
    ]


def _print_log(output: Output, report: DeliveryReport) -> None:
    output.heading("Sends and lookups")
    output.table(
        (
            Column("  TIME"),
            Column("SEND", numeric=True),
            Column("OUTCOME"),
            Column("CLASS"),
            Column("STATUS", numeric=True),
            Column("WORKER"),
            Column("", elastic=True),
        ),
        (
            (
                f"  {clock(line.at)}",
                line.attempt,
                line.outcome.value,
                line.error_class,
                line.http_status,
                line.holder,
                line.message or line.notification_id,
            )
            for line in report.log
        ),
    )


def _print_actions(output: Output, report: DeliveryReport) -> None:
    output.heading("What was done")
    output.table(
        (Column("  TIME"), Column("ACTION"), Column("BY"), Column("", elastic=True)),
        (
            (f"  {clock(entry.at)}", entry.action, entry.done_by, entry.reason or "")
            for entry in reversed(report.actions)
        ),
    )


def _summary(told: Reconciliation) -> list[tuple[str, Cell]]:
    return [
        ("compared", told.checked),
        ("confirmed", told.confirmed),
        ("found, and marked now", told.found),
        ("missing", told.missing),
        ("sent again", len(told.sent_again)),
        ("no answer", told.unavailable),
        ("cannot be asked about", told.skipped),
    ]
