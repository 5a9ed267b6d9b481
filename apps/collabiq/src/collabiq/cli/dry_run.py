"""What would become of a mail, found out without an account, a database or a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collabiq.extract import ExtractTask, extract_by_rules
from collabiq.mail import Mail, clean, parse_mail
from collabiq.notion.properties import RowValues, row_properties
from collabiq.notion.schema import COMPANY_FIELDS, KINDS, Column, Source
from collabiq.settings.config import Config

_UNKNOWN: Final = "?"


def dry_run(raw: bytes, config: Config) -> dict[str, Any]:
    """Return what the rules find in a mail and the row that would be written; raises `NotAMail`.

    Companies and people are in Notion, which is not called: their columns stay empty.
    """
    mail = parse_mail(raw, own_addresses=config.alert_senders)
    cleaned = clean(mail.text, subject=mail.subject)
    reason = mail.automatic or ("empty" if cleaned.empty else None)
    found: dict[str, Any] = {
        "mode": "offline",
        "written": False,
        "status": "skipped" if reason else "needs_review",
        "reason": reason,
        "mail": _mail_document(mail),
        "language": cleaned.language,
        "text": cleaned.text,
        "removed": [each.kind for each in cleaned.removed],
        "extraction": None,
        "properties": None,
    }
    if reason is not None:
        return found
    extraction = extract_by_rules(
        ExtractTask(
            text=cleaned.text, subject=mail.subject, sender=mail.sender.name, sent_at=mail.date
        )
    )
    names = (extraction.startup_name or _UNKNOWN, extraction.partner_org or _UNKNOWN)
    values = RowValues(
        email_id="-",
        title="-".join(names),
        details=extraction.details,
        summary=extraction.summary,
        date=extraction.date,
        intensity=extraction.collaboration_intensity,
        confidences=extraction.to_document()["confidence"],
        needs_review=True,
    )
    built = row_properties(values, usual_source(config.notion_fields), config.notion_fields)
    return found | {"extraction": extraction.to_document(), "properties": built.properties}


def usual_source(fields: Mapping[str, str]) -> Source:
    """Return the columns of a database that has every field as it should be."""
    columns = {
        fields[field]: Column(fields[field], KINDS[field][0])
        for field in fields
        if field not in COMPANY_FIELDS
    }
    return Source("", "", columns)


def _mail_document(mail: Mail) -> dict[str, Any]:
    return {
        "subject": mail.subject,
        "from": {"name": mail.sender.name, "address": mail.sender.address},
        "date": mail.date.isoformat() if mail.date else None,
        "message_id": mail.message_id,
        "size_bytes": mail.size_bytes,
        "attachments": [each.name for each in mail.attachments],
        "limits_met": list(mail.limits_met),
    }
