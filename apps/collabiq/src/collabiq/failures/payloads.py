"""What a dead letter of a mail needs to be replayed, and what a person may change of it.

A replay goes on at the stage that failed. Where a person has replaced the payload of a dead letter,
the stage takes that in place of what the stages before it had found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collabiq.refusals import Invalid, flaw
from collabiq.rows import get_replacement, set_replacement
from collabiq.settings.config import Config
from holdfast import Holdfast, JobView

EMAIL: Final = "email"
UPLOAD: Final = "upload"
CORRECTION: Final = "correction"
INBOX: Final = "inbox"
DIRECTORY: Final = "directory"
PIPELINES: Final = (EMAIL, UPLOAD, CORRECTION, INBOX, DIRECTORY)
"""`email` is a mail of the mailbox, `upload` one that was sent in, `correction` a person's."""

OPERATION_OF_STAGE: Final[Mapping[str, str]] = {
    "gmail_poll": "gmail_fetch",
    "gmail_fetch": "gmail_fetch",
    "read": "gmail_fetch",
    "clean": "gmail_fetch",
    "gemini_extract": "gemini_extract",
    "match": "notion_write",
    "notion_write": "notion_write",
    "notion_directory": "notion_write",
}
"""Which operation of the dead letter queue each stage is."""


def email_id_of(view: JobView) -> str:
    """Return which mail a job is about; `inbox` for jobs about the whole mailbox."""
    payload = view.payload
    found = payload.get("email_id") if isinstance(payload, Mapping) else None
    return found if isinstance(found, str) and found else INBOX


def payload_of(engine: Holdfast, view: JobView) -> dict[str, Any]:
    """Return what a replay of a failed job would send; never empty, and without credentials."""
    replaced = replacement_of(engine, view.id)
    if replaced is not None:
        return replaced
    results = engine.results(view.id)
    payload: Mapping[str, Any] = view.payload
    match view.job.stage:
        case "gmail_poll":
            return {
                "mailbox": payload["mailbox"],
                "start_history_id": payload.get("start_history_id"),
            }
        case "gemini_extract":
            return {"email_id": payload["email_id"], **mail_text(results)}
        case "match":
            found = results.get("gemini_extract", payload.get("extraction"))
            return {
                "email_id": payload["email_id"],
                "database_id": payload.get("database_id"),
                "extraction": found,
            }
        case "notion_write":
            made = results["match"]
            return {
                "email_id": payload["email_id"],
                "database_id": made["database_id"],
                "properties": made["properties"],
            }
        case _:
            return {"email_id": email_id_of(view)} | dict(payload)


def checked_payload(
    operation_type: str, payload: Mapping[str, Any], config: Config, *, database_id: str
) -> dict[str, Any]:
    """Return a payload that a person gave, or raise `Invalid` with every place that is wrong.

    `database_id` is the database of rows: nothing is ever written to another.
    """
    del config
    flaws = []
    match operation_type:
        case "gmail_fetch":
            flaws += _wrong_texts(payload, "email_id", "mailbox", "start_history_id")
            if not payload.get("email_id") and not payload.get("mailbox"):
                flaws.append(flaw("/email_id", "name the mail, or the mailbox"))
        case "gemini_extract":
            flaws += _wrong_texts(payload, "email_id", "text", "subject", "sender", "sent_at")
            if not str(payload.get("text") or "").strip():
                flaws.append(flaw("/text", "give the text to look into"))
        case "notion_write":
            if payload.get("database_id") != database_id:
                flaws.append(flaw("/database_id", "it has to be the database of this system"))
            given = [name for name in ("properties", "extraction") if payload.get(name)]
            if len(given) != 1 or not isinstance(payload[given[0]], Mapping):
                flaws.append(flaw("/properties", "give properties, or an extraction, as an object"))
        case _:
            flaws.append(flaw("/operation_type", "no payload of this operation can be replaced"))
    if flaws:
        raise Invalid(flaws)
    return dict(payload)


def replace_payload(engine: Holdfast, job_id: str, payload: Mapping[str, Any], *, by: str) -> None:
    """Have the next replay of a failed job take this payload, which was checked before."""
    with engine.transaction() as tx:
        set_replacement(tx, job_id, payload, by=by)


def replacement_of(engine: Holdfast, job_id: str) -> dict[str, Any] | None:
    """Return the payload that a person gave to a job, or None."""
    with engine.reading() as tx:
        return get_replacement(tx, job_id)


def mail_text(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model is given of a mail."""
    fetched = results.get("gmail_fetch") or results.get("read") or {}
    cleaned = results.get("clean") or {}
    sender = fetched.get("from") or {}
    return {
        "text": cleaned.get("text", ""),
        "subject": fetched.get("subject", ""),
        "sender": sender.get("name", "") if isinstance(sender, Mapping) else "",
        "sent_at": fetched.get("date"),
    }


def _wrong_texts(payload: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    return [
        flaw(f"/{name}", "has to be a text")
        for name in names
        if payload.get(name) is not None and not isinstance(payload[name], str)
    ]
