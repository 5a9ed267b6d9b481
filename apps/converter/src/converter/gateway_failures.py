"""What a call that brought no XML means for the job: which public code, and whether to try again.

| what came back | code | tried again | counts against the gateway |
| --- | --- | --- | --- |
| 401, 403, 404, 405 | `GW_5XX` | without spending attempts, until it is mended | yes |
| 4xx with a `code` of `converter.codes.MISTAKES` | `GW_4XX`: the sender's mistake | no | no |
| other 4xx | `GW_4XX` | no | no |
| 408, or nothing in time | `GW_TIMEOUT` | yes | yes |
| 429 | `GW_5XX` | yes, after Retry-After | no |
| 5xx, anything but 200, no connection, a connection that breaks | `GW_5XX` | yes | yes |
| 200 without XML that may be kept | `GW_5XX` | yes | yes |
| 200 with more than may be kept | `GW_5XX` | yes | no: it may be the file |

While the gateway is away, which is when its `/health` fails as well, what counts against it spends
no attempt in the mode `hold`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from converter.codes import (
    CODES,
    GW_4XX,
    GW_5XX,
    GW_MISCONFIGURED,
    GW_TIMEOUT,
    GW_UNAVAILABLE,
    INVALID_MAPPING,
    MEMORY_ERROR,
    MISTAKES,
    UNKNOWN,
)
from holdfast.classify import Category, ProviderError, Rule, Verdict

MAX_SAID_BYTES: Final = 4096
_MAX_SAID_LENGTH: Final = 120
_RETRY_AFTER: Final = ("retry-after", "retry-after-ms")
_REQUEST_TIMEOUT: Final = 408
_TOO_MANY_REQUESTS: Final = 429
_CLIENT_ERRORS: Final = range(400, 500)
_NOT_LET_IN: Final = "it does not let us in; check GATEWAY_URL and what stands before the gateway"
_NO_GATEWAY: Final = "there is no POST /convert where GATEWAY_URL leads; check GATEWAY_URL"
_MISCONFIGURED: Final = {401: _NOT_LET_IN, 403: _NOT_LET_IN, 404: _NO_GATEWAY, 405: _NO_GATEWAY}
"""Answers that are about the configuration, whatever the file is, and whose move it is."""

_REFUSED: Final = Verdict(GW_4XX, retryable=False, blames_upstream=False)
_BY_MISTAKE: Final = {
    code: Verdict(error_class, retryable=False, blames_upstream=False, user_error=True)
    for code, error_class in MISTAKES.items()
}
_BAD_MAPPING: Final = Verdict(
    INVALID_MAPPING, retryable=False, blames_upstream=False, user_error=True
)
_BLOCKED: Final = Verdict(
    GW_MISCONFIGURED,
    retryable=True,
    spends_attempt=False,
    category=Category.CRITICAL,
    blames_upstream=True,
)
_OUT_OF_REACH: Final = Verdict(GW_UNAVAILABLE, retryable=True, blames_upstream=True)
_UNWELL: Final = Verdict(GW_5XX, retryable=True, blames_upstream=True)
_BUSY: Final = Verdict(GW_5XX, retryable=True, blames_upstream=False)
_TIMED_OUT: Final = Verdict(GW_TIMEOUT, retryable=True, blames_upstream=True)

# Words and plain punctuation: no paths, no addresses, no markup, no stacks.
_SAFE: Final = re.compile(r"[\w ,;:()'’\"“”%+-]+(?:\.(?= |$)[\w ,;:()'’\"“”%+-]*)*")
_WHERE_IT_IS_SAID: Final = ("detail", "message", "error", "title")


class GatewayFailed(ProviderError):
    """The gateway brought no XML; `verdict` says what follows."""


def refusal(status: int, headers: Mapping[str, str], said: bytes) -> GatewayFailed:
    """Return the failure that an answer other than 200 is."""
    kept = {name: headers[name] for name in _RETRY_AFTER if name in headers}
    verdict, message = _UNWELL, f"the gateway answered {status}"
    if status == _TOO_MANY_REQUESTS:
        verdict = _BUSY
    elif status == _REQUEST_TIMEOUT:
        verdict = _TIMED_OUT
    elif status in _MISCONFIGURED:
        verdict, message = _BLOCKED, f"{message}: {_MISCONFIGURED[status]}"
    elif status in _CLIENT_ERRORS:
        verdict = _BY_MISTAKE.get(_code_of(said), _REFUSED)
        # Users read this line: what the gateway said is added where it is safe to show.
        message = " ".join(filter(None, (CODES.codes[GW_4XX].message, safe_line(said))))
    return GatewayFailed(verdict, message, status_code=status, headers=kept)


def mapping_refused() -> GatewayFailed:
    """Return the failure of a mapping that cannot be the name of one; nobody was asked."""
    return GatewayFailed(_BAD_MAPPING, f"{CODES.codes[GW_4XX].message} Unsupported mapping.")


def away(failed: GatewayFailed) -> GatewayFailed:
    """Return the failure as that of a gateway that is away: no file can help it."""
    return GatewayFailed(
        replace(failed.verdict, spends_attempt=False),
        f"{failed}; its /health fails as well",
        status_code=failed.status_code,
        headers=failed.headers,
    )


def timed_out(reason: str) -> GatewayFailed:
    """Return the failure of a call that took too long."""
    return GatewayFailed(_TIMED_OUT, f"the gateway did not answer in time: {reason}")


def cut_off(reason: str) -> GatewayFailed:
    """Return the failure of a call without a connection, or whose connection broke."""
    return GatewayFailed(_OUT_OF_REACH, f"the gateway could not be called to the end: {reason}")


def unusable(reason: str) -> GatewayFailed:
    """Return the failure of a success that brought no XML that may be kept."""
    return GatewayFailed(_UNWELL, f"the gateway’s answer cannot be used: {reason}", status_code=200)


def oversized(limit_bytes: int) -> GatewayFailed:
    """Return the failure of a success that brought more than may be kept."""
    return GatewayFailed(
        _BUSY, f"the gateway’s answer is larger than {limit_bytes} bytes", status_code=200
    )


def safe_line(said: bytes) -> str:
    """Return what a gateway said as one line to show to users; empty unless all of it is safe.

    It is taken from a JSON object that says it in `detail`, `message`, `error` or `title`, or is
    the text itself.
    """
    found = _read(said)
    if isinstance(found, dict):
        found = next((found[name] for name in _WHERE_IT_IS_SAID if found.get(name)), "")
    line = found.strip() if isinstance(found, str) else ""
    if len(line) > _MAX_SAID_LENGTH or not line.isprintable() or not _SAFE.fullmatch(line):
        return ""
    return line if line.endswith(".") else f"{line}."


def _code_of(said: bytes) -> str:
    """Return the stable code in what a gateway said, as a problem document has it."""
    found = _read(said)
    code = found.get("code") if isinstance(found, dict) else None
    return code if isinstance(code, str) else ""


def _read(said: bytes) -> object:
    """Return the JSON object, or the text, that a gateway said; empty when it cannot be read."""
    try:
        text = said.decode()
        return json.loads(text) if text.lstrip().startswith("{") else text
    except (ValueError, RecursionError):
        return ""


def _own_verdict(failed: GatewayFailed, _now: int) -> Verdict:
    return failed.verdict


GATEWAY_RULES: Final = (
    Rule(GatewayFailed, _own_verdict),
    Rule(MemoryError, Verdict(MEMORY_ERROR, retryable=True, blames_upstream=False)),
    # Nobody knows what it is, so nobody knows that it will not pass.
    Rule(Exception, Verdict(UNKNOWN, retryable=True, blames_upstream=False)),
)
"""What a stage that calls the gateway says of exceptions; rules for others go before them."""
