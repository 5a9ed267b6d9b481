"""E-mail addresses and one-time codes, hidden so that equal ones can be recognised."""

from __future__ import annotations

import re
from typing import Final

from holdfast.redaction.marker import Inspection, Kind

# As RFC 5321 has them in practice. What a machine logs in with (git@host:path) and what names a
# package or an image (name@1.2.3, image@sha256:…) is no address of a person.
_ADDRESS: Final = re.compile(
    r"[^\W_](?<![\w.%+\-].)(?<!//.)[\w.+\-']{0,63}(?:@|%40)(?=[^\W_])"
    r"(?:[^\W_](?:[\w\-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,63}(?![\w@]|:[^\s\d])"
)
_LOGINS: Final = frozenset({"git", "hg", "svn", "ssh"})

# A word that announces a code; "code" alone announces exit codes, status codes and error codes.
_WORD: Final = (
    r"(?:one[ -]?time|verification|security|confirmation|login|log-?in|sign-?in|activation"
    r"|authentication|authenti[sz]ation|auth|2fa|mfa|sms|access|your|reset|recovery)"
    r"[ _-](?:(?:pass)?code|password|pin|tan)"
    r"|otp|totp|passcode|one-time|[msi]tan|tan(?!\()|2fa|pin(?: code)?"
)
_ANNOUNCED_CODE: Final = re.compile(
    rf"(?<![a-z0-9])(?:{_WORD})(?![a-z])(?: ?(?:is|was|lautet|=|:|#|no\.?|number)){{0,2}}"
    r"[\s\"'(\[<:=]{0,4}(?P<code>[0-9]{3}[ -][0-9]{3}|[0-9]{4,8})(?![\w-]|[.,][0-9]|%)"
)
_CODE_FIRST: Final = re.compile(
    rf"(?<![\w.,:+/#-])(?P<code>[0-9]{{3}}[ -][0-9]{{3}}|[0-9]{{4,8}})"
    rf"[\"')]? (?:is|as) (?:your|the) (?:{_WORD}|code)(?![a-z])"
)
_HINTS: Final = ("code", "otp", "tan", "pin", "2fa", "password", "one-time")
_GAPS: Final = str.maketrans("", "", " -")


def redact_contacts(text: str, lower: str, inspection: Inspection) -> str:
    """Return the text without e-mail addresses and one-time codes; `lower` is it in lower case."""
    if any(hint in lower for hint in _HINTS):
        text = _without_codes(text, lower, inspection)
    if "@" in text or "%40" in text:
        text = _ADDRESS.sub(lambda found: _hidden_address(found.group(), inspection), text)
    return text


def _hidden_address(found: str, inspection: Inspection) -> str:
    inspection.step()
    address = found.replace("%40", "@")
    if address.partition("@")[0].lower() in _LOGINS:
        return found
    return inspection.mark(Kind.EMAIL, address.casefold())


def _without_codes(text: str, lower: str, inspection: Inspection) -> str:
    spans: dict[int, int] = {}
    for pattern in (_ANNOUNCED_CODE, _CODE_FIRST):
        for found in pattern.finditer(lower):
            inspection.step()
            spans[found.start("code")] = found.end("code")
    pieces: list[str] = []
    copied = 0
    for start, end in sorted(spans.items()):
        if start >= copied:
            mark = inspection.mark(Kind.CODE, text[start:end].translate(_GAPS))
            pieces += (text[copied:start], mark)
            copied = end
    return "".join((*pieces, text[copied:])) if pieces else text
