"""What happened to a job, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast.cli.shell.output import Cell, Column, Output, Styled
from holdfast.views.durations import clock, span
from holdfast.views.job import HistoryLine


def print_history(output: Output, history: Iterable[HistoryLine], *, begun: int) -> None:
    """Print the history of a job that was made at `begun`, under its heading."""
    output.heading("History")
    output.table(
        (
            Column("  TIME"),
            Column("EVENT"),
            Column("STAGE"),
            Column("ATTEMPT", numeric=True),
            Column("", elastic=True),
        ),
        (_history_row(line, begun) for line in history),
    )


def _history_row(line: HistoryLine, begun: int) -> list[Cell]:
    meta = dict(line.meta)
    meta.pop("state", None)
    said = []
    if "duration_ms" in meta:
        said.append(f"after {span(int(meta.pop('duration_ms') * 1000))}")
    if "delay_us" in meta:
        said.append(f"again in {span(int(meta.pop('delay_us')))}")
    if "asked_us" in meta:
        said.append(f"was asked to wait {span(int(meta.pop('asked_us')))}")
    meta.pop("error_message", None)
    if meta.get("error_class") == meta.get("error_code"):
        meta.pop("error_class", None)
    for name in (
        "error_code",
        "error_class",
        "gateway_http_status",
        "message",
        "worker",
        "by",
        "reason",
    ):
        value = meta.pop(name, None)
        if value:
            said.append(f"{_PREFIXES.get(name, '')}{value}")
    said.extend(f"{name} {value}" for name, value in meta.items() if value not in (None, False))
    time = clock(line.at)[:19] if line.at == begun else f"+{span(line.at - begun)}"
    return [
        f"  {time}",
        Styled(line.word or line.event, _EVENT_STYLES.get(line.event, "")),
        line.stage,
        line.attempt or None,
        " · ".join(said),
    ]


_PREFIXES: Final = {
    "worker": "on ",
    "by": "by ",
    "gateway_http_status": "HTTP ",
    "reason": "because ",
}
_EVENT_STYLES: Final = {
    "processing": "cyan",
    "completed": "green",
    "advanced": "green",
    "retried": "yellow",
    "failed": "red",
    "expired": "red",
    "refused": "red",
    "late": "red",
}
