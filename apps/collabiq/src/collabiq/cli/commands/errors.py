"""`collabiq errors`: what failed, and what can be done about it."""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import click

from collabiq.cli.extractions import shortened
from collabiq.cli.opening import Opened, opened
from collabiq.cli.output import (
    ExitCode,
    document,
    exit_with,
    facts,
    json_option,
    line,
    remark,
    reports_errors,
    table,
)
from collabiq.cli.times import Since, shown_time
from collabiq.failures.dlq import MAX_AT_ONCE
from collabiq.failures.errors import MOST
from collabiq.records.dlq_entry import OPERATION_TYPES, DLQStatus
from collabiq.records.error_record import ErrorCategory, ErrorSeverity

_OPEN: Final = frozenset({DLQStatus.PENDING, DLQStatus.REPLAYING, DLQStatus.FAILED})
_OPERATION: Final = click.Choice(list(OPERATION_TYPES))
_AT_ONCE: Final = 10


@click.group()
def errors() -> None:
    """Look at what failed for good, mend it and send it again.

    An entry of the dead letter queue is a file in DATA_DIR/dlq as well. A payload that is changed
    there is what a retry sends, once it was checked.
    """


@errors.command("list")
@click.option("--operation", type=_OPERATION, help="Entries of this operation alone.")
@click.option(
    "--status",
    type=click.Choice([each.value for each in DLQStatus]),
    help="Entries in this state alone. [default: all that are not completed]",
)
@click.option("--records", is_flag=True, help="List records of failed attempts, newest first.")
@click.option("--severity", type=click.Choice([each.value for each in ErrorSeverity]))
@click.option("--category", type=click.Choice([each.value for each in ErrorCategory]))
@click.option("--email", "email_id", metavar="ID", help="Of this mail alone.")
@click.option("--since", type=Since(), help="Not older than this, such as 24h or 2025-11-03.")
@click.option("--limit", type=click.IntRange(1, MOST), default=50, show_default=True)
@json_option
@reports_errors
def list_(
    *,
    operation: str | None,
    status: str | None,
    records: bool,
    severity: str | None,
    category: str | None,
    email_id: str | None,
    since: datetime | None,
    limit: int,
    as_json: bool,
) -> None:
    """List dead letters, oldest first, or with --records every attempt that failed.

    --severity and --category are of records.

    Example: collabiq errors list --operation notion_write

    Or: collabiq errors list --records --severity CRITICAL --since 24h
    """
    if (severity or category) and not records:
        raise click.UsageError("--severity and --category are of records: add --records")
    with opened() as system:
        if records:
            found = system.collabiq.errors.list(
                severity=severity,
                category=category,
                operation=operation,
                email_id=email_id,
                since=since,
                limit=limit,
            )["errors"]
        else:
            found = [
                entry
                for entry in system.collabiq.dlq.list(operation, status)["entries"]
                if (status is not None or entry["status"] in _OPEN)
                and email_id in {None, entry["email_id"]}
                and (since is None or datetime.fromisoformat(entry["created_at"]) >= since)
            ]
    left, found = max(len(found) - limit, 0), found[:limit]
    if as_json:
        document({"errors" if records else "entries": found, "left_off": left})
        return
    (_print_records if records else _print_entries)(found)
    if left:
        remark(f"{left} more; --limit shows them")


@errors.command()
@click.argument("dlq_id")
@click.option("--trace", is_flag=True, help="With the stack trace.")
@json_option
@reports_errors
def show(*, dlq_id: str, trace: bool, as_json: bool) -> None:
    """Show a dead letter: what failed, why, and what a retry would send.

    Example: collabiq errors show dlq_20251106_101522_123456_19a3f3f856f0b4d4
    """
    with opened() as system:
        entry = system.collabiq.dlq.show(dlq_id)
    if as_json:
        document(entry)
        return
    why = entry["error_details"]
    facts(
        [
            ("id", entry["dlq_id"]),
            ("e-mail", entry["email_id"]),
            ("operation", entry["operation_type"]),
            ("status", entry["status"]),
            ("failed", shown_time(entry["created_at"])),
            ("last attempt", shown_time(entry["last_attempt"])),
            ("replayed", shown_time(entry["replayed_at"])),
            ("error", f"{why['error_type']}: {why['error_message']}"),
            ("retries", why["retry_count"]),
        ]
    )
    line("a retry would send:")
    line(json.dumps(entry["original_payload"], ensure_ascii=False, indent=2))
    if trace:
        line(str(why.get("stack_trace") or "there is no stack trace"))


@errors.command()
@click.argument("dlq_id", required=False)
@click.option("--all", "every", is_flag=True, help="Every entry that can be replayed.")
@click.option("--operation", type=_OPERATION, help="The oldest entries of this operation.")
@click.option(
    "--max",
    "max_count",
    type=click.IntRange(1, MAX_AT_ONCE),
    help=f"How many of them at most. [default: {_AT_ONCE}; with --all {MAX_AT_ONCE}]",
)
@json_option
@reports_errors
def retry(
    *,
    dlq_id: str | None,
    every: bool,
    operation: str | None,
    max_count: int | None,
    as_json: bool,
) -> None:
    """Send dead letters again, oldest first, and wait until they have ended.

    Whatever is changed in their files is sent, once it was checked. Nothing is done twice: rows
    are looked up before they are made, and an entry that was replayed with success is refused.
    Ends with 1 where some failed again. No other process of collabiq needs to run.

    Example: collabiq errors retry dlq_20251106_101522_123456_19a3f3f856f0b4d4

    Or: collabiq errors retry --operation notion_write --max 10

    Or: collabiq errors retry --all
    """
    if sum((dlq_id is not None, every, operation is not None)) != 1:
        raise click.UsageError("give an ID, --operation or --all, one of them")
    by = getpass.getuser()
    with opened() as system, system.working():
        if dlq_id is not None:
            done = _retry_one(system, dlq_id, by=by)
        else:
            operations = [operation] if operation is not None else list(OPERATION_TYPES)
            most = max_count or (MAX_AT_ONCE if every else _AT_ONCE)
            done = _retry_many(system, operations, most, by=by)
    if as_json:
        document(done)
    else:
        line(f"{done['success']} succeeded, {done['failed']} failed, {done['skipped']} skipped")
        for each in done["refused"]:
            remark(f"{each['path']}: {each['why']}")
    if done["failed"]:
        exit_with(ExitCode.ERROR)


@errors.command()
@click.argument("dlq_ids", nargs=-1, metavar="[DLQ_ID]...")
@click.option("--operation", type=_OPERATION, help="Every open entry of this operation.")
@click.option("--before", type=Since(), help="With --operation: those that are older than this.")
@click.option("--reason", required=True, metavar="TEXT", help="How it was seen to.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@reports_errors
def clear(
    *,
    dlq_ids: Sequence[str],
    operation: str | None,
    before: datetime | None,
    reason: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Close dead letters that were resolved by hand; nothing is sent.

    Example: collabiq errors clear DLQ_ID --reason "done by hand"

    Or: collabiq errors clear --operation gmail_fetch --before 30d --reason "too old" --yes
    """
    if bool(dlq_ids) == (operation is not None):
        raise click.UsageError("give IDs or --operation, one of them")
    by = getpass.getuser()
    with opened() as system:
        wanted = list(dlq_ids) or [
            entry["dlq_id"]
            for entry in system.collabiq.dlq.list(operation)["entries"]
            if entry["status"] in _OPEN
            and (before is None or datetime.fromisoformat(entry["created_at"]) < before)
        ]
        if operation is not None and wanted and not yes:
            click.confirm(f"Close {len(wanted)} entries of {operation}?", abort=True, err=True)
        cleared = [
            system.collabiq.dlq.complete(dlq_id, by=by, reason=reason)["dlq_id"]
            for dlq_id in wanted
        ]
    if as_json:
        document({"cleared": cleared})
    else:
        line(f"{len(cleared)} closed")


@errors.command()
@json_option
@reports_errors
def sync(*, as_json: bool) -> None:
    """Make the files in DATA_DIR/dlq say what the database says.

    Writes what is missing, restores what cannot be read, and takes files that were brought from
    elsewhere, once they were checked. Ends with 4 where a file is refused.

    Example: collabiq errors sync
    """
    with opened() as system:
        done = system.collabiq.dlq.sync(by=getpass.getuser())
    if as_json:
        document(done)
    else:
        line(
            f"{_count(done['written'])} written, {_count(done['restored'])} restored, "
            f"{_count(done['imported'])} imported"
        )
        for each in done["refused"]:
            remark(f"{each['path']}: {each['why']}")
    if done["refused"]:
        exit_with(ExitCode.VALIDATION)


def _retry_one(system: Opened, dlq_id: str, *, by: str) -> dict[str, Any]:
    system.collabiq.dlq.replay(dlq_id, by=by)
    ended = system.wait_for(lambda: _ended(system, dlq_id))
    status = system.collabiq.dlq.show(dlq_id)["status"] if ended else DLQStatus.REPLAYING
    return {
        "success": int(status == DLQStatus.COMPLETED),
        "failed": int(status in {DLQStatus.FAILED, DLQStatus.PENDING}),
        "skipped": int(status == DLQStatus.REPLAYING),
        "refused": [],
    }


def _ended(system: Opened, dlq_id: str) -> bool:
    return str(system.collabiq.dlq.show(dlq_id)["status"]) != DLQStatus.REPLAYING


def _retry_many(system: Opened, operations: Sequence[str], most: int, *, by: str) -> dict[str, Any]:
    whole: dict[str, Any] = {"success": 0, "failed": 0, "skipped": 0, "refused": []}
    for operation in operations:
        if most <= 0:
            break
        done = system.collabiq.dlq.replay_many(operation, most, by=by)
        for name in whole:
            whole[name] += done[name]
        most -= done["success"] + done["failed"] + done["skipped"]
    return whole


def _print_entries(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        remark("nothing waits for a person")
        return
    table(
        ("ID", "OPERATION", "STATUS", "E-MAIL", "SINCE", "ERROR"),
        (
            (
                each["dlq_id"],
                each["operation_type"],
                each["status"],
                each["email_id"],
                shown_time(each["created_at"]),
                shortened(each["error_details"]["error_message"]),
            )
            for each in found
        ),
    )


def _print_records(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        remark("nothing was recorded")
        return
    table(
        ("TIME", "SEVERITY", "CATEGORY", "OPERATION", "E-MAIL", "MESSAGE"),
        (
            (
                shown_time(each["timestamp"]),
                each["severity"],
                each["category"],
                each["context"].get("operation"),
                each["context"].get("email_id"),
                shortened(each["message"]),
            )
            for each in found
        ),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else len(value)  # type: ignore[arg-type]
