"""Mails that no person wrote."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from collabiq.mail.headers import Headers
from collabiq.mail.message import Authentication

OWN_HEADER: Final = "X-CollabIQ"
"""Stands in every mail that this system sends, so that it never reads its own."""
_GMAIL: Final = "mx.google.com"
_BY_DMARC: Final[dict[str, Authentication]] = {"pass": "pass", "fail": "fail"}


def automatic_reason(headers: Headers, *, own_addresses: Collection[str] = ()) -> str | None:
    """Return why a mail was written by a program, or None for one of a person.

    `Precedence` and `List-Id` say nothing: groups put them on every mail.
    """
    if OWN_HEADER.lower() in headers:
        return "own"
    own = {address.lower() for address in own_addresses}
    if own and any(each.address.lower() in own for each in headers.addresses("from")):
        return "own"
    submitted = headers.get("auto-submitted").partition(";")[0].strip().lower()
    if submitted not in {"", "no"}:
        return f"auto-submitted: {submitted[:40]}"
    if headers.content_type()[0] == "multipart/report":
        return "report"
    return None


def authentication_of(headers: Headers) -> Authentication:
    """Return what Gmail found out about the sender.

    Only what Gmail itself put on top is believed: anybody may write such a field.
    """
    for field in headers.every("authentication-results"):
        server, _, results = field.partition(";")
        if server.split()[:1] == [_GMAIL]:
            return _verdict(results.lower())
    return "none"


def _verdict(results: str) -> Authentication:
    methods: dict[str, str] = {}
    for result in results.split(";"):
        method, _, verdict = result.strip().partition("=")
        methods.setdefault(method.strip(), (verdict.split() or [""])[0])
    if "dmarc" in methods:
        return _BY_DMARC.get(methods["dmarc"], "none")
    found = {methods.get("spf"), methods.get("dkim")}
    if "pass" in found:
        return "pass"
    return "fail" if found & {"fail", "softfail", "permerror"} else "none"
