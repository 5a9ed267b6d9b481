"""`grading dlq`: requests that were given up, and what can be done about them."""

from __future__ import annotations

import getpass
from typing import Any

import click

from grading.cli.opening import opened
from grading.cli.output import document, json_option, line, remark, reports_errors, table

_MAX_LISTED = 200


@click.group()
def dlq() -> None:
    """Work through requests that were given up."""


@dlq.command("list")
@click.option("--limit", type=click.IntRange(1, _MAX_LISTED), default=50, show_default=True)
@json_option
@reports_errors
def list_(*, limit: int, as_json: bool) -> None:
    """List requests that wait for a person."""
    with opened() as system:
        records = system.dead_letters.open(limit=limit)
    if as_json:
        document({"items": records})
        return
    table(
        ("ID", "REASON", "ATTEMPTS", "SUBMISSION", "SINCE", "LAST ERROR"),
        (
            (
                each["id"],
                each["failureReason"],
                each["attemptsMade"],
                each["submissionId"],
                each["timestamp"],
                each["lastError"],
            )
            for each in records
        ),
    )
    if not records:
        remark("nothing waits for a person")


@dlq.command()
@click.argument("letter_id")
@json_option
@reports_errors
def show(*, letter_id: str, as_json: bool) -> None:
    """Show one of them."""
    with opened() as system:
        record = system.dead_letters.get(letter_id)
    _print(record, as_json=as_json)


@dlq.command()
@click.argument("letter_id")
@click.option("--evidence", required=True, help="How it is known that the cause is gone.")
@json_option
@reports_errors
def retry(*, letter_id: str, evidence: str, as_json: bool) -> None:
    """Grade a request again; stages whose answers were paid for are not repeated."""
    with opened() as system:
        record = system.dead_letters.retry(letter_id, evidence=evidence, by=getpass.getuser())
    _print(record, as_json=as_json)


@dlq.command()
@click.argument("letter_id")
@click.option("--note", required=True, help="Why nothing is to be done about it.")
@json_option
@reports_errors
def discard(*, letter_id: str, note: str, as_json: bool) -> None:
    """Close one without grading it again."""
    with opened() as system:
        record = system.dead_letters.discard(letter_id, note=note, by=getpass.getuser())
    _print(record, as_json=as_json)


def _print(record: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        document(record)
        return
    for name, value in record.items():
        if value is not None:
            line(f"{name:<14}  {value}")
