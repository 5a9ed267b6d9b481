"""The rules for the standard library and for anything that carries an HTTP response.

Tables for one library each are files of their own beside this one. They come before these rows,
because the exceptions of many libraries are also `OSError`s or carry a status.
"""

from __future__ import annotations

import errno
import socket
import ssl
import subprocess
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Final

from holdfast.classify.http.status import verdict_of_response, verdict_of_status
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import (
    AUTH,
    BUG,
    CONFLICT,
    CONFLICT_FINAL,
    CRASH,
    INVALID,
    IO_RETRY,
    IO_STOP,
    NETWORK,
    PROCESS,
    TIMEOUT,
    UNSENT,
    UPSTREAM,
)
from holdfast.core.values.failure import ErrorClass
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import (
    CircuitOpen,
    ConflictError,
    GiveUp,
    StaleRevision,
    StoreCorrupt,
    UnavailableError,
    UserError,
)

__all__ = ["GIVE_UP", "STANDARD", "exit_code_rule", "verdict_of_response", "verdict_of_status"]

_RESOURCES_SHORT: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}
)
_UNREACHABLE: Final = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
)

# Exit statuses as sysexits.h names them.
_BY_EXIT_CODE: Final[Mapping[int, Verdict]] = {
    64: INVALID,
    65: INVALID,
    66: INVALID,
    69: UPSTREAM,
    73: IO_RETRY,
    74: IO_RETRY,
    75: UPSTREAM,
    77: AUTH,
}


def exit_code_rule(verdicts: Mapping[int, Verdict]) -> Rule:
    """A rule for a program's own exit codes; codes it leaves out are judged as usual."""

    def verdict_of(error: subprocess.CalledProcessError, _now: Instant) -> Verdict | None:
        return verdicts.get(error.returncode)

    return Rule(subprocess.CalledProcessError, verdict_of)


def _verdict_of_give_up(error: GiveUp, _now: Instant) -> Verdict:
    return _given_up(error.error_class, user_error=isinstance(error, UserError))


@lru_cache(maxsize=256)
def _given_up(error_class: str, *, user_error: bool) -> Verdict:
    """Return the verdict on what was given up; the message is what the exception says."""
    return Verdict(error_class, retryable=False, blames_upstream=False, user_error=user_error)


def _verdict_of_circuit_open(error: CircuitOpen, _now: Instant) -> Verdict:
    wait_us = None if error.wait_s is None else int(error.wait_s * SECOND_US)
    return Verdict(ErrorClass.CIRCUIT_OPEN, retryable=True, retry_after_us=wait_us)


def _verdict_of_os_error(error: OSError, _now: Instant) -> Verdict | None:
    if error.errno in _RESOURCES_SHORT:
        return IO_RETRY
    return UNSENT if error.errno in _UNREACHABLE else None


def _verdict_of_exit_code(error: subprocess.CalledProcessError, _now: Instant) -> Verdict:
    if error.returncode < 0:
        return CRASH
    return _BY_EXIT_CODE.get(error.returncode, PROCESS)


GIVE_UP: Final = Rule(GiveUp, _verdict_of_give_up)
"""Before every other rule: a handler that gives up knows best."""

STANDARD: Final[tuple[Rule, ...]] = (
    Rule(StoreCorrupt, IO_STOP),
    Rule(CircuitOpen, _verdict_of_circuit_open),
    # The store is ours, whatever the stage calls.
    Rule(UnavailableError, replace(NETWORK, blames_upstream=False)),
    Rule(StaleRevision, CONFLICT),
    Rule(ConflictError, CONFLICT_FINAL),
    Rule(Exception, verdict_of_response, reads_answer=True),
    Rule(ssl.SSLCertVerificationError, AUTH),
    Rule(ssl.SSLError, NETWORK),
    Rule(TimeoutError, TIMEOUT),
    # Nothing was sent to an address that was never found or that never answered.
    Rule((ConnectionRefusedError, socket.gaierror), UNSENT),
    Rule(ConnectionError, NETWORK),
    Rule((FileNotFoundError, PermissionError), IO_STOP),
    Rule(OSError, _verdict_of_os_error),
    Rule(MemoryError, IO_RETRY),
    Rule(subprocess.TimeoutExpired, TIMEOUT),
    Rule(subprocess.CalledProcessError, _verdict_of_exit_code),
    Rule(BrokenExecutor, CRASH),
    # Known to be bugs, whatever was being handled when they were made.
    Rule((TypeError, AttributeError, NameError, LookupError, AssertionError, ArithmeticError), BUG),
)
