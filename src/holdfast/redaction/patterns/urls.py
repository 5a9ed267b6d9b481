"""Credentials in addresses: `scheme://user:password@host`, tokens before the `@`, and e-mail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from holdfast.redaction.marker import MARKER, Inspection, Kind
from holdfast.redaction.patterns import looks

# Slashes may be escaped, as JSON allows. Everything up to white space or a quote belongs to it.
_ADDRESS: Final = re.compile(r":(?:\\{0,3}/){2}(?P<rest>[^\s\"'`<>]++)")
_SCHEME_ENDS: Final = ("://", ":\\/\\/")
_NEXT: Final = re.compile(r":(?:\\{0,3}/){2}")
_AUTHORITY_END: Final = re.compile(r"[/?#\\]")
_QUERY: Final = re.compile(r"\?[\w.\[\]\-]{1,64}=")
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]{2,64}\]|[^\[\]:]{0,255})(?::[0-9]{0,5})?")
_NO_PASSWORD: Final = frozenset({"x-oauth-basic", "x", "unused", "x-token-auth"})
_MIN_TOKEN_LENGTH: Final = 16

_WITHOUT_SCHEME: Final = re.compile(
    r"[A-Za-z0-9](?<![\w.:/@+\-].)[\w.+-]{0,63}:(?P<password>[^\s:/@\"'`<>]{10,128})@(?=[\w.-]{1,255})"
)


def redact_addresses(text: str, inspection: Inspection) -> str:
    """Return the text without passwords and tokens in addresses; users and hosts stay."""
    pieces: list[str] = []
    copied = 0
    for found in _ADDRESS.finditer(text):
        if "@" not in found["rest"]:
            continue
        start = found.start("rest")
        for begin, end in _parts(text, start, found.end()):
            inspection.step()
            for secret_start, secret_end in _secrets(text, begin, end):
                secret = text[secret_start:secret_end]
                pieces += (text[copied:secret_start], inspection.mark(Kind.CREDENTIALS, secret))
                copied = secret_end
    for found in _WITHOUT_SCHEME.finditer(text, copied) if not pieces else ():
        inspection.step()
        if looks.is_random(found["password"]):
            start, end = found.span("password")
            pieces += (text[copied:start], inspection.mark(Kind.CREDENTIALS, text[start:end]))
            copied = end
    return "".join((*pieces, text[copied:])) if pieces else text


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return the addresses within an address, as a redirection has them; only those with an `@`."""
    at = text.find("@", start, end)
    while at >= 0:
        begin = start
        for scheme_end in _SCHEME_ENDS:
            found = text.rfind(scheme_end, start, at)
            begin = max(begin, found + len(scheme_end)) if found >= 0 else begin
        following = _NEXT.search(text, at, end)
        stop = following.start() if following else end
        yield begin, stop
        start = following.end() if following else end
        at = text.find("@", start, end)


def _secrets(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the secrets of the address are that begins, after its scheme, at `start`."""
    hidden = MARKER.match(text, start, end)
    user_start = hidden.end() if hidden else start
    authority = _AUTHORITY_END.search(text, user_start, end)
    authority_end = authority.start() if authority else end
    colon = text.find(":", user_start, authority_end)
    at = text.rfind("@", start, authority_end)
    if colon >= 0 and (at < 0 or colon < at):
        if at < 0 and _HOST.fullmatch(text, start, authority_end):
            return []
        return _with_password(text, start, colon, end)
    user = text[start:at] if at >= 0 and not hidden else ""
    return [(start, at)] if len(user) >= _MIN_TOKEN_LENGTH and looks.is_random(user) else []


def _with_password(text: str, start: int, colon: int, end: int) -> list[tuple[int, int]]:
    """A password may hold `@`, `:`, `/` and even `?`: it reaches to the last `@` of the address.

    It does not take the query with it, unless there is no other `@`.
    """
    query = _QUERY.search(text, colon, end)
    last = text.rfind("@", colon, query.start() if query else end)
    if last < 0:
        last = text.rfind("@", colon, end)
    user, password = text[start:colon], text[colon + 1 : last]
    if not password or password in _NO_PASSWORD:
        return [(start, colon)] if looks.is_random(user) else []
    found = [] if looks.is_stand_in(password) else [(colon + 1, last)]
    if len(user) >= _MIN_TOKEN_LENGTH and looks.is_random(user):
        found.insert(0, (start, colon))
    return found
