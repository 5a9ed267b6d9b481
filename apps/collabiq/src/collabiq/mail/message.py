"""What a mail says, read once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from collabiq.mail.headers import Address

Authentication = Literal["pass", "fail", "none"]
"""What Gmail found out about the sender; `none` where it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file with a mail: listed, never read."""

    name: str
    media_type: str
    size_bytes: int
    inline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A mail as its readers see it."""

    subject: str
    sender: Address
    to: Sequence[Address]
    cc: Sequence[Address]
    date: datetime | None
    message_id: str
    """As the sender made it: any text, and never part of a name here."""
    text: str
    attachments: Sequence[Attachment]
    size_bytes: int
    automatic: str | None
    """Why no person wrote it, or None."""
    authentication: Authentication
    limits_met: Sequence[str] = ()
    """`depth` or `parts`, where not all of it was read."""


class NotAMail(ValueError):
    """What was given is empty, or has no header."""


class MailTooLarge(ValueError):
    """The mail is larger than any that is read; its attachments may be."""

    def __init__(self, size_bytes: int, *, limit_bytes: int) -> None:
        self.size_bytes, self.limit_bytes = size_bytes, limit_bytes
        super().__init__(f"the mail has {size_bytes} bytes, more than {limit_bytes}")
