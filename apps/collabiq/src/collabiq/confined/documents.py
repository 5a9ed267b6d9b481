"""A mail as JSON, as it crosses between processes: what reads hostile bytes sends no objects."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from collabiq.mail.headers import Address
from collabiq.mail.message import Attachment, Mail

READY: Final = b"ready"
"""What a child says first."""


def written(mail: Mail) -> bytes:
    """Return a mail as JSON."""
    moment = None if mail.date is None else mail.date.isoformat()
    return json.dumps(asdict(mail) | {"date": moment}).encode()


def read(document: dict[str, Any]) -> Mail:
    """Return the mail of a document that `written` has made."""
    moment = document["date"]
    return Mail(
        **document
        | {
            "to": [Address(*each) for each in document["to"]],
            "cc": [Address(*each) for each in document["cc"]],
            "sender": Address(*document["sender"]),
            "date": None if moment is None else datetime.fromisoformat(moment),
            "attachments": tuple(Attachment(**each) for each in document["attachments"]),
            "limits_met": tuple(document["limits_met"]),
        }
    )
