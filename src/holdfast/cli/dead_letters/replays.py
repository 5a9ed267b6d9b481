"""`holdfast dead replays`: list them, show one, cancel one."""

from __future__ import annotations

from typing import Final

import click

from holdfast.cli.dead_letters.remark_table import print_with_remarks
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option
from holdfast.cli.shell.output import Cell, Column, Output, Styled
from holdfast.cli.shell.program import Command
from holdfast.core.dead_letter.replay import Item, ReplayState
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import UsageError
from holdfast.views.durations import short, when
from holdfast.views.explain.replay import progress_of
from holdfast.views.replay import ReplayView

PAGE: Final = 50
_COLUMNS: Final = (
    Column("ID", least=36),
    Column("STATE", least=9),
    Column("LETTERS", numeric=True),
    Column("AGE", numeric=True),
    Column("BY"),
    Column("", elastic=True),
)
_ITEMS: Final = (
    Column("  POSITION", numeric=True),
    Column("LETTER", least=36),
    Column("STATE"),
    Column("", elastic=True),
)
_STYLES: Final = {
    ReplayState.CANARY: "cyan",
    ReplayState.RUNNING: "cyan",
    ReplayState.DONE: "green",
    ReplayState.STOPPED: "red",
    ReplayState.CANCELLED: "dim",
}


@click.command("replays", cls=Command, example="holdfast dead replays --limit 5")
@click.argument("replay_id", metavar="[REPLAY]", required=False)
@click.option("--cancel", is_flag=True, help="Send nothing more; what was sent goes on.")
@click.option("--reason", help="Why it is cancelled.")
@by_option
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 10_000),
    default=PAGE,
    show_default=True,
    help="At most this many replays, or letters of the one.",
)
@pass_invocation
def list_replays(
    invocation: Invocation,
    replay_id: str | None,
    reason: str | None,
    by: str | None,
    limit: int,
    *,
    cancel: bool,
) -> None:
    """List replays of many letters, the newest first; or show one, with its letters."""
    engine, output = invocation.engine(), invocation.output
    if replay_id is None:
        if cancel:
            raise UsageError("say which replay to cancel; holdfast dead replays lists them")
        _list(output, engine.replays.latest(limit=limit), engine.clock.now())
        return
    if cancel:
        view = engine.replays.cancel(replay_id, by=by or os_user(), reason=reason)
        if output.as_json:
            output.document(view.to_document())
        else:
            output.line(f"{view.id}  cancelled")
        return
    view = engine.replays.show(replay_id)
    items = engine.replays.items(replay_id, limit=limit)
    if output.as_json:
        output.document({**view.to_document(), "items": [_document(item) for item in items]})
        return
    output.line(f"Replay {view.id}", style="bold")
    output.facts(_facts(view, engine.clock.now()))
    output.heading("Letters")
    output.table(_ITEMS, ((item.position, item.letter_id, item.state, item.note) for item in items))
    if len(items) == limit:
        output.remark("There may be more; --limit shows them.")


def _list(output: Output, views: list[ReplayView], now: Instant) -> None:
    if output.as_json:
        for view in views:
            output.document(view.to_document())
    elif views:
        print_with_remarks(output, _COLUMNS, [_row(view, now) for view in views])
    else:
        output.remark("There are no replays.")


def _row(view: ReplayView, now: Instant) -> list[Cell]:
    replay, counts = view.replay, view.counts
    return [
        view.id,
        _state(view),
        counts.total,
        short(now - replay.created_at),
        replay.asked_by,
        f"{replay.name}: {progress_of(counts)}",
    ]


def _state(view: ReplayView) -> Styled:
    return Styled(view.state.value, _STYLES.get(view.state, ""))


def _facts(view: ReplayView, now: Instant) -> list[tuple[str, Cell]]:
    replay, counts = view.replay, view.counts
    every_us = replay.every_us
    return [
        ("state", _state(view)),
        ("name", replay.name),
        ("asked by", replay.asked_by),
        ("reason", replay.reason),
        ("note", replay.note),
        ("started", when(replay.created_at, now)),
        ("last step", when(replay.updated_at, now)),
        ("from start", "yes" if replay.from_start else None),
        ("canary", replay.canary),
        ("rate", f"{SECOND_US / every_us:g} a second" if every_us else "as fast as can be"),
        ("stop after", replay.stop_after or "never"),
        *((name.replace("_", " "), count) for name, count in counts._asdict().items() if count),
    ]


def _document(item: Item) -> dict[str, object]:
    return {
        "position": item.position,
        "letter_id": item.letter_id,
        "state": item.state.value,
        "note": item.note,
    }
