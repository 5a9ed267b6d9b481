"""Credentials in headers: the scheme and the names of cookies stay, the rest goes."""

from __future__ import annotations

import base64
import re
from typing import Final

from holdfast.redaction.marker import Inspection, Kind
from holdfast.redaction.patterns import looks
from holdfast.redaction.patterns.alternation import any_of, words

_SCHEMES: Final = (
    r"(?:bearer|basic|token|digest|negotiate|ntlm|api-?key|apikey-v1|ssws|geniekey|hawk|oauth"
    r"|signature|splunk|kerberos|mac|jwt|private-token|key|access-?token|sharedaccesssignature"
    r"|sharedkey(?:lite)?|aws4-hmac-sha256|aws4-ecdsa-p256-sha256|aws|bot|scram-sha-(?:1|256)|dpop"
    r"|vapid|nostr|google-?login|goog4-[a-z0-9-]{1,24}|escher-hmac-sha(?:256|512)|zoho-oauthtoken"
    r"|cloudflare-?access|pagerduty|sso-key|elastic|fastly-key|discogs|circle-token|acs)"
)
_SCHEME: Final = re.compile(rf"(?i:{_SCHEMES})(?=[ \t])")
# The scheme, then what ends it: one word, or parameters up to the end of the line.
_CREDENTIALS: Final = re.compile(
    r"(?i:bearer|basic|token|api-?key|jwt|key|bot|negotiate|ntlm|ssws|geniekey|splunk|aws)"
    r"[ \t]{1,8}[^\s,;\"'`<>\\]++"
)
_ALONE: Final = words(
    """
    bearer basic token digest negotiate ntlm apikey api-key aws4-hmac-sha256 ssws geniekey hawk
    oauth
    """
)
_SCHEME_ALONE: Final = re.compile(
    rf"(?P<scheme>{any_of(_ALONE)})(?:[ \t]{{1,4}}|%20|\+)"
    r"(?P<credential>(?=[\w.~+/=\-]{8})[\w.~+/=%:\-]{8,}+)"
)
_LETTERS_OF_SCHEMES: Final = tuple((word, frozenset(word)) for word in _ALONE)
_LONG_TEXT: Final = 4_096
_TO_QUOTE: Final = re.compile(r"(?:=\\{0,15}[\"'][^\"'\r\n]*+[\"']|[^\r\n\"'`])++")
_PARAMETERS: Final = re.compile(
    r"(?i:username|realm|nonce|uri|response|qop|opaque|algorithm|id|ts|mac|credential|oauth_\w{1,24})="
)
_PARAMETER: Final = re.compile(r"[A-Za-z][\w-]{0,31}=(?!=|\s|$)")
_WITH_PARAMETERS: Final = frozenset({"digest", "hawk", "oauth", "aws4-hmac-sha256"})

_ATTRIBUTE: Final = re.compile(r"[\w/.,:+ \-]{0,64}")
_FLAGS: Final = frozenset({"httponly", "secure", "partitioned"})
_KEPT_ATTRIBUTES: Final = frozenset(
    {"path", "domain", "expires", "max-age", "samesite", "priority", "version", "comment"}
)


def hide_authorization(value: str, inspection: Inspection) -> str:
    """Return the value of an Authorization header with nothing but its scheme."""
    stripped = value.strip()
    scheme = _SCHEME.match(stripped)
    if scheme is None:
        return value if looks.is_stand_in(stripped) else inspection.mark(Kind.AUTHORIZATION, value)
    rest = stripped[scheme.end() :].lstrip()
    if looks.is_stand_in(rest):
        return value
    return f"{scheme.group()} {inspection.mark(Kind.AUTHORIZATION, rest)}"


def end_of_header(text: str, start: int, *, is_authorization: bool) -> int:
    """Where the value of a header ends that is not quoted: with its line, or with a quote."""
    found = _CREDENTIALS.match(text, start) if is_authorization else None
    found = found or _TO_QUOTE.match(text, start)
    return start + len(found.group().rstrip("\\ \t")) if found else start


def hide_cookies(value: str, inspection: Inspection) -> str:
    """Return the cookies with their names and without their values; attributes stay as they are."""
    parts = value.split(";")
    inspection.step(len(parts))
    return ";".join(_without_value(part, inspection) for part in parts)


def _without_value(part: str, inspection: Inspection) -> str:
    name, equals, value = part.partition("=")
    if not equals:
        name, value = "", part
    bare_name = name.strip().lower()
    if looks.is_stand_in(value.strip(' "')) or value.strip().lower() in _FLAGS:
        return part
    if bare_name in _KEPT_ATTRIBUTES and _ATTRIBUTE.fullmatch(value):
        return part
    space = value[: len(value) - len(value.lstrip())]
    return f"{name}{equals}{space}{inspection.mark(Kind.COOKIE, value)}"


def redact_schemes(text: str, lower: str, inspection: Inspection) -> str:
    """Return the text without credentials that follow the name of a scheme, as in `Bearer …`."""
    if len(text) > _LONG_TEXT and not _names_a_scheme(lower):
        return text
    pieces: list[str] = []
    copied = position = 0
    while (found := _SCHEME_ALONE.search(lower, position)) is not None:
        inspection.step()
        position = start = found.start("credential")
        after_word = found.start() and lower[found.start() - 1].isalnum()
        end = start if after_word else _end_of_credential(text, found)
        if end > start:
            pieces += (text[copied:start], inspection.mark(Kind.AUTHORIZATION, text[start:end]))
            copied = position = end
    return "".join((*pieces, text[copied:])) if pieces else text


def _names_a_scheme(lower: str) -> bool:
    """Return whether a scheme occurs; that one of its letters does not is found out much sooner."""
    return any(
        all(map(lower.__contains__, letters)) and word in lower
        for word, letters in _LETTERS_OF_SCHEMES
    )


def _end_of_credential(text: str, found: re.Match[str]) -> int:
    """Where the credential ends; where it begins when it is only a word."""
    start, end = found.span("credential")
    if _PARAMETER.match(text, start):
        expected = found["scheme"] in _WITH_PARAMETERS and _PARAMETERS.match(text, start)
        line = _TO_QUOTE.match(text, start) if expected else None
        return line.end() if line else start
    value = text[start:end]
    hidden = _is_basic(value) if found["scheme"] == "basic" else looks.is_random(value)
    return end if hidden else start


def _is_basic(value: str) -> bool:
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        decoded = b""
    return b":" in decoded or looks.is_random(value)
