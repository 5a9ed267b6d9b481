"""One request to a provider's HTTP API, and what its answer means where only its status tells.

No redirect is followed, nothing is repeated, no proxy is taken from the environment, and no more
of an answer is read than an API would send.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import httpx2

from holdfast.bridges.calls.deadline import Deadline
from holdfast.bridges.calls.network import OneCall
from holdfast.classify import ProviderError, QuotaExceeded, Verdict, Window
from holdfast.classify.http.status import verdict_of_response
from holdfast.classify.verdicts import ANSWER_INVALID, INVALID
from holdfast.core.values.instant import Instant
from holdfast.runtime import tracing
from holdfast.secrecy import safe_text

MAX_ANSWER_BYTES: Final = 256 * 1024

UNREADABLE: Final = replace(ANSWER_INVALID, outcome_known=False)
"""A success that does not say what was accepted, if anything."""

_FIRST_SUCCESS: Final = 200
_FIRST_REDIRECT: Final = 300
_SHOWN_LENGTH: Final = 300
_HEADERS: Final = {
    # What is not compressed cannot unfold into more than was read.
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "holdfast",
}


class Answer(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is of the 2xx kind."""
        return _FIRST_SUCCESS <= self.status < _FIRST_REDIRECT

    def document(self) -> dict[str, Any] | None:
        """Return the JSON object in the body; None when there is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


@cache
def _usual_tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


def call(
    method: str,
    url: str,
    *,
    deadline: Deadline,
    headers: Mapping[str, str],
    hidden: Mapping[str, str],
    content: bytes | None = None,
    tls: ssl.SSLContext | None = None,
    admit: Callable[[list[str]], None] = lambda _: None,
    needs_body: bool = True,
) -> Answer:
    """Make one request and return its answer; what breaks on the way is raised by httpx2.

    `deadline` limits the whole call. `hidden` are headers with secrets. A success whose body
    breaks off is a broken connection; of any other answer the status is enough. Without
    `needs_body` a success is taken by its status alone. The trace that is under way is carried on.
    """
    transport = OneCall(deadline=deadline, tls=tls or _usual_tls(), hidden=hidden, admit=admit)
    # The deadline is the timeout.
    with httpx2.Client(transport=transport, trust_env=False, timeout=None) as client:
        request = client.build_request(
            method, url, headers=_HEADERS | tracing.headers() | dict(headers), content=content
        )
        response = client.send(request, stream=True)
        try:
            body = b"" if response.is_success and not needs_body else _body_of(response)
        except httpx2.TransportError:
            if response.is_success:
                raise
            body = b""
        finally:
            response.close()
    return Answer(response.status_code, dict(response.headers), body)


def _body_of(response: httpx2.Response) -> bytes:
    """Return the body as it was sent, cut where it is longer than any answer that can be read."""
    read = bytearray()
    for part in response.iter_raw():
        read += part
        if len(read) > MAX_ANSWER_BYTES:
            break
    return bytes(read[: MAX_ANSWER_BYTES + 1])


def judged(owner: str, answer: Answer, verdict: Verdict, said: str = "") -> ProviderError:
    """Return the failure that an answer is by the verdict of the provider's module."""
    told = f": {safe_text(said, _SHOWN_LENGTH)}" if said else ""
    return ProviderError(
        verdict,
        f"{owner} answered {answer.status}{told}",
        status_code=answer.status,
        headers=answer.headers,
    )


def over_quota(owner: str, answer: Answer, window: Window, said: str = "") -> QuotaExceeded:
    """The failure that an answer is which says that the quota of a day or a month is used up."""
    told = f": {safe_text(said, _SHOWN_LENGTH)}" if said else ""
    return QuotaExceeded(
        f"{owner} answered {answer.status}{told}",
        window=window,
        status_code=answer.status,
        headers=answer.headers,
    )


def judged_by_status(owner: str, answer: Answer, said: str = "") -> ProviderError:
    """Return the failure that an answer is by its status: refused, unwell, or moved elsewhere."""
    if answer.is_success:
        return judged(owner, answer, UNREADABLE, said or "not an answer that can be read")
    failure = judged(owner, answer, INVALID, said)
    failure.verdict = verdict_of_response(failure, Instant(0)) or INVALID
    return failure
