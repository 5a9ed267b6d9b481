"""`collabiq status`: how each service is, how the mails stand, and what to do."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from collabiq.cli.opening import Opened, opened
from collabiq.cli.output import ExitCode, document, exit_with, json_option, reports_errors, safe
from collabiq.cli.times import shown_time

_STYLES: Final = {"OPERATIONAL": "green", "DEGRADED": "yellow", "UNAVAILABLE": "red"}
_ORDER: Final = ("pending", "processing", "processed", "needs_review", "skipped", "failed")
_LEAST_S: Final = 0.5


@click.command()
@click.option("--detailed", is_flag=True, help="With breakers, the token, files and totals.")
@click.option("--watch", is_flag=True, help="Go on showing it until Ctrl-C.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(_LEAST_S, 3_600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --watch looks.",
)
@json_option
@reports_errors
def status(*, detailed: bool, watch: bool, every_s: float, as_json: bool) -> None:
    """Show how Gmail, Gemini, Notion and Infisical are, and how the mails of today stand.

    None of them is called: it is what the running system has found out. Ends with 1 where
    something needs a person. With --watch a terminal shows a table that stays up to date;
    elsewhere, and with --json, each look is printed after the other.

    Example: collabiq status --detailed

    Or: collabiq status --watch
    """
    with opened() as system:
        if watch:
            _watch(system, detailed=detailed, every_s=every_s, as_json=as_json)
            return
        found = _look(system, detailed=detailed)
    if as_json:
        document(found)
    else:
        _print(rendered(found, detailed=detailed))
    if found["critical"]:
        exit_with(ExitCode.ERROR)


def rendered(found: Mapping[str, Any], *, detailed: bool) -> RenderableType:
    """Return a status as a terminal shows it."""
    parts: list[RenderableType] = []
    for each in found["critical"]:
        parts.append(Text(safe(f"! {each['sentence']}"), style="bold red"))
        parts.append(Text(safe(f"  {each['next_step']}"), style="red"))
    services = _grid("SERVICE", "STATE", *(["BREAKER"] if detailed else []), "WHY")
    for each in found["services"]:
        state = Text(each["state"], style=_STYLES.get(each["state"], ""))
        breaker = [Text(each["circuit"])] if detailed else []
        services.add_row(Text(each["service"]), state, *breaker, Text(safe(each["reason"] or "")))
    parts.append(services)
    parts.append(_counts(found, detailed=detailed))
    poll = found["last_poll"]
    if poll is not None:
        said = f"last poll: {shown_time(poll['polled_at']) or 'never'}, {poll['found'] or 0} new"
        parts.append(Text(said))
    parts.append(Text(f"cost today: {found['cost_today_usd']:.4f} USD"))
    if detailed:
        parts += [Text(safe(text)) for text in _details(found)]
    return Group(*parts)


def _look(system: Opened, *, detailed: bool) -> dict[str, Any]:
    found = system.collabiq.status()
    if detailed:
        found["circuits"] = system.collabiq.circuits.list()["circuits"]
    return found


def _watch(system: Opened, *, detailed: bool, every_s: float, as_json: bool) -> None:
    console = Console()
    try:
        if as_json or not console.is_terminal:
            while True:
                found = _look(system, detailed=detailed)
                if as_json:
                    document(found)
                else:
                    _print(rendered(found, detailed=detailed))
                time.sleep(every_s)
        with Live(console=console, auto_refresh=False, screen=False) as live:
            while True:
                live.update(rendered(_look(system, detailed=detailed), detailed=detailed))
                live.refresh()
                time.sleep(every_s)
    except KeyboardInterrupt:
        return


def _print(shown: RenderableType) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(width=10_000, highlight=False)
    console.print(shown)


def _grid(*headings: str) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    return drawn


def _counts(found: Mapping[str, Any], *, detailed: bool) -> Table:
    drawn = _grid("MAILS", *(status.replace("_", " ").upper() for status in _ORDER))
    drawn.add_row("today", *(str(found["today"][status]) for status in _ORDER))
    if detailed:
        drawn.add_row("all", *(str(found["totals"][status]) for status in _ORDER))
    return drawn


def _details(found: Mapping[str, Any]) -> list[str]:
    token, extractor, files = found["token"], found["extractor"], found["files"]
    model = "the rules" if extractor["offline"] else extractor["model"]
    said = [f"mailbox: {found['mailbox'] or 'none'}, every {found['poll_interval_s']:g} s"]
    if token["present"]:
        expires = shown_time(token["expires_at"]) or "unknown"
        said.append(f"token: refreshed {shown_time(token['refreshed_at']) or '?'}, until {expires}")
    said.append(f"extractor: {model}; below {found['confidence_threshold']:g} it is for review")
    said.append(f"files: {files['folder']}, {files['free_bytes'] // 1_000_000} MB free")
    return said + [
        f"breaker of {each['service_name']}: {each['state']}, {each['failure_count']} of "
        f"{each['failure_threshold']} failures, {each['timeout']:g} s"
        for each in found["circuits"]
    ]
