"""`grading dlq`: requests that were given up, and what can be done about them."""

from __future__ import annotations

import getpass
from typing import Any

import click

from grading.cli.opening import opened
from grading.cli.output import document, json_option, line, remark, reports_errors, table
from grading.dead_requests import MAX_LISTED


@click.group()
def dlq() -> None:
    """Work through requests that were given up."""


@dlq.command("list")
@click.option("--limit", type=click.IntRange(1, MAX_LISTED), default=50, show_default=True)
@json_option
@reports_errors
def list_(*, limit: int, as_json: bool) -> None:
    """List requests that wait for a person, the latest failure first."""
    with opened() as system:
        found = [request.document() for request in system.dead_requests.list(limit=limit)]
    if as_json:
        document({"items": found})
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
            for each in found
        ),
    )
    if not found:
        remark("nothing waits for a person")


@dlq.command()
@click.argument("letter_id")
@json_option
@reports_errors
def show(*, letter_id: str, as_json: bool) -> None:
    """Show one of them."""
    with opened() as system:
        _print(system.dead_requests.get(letter_id).document(), as_json=as_json)


@dlq.command()
@click.argument("letter_id")
@json_option
@reports_errors
def retry(*, letter_id: str, as_json: bool) -> None:
    """Start its submission over; answers that were paid for are not paid again."""
    with opened() as system:
        found = system.dead_requests.retry(letter_id, by=getpass.getuser())
    _print(found.document(), as_json=as_json)


@dlq.command()
@click.argument("letter_id")
@json_option
@reports_errors
def discard(*, letter_id: str, as_json: bool) -> None:
    """Close one; its submission stays as it is."""
    with opened() as system:
        found = system.dead_requests.discard(letter_id, by=getpass.getuser())
    _print(found.document(), as_json=as_json)


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        document(found)
        return
    for name, value in found.items():
        if value is not None:
            line(f"{name:<14}  {value}")
