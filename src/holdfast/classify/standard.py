"""The rules that hold everywhere: HTTP statuses and the exceptions of the standard library.

Tables for one library each go into files of their own beside this one. They come before these
rows, because the exceptions of many libraries are also `OSError`s or carry a status.
"""

from __future__ import annotations

import errno
import socket
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from typing import Final

from holdfast.classify.describe import message_of
from holdfast.classify.http_facts import headers_of, read, status_of
from holdfast.classify.table import Rule, Verdict, classify_by
from holdfast.core.failure import BUG, Category, ErrorClass, Failure
from holdfast.core.instant import Instant
from holdfast.errors import (
    ConflictError,
    GiveUp,
    StaleRevision,
    StoreCorrupt,
    UnavailableError,
)

_TIMEOUT: Final = Verdict(ErrorClass.NETWORK_TIMEOUT, retryable=True, outcome_known=False)
_NETWORK: Final = Verdict(ErrorClass.NETWORK, retryable=True, outcome_known=False)
_NOT_SENT: Final = Verdict(ErrorClass.NETWORK, retryable=True)
_RATE_LIMITED: Final = Verdict(ErrorClass.RATE_LIMITED, retryable=True)
_UPSTREAM: Final = Verdict(ErrorClass.UPSTREAM_5XX, retryable=True, outcome_known=False)
_AUTH: Final = Verdict(ErrorClass.AUTH_DENIED, retryable=False, category=Category.CRITICAL)
_INVALID: Final = Verdict(ErrorClass.INVALID, retryable=False)
_NOT_FOUND: Final = Verdict(ErrorClass.NOT_FOUND, retryable=False)
_CONFLICT: Final = Verdict(ErrorClass.CONFLICT, retryable=True)
_POLICY: Final = Verdict(ErrorClass.CONTENT_POLICY, retryable=False)
_IO_RETRY: Final = Verdict(ErrorClass.IO_ERROR, retryable=True)
_IO_STOP: Final = Verdict(ErrorClass.IO_ERROR, retryable=False)
_CRASH: Final = Verdict(ErrorClass.WORKER_CRASH, retryable=True, outcome_known=False)
_PROCESS: Final = Verdict(ErrorClass.PROCESS_FAILED, retryable=False, outcome_known=False)
_BUG: Final = Verdict(BUG.error_class, retryable=False, severity=BUG.severity, outcome_known=False)

_BY_STATUS: Final[Mapping[int, Verdict]] = {
    401: _AUTH,
    402: _AUTH,
    403: _AUTH,
    404: _NOT_FOUND,
    407: _AUTH,
    408: Verdict(ErrorClass.NETWORK_TIMEOUT, retryable=True),
    409: _CONFLICT,
    410: _NOT_FOUND,
    412: _CONFLICT,
    423: _CONFLICT,
    425: Verdict(ErrorClass.NETWORK_TIMEOUT, retryable=True),
    429: _RATE_LIMITED,
    451: _POLICY,
    501: _INVALID,
    505: _INVALID,
}
_FIRST_CLIENT_ERROR: Final = 400
_FIRST_SERVER_ERROR: Final = 500

# What providers call a quota that no waiting refills; their prose says "quota" for rate limits too.
_SPENT_QUOTA: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})

_RESOURCES_SHORT: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}
)
_UNREACHABLE: Final = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
)

# Exit statuses as sysexits.h names them.
_BY_EXIT_CODE: Final[Mapping[int, Verdict]] = {
    64: _INVALID,
    65: _INVALID,
    66: _INVALID,
    69: _UPSTREAM,
    73: _IO_RETRY,
    74: _IO_RETRY,
    75: _UPSTREAM,
    77: _AUTH,
}


def verdict_of_status(status: int) -> Verdict | None:
    """What an HTTP status alone says; None for one that is no error."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= _FIRST_SERVER_ERROR:
        return _UPSTREAM
    return _INVALID if status >= _FIRST_CLIENT_ERROR else None


def verdict_of_response(exception: BaseException, _now: Instant) -> Verdict | None:
    """What the HTTP response that an exception carries says; None when it carries none."""
    status = status_of(exception)
    if status is None:
        return None
    verdict = verdict_of_status(status)
    if verdict is _RATE_LIMITED and _quota_is_spent(exception):
        return _AUTH
    if status == 403 and _is_rate_limit(exception):  # noqa: PLR2004 - the status itself
        return _RATE_LIMITED
    return verdict


def exit_code_rule(verdicts: Mapping[int, Verdict]) -> Rule:
    """A rule for a program's own exit codes; codes it leaves out are judged as usual."""

    def verdict_of(error: subprocess.CalledProcessError, _now: Instant) -> Verdict | None:
        return verdicts.get(error.returncode)

    return Rule(subprocess.CalledProcessError, verdict_of)


def _verdict_of_give_up(error: GiveUp, _now: Instant) -> Verdict:
    return Verdict(error.error_class, retryable=False, message=error.message or None)


def _verdict_of_os_error(error: OSError, _now: Instant) -> Verdict | None:
    if error.errno in _RESOURCES_SHORT:
        return _IO_RETRY
    return _NOT_SENT if error.errno in _UNREACHABLE else None


def _verdict_of_exit_code(error: subprocess.CalledProcessError, _now: Instant) -> Verdict:
    if error.returncode < 0:
        return _CRASH
    return _BY_EXIT_CODE.get(error.returncode, _PROCESS)


def _quota_is_spent(exception: BaseException) -> bool:
    """Whether the body's error code, not its prose, says that the money is used up."""
    codes = [read(exception, ("code",)), read(exception, ("type",))]
    body = read(exception, ("body",))
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            codes += [inner.get("code"), inner.get("type")]
    return any(isinstance(code, str) and code in _SPENT_QUOTA for code in codes)


def _is_rate_limit(exception: BaseException) -> bool:
    """Whether a 403 means "too often" rather than "not you"."""
    headers = headers_of(exception)
    if "retry-after" in headers or headers.get("x-ratelimit-remaining", "").strip() == "0":
        return True
    said = message_of(exception).lower()
    return "rate limit" in said or "ratelimitexceeded" in said


GIVE_UP: Final = Rule(GiveUp, _verdict_of_give_up)
"""Before every other rule: a handler that gives up knows best."""

STANDARD: Final[tuple[Rule, ...]] = (
    Rule(StoreCorrupt, _IO_STOP),
    Rule(UnavailableError, _NETWORK),
    Rule(StaleRevision, _CONFLICT),
    Rule(ConflictError, Verdict(ErrorClass.CONFLICT, retryable=False)),
    Rule(Exception, verdict_of_response),
    Rule(ssl.SSLCertVerificationError, _AUTH),
    Rule(ssl.SSLError, _NETWORK),
    Rule(TimeoutError, _TIMEOUT),
    # Nothing was sent to an address that was never found or that never answered.
    Rule((ConnectionRefusedError, socket.gaierror), _NOT_SENT),
    Rule(ConnectionError, _NETWORK),
    Rule((FileNotFoundError, PermissionError), _IO_STOP),
    Rule(OSError, _verdict_of_os_error),
    Rule(MemoryError, _IO_RETRY),
    Rule(subprocess.TimeoutExpired, _TIMEOUT),
    Rule(subprocess.CalledProcessError, _verdict_of_exit_code),
    Rule(BrokenExecutor, _CRASH),
    # Known to be bugs, whatever was being handled when they were made.
    Rule(
        (TypeError, AttributeError, NameError, LookupError, AssertionError, ArithmeticError), _BUG
    ),
)


def classify(exception: BaseException, rules: Sequence[Rule] = (), *, now: Instant) -> Failure:
    """The failure that an exception raised by a handler means.

    `rules` come first, then those that hold everywhere; `now` dates a Retry-After. What is no
    failure (a cancellation, a signal, an exit, a postponement) is raised again as it came.
    """
    return classify_by(exception, (GIVE_UP, *rules, *STANDARD), now=now)
