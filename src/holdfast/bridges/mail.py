"""An e-mail as a message document, the same for every provider of mail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.headerregistry import HeaderRegistry
from typing import Any, Final

from holdfast.bridges.calls import fields

MAX_LINE_LENGTH: Final = 998

_FIELDS: Final = ("to", "from", "subject", "text", "html", "headers", "metadata")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,76}")
_OWN_HEADERS: Final = frozenset(
    {
        "bcc",
        "cc",
        "date",
        "from",
        "message-id",
        "mime-version",
        "return-path",
        "sender",
        "subject",
        "to",
    }
)
_ONE_ADDRESS: Final = "one address, like ada@example.org or Ada <ada@example.org>"
_PARSE: Final = HeaderRegistry()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A checked e-mail to one recipient."""

    to: str
    sender: str
    subject: str
    text: str | None
    html: str | None
    reply_to: str | None
    headers: Mapping[str, str]
    """Further headers, without those that the other fields are."""
    metadata: Mapping[str, str]


def checked_mail(message: Mapping[str, Any]) -> Mail:
    """The e-mail that a message document is; InvalidValue names the first field that is wrong.

    One delivery tells one recipient, so that `to` is one address and there is no copy.
    """
    fields.check_names(message, _FIELDS)
    text, html = fields.body(message, "text"), fields.body(message, "html")
    if not text and not html:
        raise fields.invalid("text", text, "given, unless html is")
    headers = fields.pairs(message, "headers", at_most=MAX_LINE_LENGTH)
    return Mail(
        to=_address(message, "to"),
        sender=_address(message, "from"),
        subject=fields.text(message, "subject", at_most=MAX_LINE_LENGTH),
        text=text,
        html=html,
        reply_to=_reply_to(headers),
        headers=_further(headers),
        metadata=fields.pairs(message, "metadata", at_most=MAX_LINE_LENGTH),
    )


def address_of(mailbox: str) -> str:
    """Return the bare address of a mailbox that was checked."""
    return str(_parsed(mailbox).addresses[0].addr_spec)


def _parsed(mailbox: str) -> Any:  # noqa: ANN401 - the registry makes its classes as it goes
    return _PARSE("to", mailbox)


def _address(message: Mapping[str, Any], field: str) -> str:
    mailbox = fields.text(message, field, at_most=MAX_LINE_LENGTH)
    try:
        parsed = _parsed(mailbox)
        group = parsed.groups[0]
    except (IndexError, ValueError) as error:
        raise fields.invalid(field, mailbox, _ONE_ADDRESS) from error
    address = group.addresses[0] if len(group.addresses) == 1 else None
    named_group = group.display_name is not None
    if parsed.defects or len(parsed.groups) != 1 or named_group or address is None:
        raise fields.invalid(field, mailbox, _ONE_ADDRESS)
    if not address.username or not address.domain:
        raise fields.invalid(field, mailbox, _ONE_ADDRESS)
    return mailbox.strip()


def _reply_to(headers: Mapping[str, str]) -> str | None:
    given = [name for name in headers if name.lower() == "reply-to"]
    if not given:
        return None
    field = f"headers.{given[0]}"
    return _address({field: headers[given[0]]}, field)


def _further(headers: Mapping[str, str]) -> dict[str, str]:
    seen: set[str] = set()
    for name in headers:
        lowered = name.lower()
        if not _HEADER_NAME.fullmatch(name):
            raise fields.invalid(f"headers.{name}", "given", "a name that a header can have")
        if lowered in _OWN_HEADERS or lowered.startswith("content-"):
            raise fields.invalid(f"headers.{name}", "given", "left to the message's other fields")
        if lowered in seen:
            raise fields.invalid(f"headers.{name}", "given", "given once")
        seen.add(lowered)
    return {name: value for name, value in headers.items() if name.lower() != "reply-to"}
