"""`collabiq report`: what happened in a span of time, for people who were not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import click

from collabiq.cli.extractions import shortened
from collabiq.cli.opening import Opened, opened
from collabiq.cli.output import document, json_option, line, reports_errors, table
from collabiq.cli.times import Since, shown_time
from collabiq.failures.errors import MOST
from collabiq.rows import counts_since

_SHOWN: Final = 20
_OPEN: Final = frozenset({"pending", "replaying", "failed"})


@click.command()
@click.option(
    "--since",
    type=Since(),
    default="24h",
    show_default=True,
    help="From when on, such as 24h, 7d or 2025-11-03.",
)
@json_option
@reports_errors
def report(*, since: datetime, as_json: bool) -> None:
    """Sum up the mails that came, what they became, what failed and what it cost.

    Example: collabiq report --since 7d

    Or: collabiq report --json
    """
    with opened() as system:
        found = gathered(system, since)
    if as_json:
        document(found)
    else:
        _print(found)


def gathered(system: Opened, since: datetime) -> dict[str, Any]:
    """Return a report as a document."""
    with system.engine.transaction() as tx:
        counts = counts_since(tx, since)
    made = system.collabiq
    records = made.errors.list(since=since, limit=MOST)["errors"]
    letters = [entry for entry in made.dlq.list()["entries"] if entry["status"] in _OPEN]
    review = made.emails.list(status="needs_review", since=since, limit=_SHOWN)["emails"]
    return {
        "since": since.isoformat(),
        "mails": {**counts.by_status, "total": sum(counts.by_status.values())},
        "cost_usd": round(counts.usd, 6),
        "errors": dict(Counter(record["severity"] for record in records)),
        "dead_letters": dict(Counter(entry["operation_type"] for entry in letters)),
        "needs_review": [
            {
                name: each[name]
                for name in ("email_id", "subject", "startup_name", "partner_org", "page_url")
            }
            for each in review
        ],
        "circuits": {
            each["service_name"]: each["state"] for each in made.circuits.list()["circuits"]
        },
    }


def _print(found: Mapping[str, Any]) -> None:
    mails = found["mails"]
    line(f"since {shown_time(found['since'])}Z", style="bold")
    line(f"mails: {mails['total']}, {_listed(mails, without='total') or 'none'}")
    line(f"cost: {found['cost_usd']:.4f} USD")
    line(f"failed attempts by severity: {_listed(found['errors']) or 'none'}")
    line(f"dead letters that are open: {_listed(found['dead_letters']) or 'none'}")
    away = [name for name, state in found["circuits"].items() if state != "CLOSED"]
    if away:
        line(f"not called at present: {', '.join(away)}", style="red")
    if found["needs_review"]:
        line()
        line("for a person to look at:")
        table(
            ("START-UP", "PARTNER", "SUBJECT", "ROW"),
            (
                (
                    each["startup_name"],
                    each["partner_org"],
                    shortened(each["subject"]),
                    each["page_url"],
                )
                for each in found["needs_review"]
            ),
        )


def _listed(counts: Mapping[str, int], *, without: str | None = None) -> str:
    return ", ".join(
        f"{count} {name.replace('_', ' ')}"
        for name, count in counts.items()
        if count and name != without
    )
