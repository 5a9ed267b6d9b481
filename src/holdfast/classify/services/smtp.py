"""smtplib and aiosmtplib: the server's reply code, and its enhanced code where it gives one.

Replies look like HTTP statuses and are none: 550 is a mailbox that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.classify.facts.http import read
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import (
    AUTH,
    INVALID,
    MISCONFIGURED,
    NETWORK,
    NOT_FOUND,
    POLICY,
    QUOTA,
    RATE_LIMITED,
    TIMEOUT,
    TIMEOUT_UNSENT,
    UNSENT,
    UPSTREAM,
)
from holdfast.core.values.instant import Instant
from holdfast.core.values.quota import Window

_PACKAGES: Final = "smtplib aiosmtplib"
_ENHANCED: Final = re.compile(r"\b[245]\.\d{1,3}\.\d{1,3}\b")

# The server refused, so that whatever follows is known not to have been accepted.
_UNWELL: Final = replace(UPSTREAM, outcome_known=True)
_NOT_NOW: Final = replace(UPSTREAM, outcome_known=True, blames_upstream=False)

_BY_CODE: Final[Mapping[int, Verdict]] = {
    421: _UNWELL,
    450: RATE_LIMITED,
    451: RATE_LIMITED,
    452: RATE_LIMITED,
    521: NOT_FOUND,
    530: AUTH,
    534: AUTH,
    535: AUTH,
    538: AUTH,
    550: NOT_FOUND,
    551: NOT_FOUND,
    554: POLICY,
    556: NOT_FOUND,
}
_FIRST_TRANSIENT: Final = 400
_FIRST_PERMANENT: Final = 500
_CREDENTIALS: Final = frozenset({"5.7.8", "5.7.9", "5.7.11"})
"""Enhanced codes about who we are, among those about what the server's policy is."""


_USED_UP: Final = re.compile(r"quota|limit|credits?|allowance", re.IGNORECASE)
_MAILBOX: Final = re.compile(r"\b[45]\.2\.2\b")
"""The recipient's mailbox is full, which is no quota of ours."""
_WINDOWS: Final[tuple[tuple[re.Pattern[str], Window], ...]] = (
    (re.compile(r"month|maximum credits|out of credits", re.IGNORECASE), Window.MONTH),
    (
        re.compile(r"daily|per day|\b24.?h(?:ours?)?\b|SubmissionQuotaExceeded", re.IGNORECASE),
        Window.DAY,
    ),
)


def quota_window(code: int, text: str) -> Window | None:
    """Return what the sender's quota is counted by, where a reply says that it is used up.

    There is no code for it: Google says 550 5.4.5, Amazon 454, Microsoft 550 5.1.90 or 554 5.2.0.
    """
    if code < _FIRST_TRANSIENT or _MAILBOX.search(text) or not _USED_UP.search(text):
        return None
    return next((window for pattern, window in _WINDOWS if pattern.search(text)), None)


def _verdict_of_reply(code: int, text: str) -> Verdict | None:
    if code < _FIRST_TRANSIENT:
        return None
    if quota_window(code, text) is not None:
        return QUOTA
    if code < _FIRST_PERMANENT:
        return _BY_CODE.get(code, _NOT_NOW)
    verdict = _BY_CODE.get(code, INVALID)
    enhanced = _ENHANCED.search(text)
    if enhanced is None or verdict is AUTH:
        return verdict
    if enhanced.group() in _CREDENTIALS:
        return AUTH
    if enhanced.group().startswith("5.7."):
        return POLICY
    return verdict


def _replies_of(error: BaseException) -> Iterator[tuple[int, str]]:
    """Return the replies the error carries: its own, or one for every refused recipient."""
    refused = read(error, ("recipients",))
    if isinstance(refused, dict):
        yield from (_reply(reply) for reply in refused.values())
    elif isinstance(refused, list):
        for each in refused:
            yield from _replies_of(each)
    else:
        text = read(error, ("smtp_error",)) or read(error, ("message",))
        yield _reply((read(error, ("smtp_code",)) or read(error, ("code",)), text))


def _reply(pair: object) -> tuple[int, str]:
    match pair:
        case (int(code), bytes(text)):
            return code, text.decode("utf-8", "replace")
        case (int(code), text):
            return code, str(text)
    return 0, ""


def _verdict_of_response(error: BaseException, _now: Instant) -> Verdict | None:
    """Nobody was sent anything; worth a retry as soon as one recipient is."""
    verdicts = [_verdict_of_reply(*reply) for reply in _replies_of(error)]
    found = [verdict for verdict in verdicts if verdict is not None]
    return next((verdict for verdict in found if verdict.retryable), found[0] if found else None)


SMTP: Final[tuple[Rule, ...]] = (
    Rule("aiosmtplib.SMTPConnectTimeoutError", TIMEOUT_UNSENT, speaks_http=False),
    Rule("aiosmtplib.SMTPTimeoutError", TIMEOUT, speaks_http=False),
    # smtplib reports a timeout while it sends the message like this, too.
    Rule(named(_PACKAGES, "SMTPServerDisconnected"), NETWORK, speaks_http=False),
    Rule(named(_PACKAGES, "SMTPConnectError"), UNSENT, speaks_http=False),
    Rule(
        named(_PACKAGES, "SMTPResponseException SMTPRecipientsRefused"),
        _verdict_of_response,
        speaks_http=False,
    ),
    # What the server cannot do at all, such as the login that was asked for.
    Rule(named(_PACKAGES, "SMTPException"), MISCONFIGURED, speaks_http=False),
)
