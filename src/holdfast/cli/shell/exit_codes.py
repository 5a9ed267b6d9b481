"""What a command's exit code says, and which error leads to which."""

from __future__ import annotations

from enum import IntEnum

from holdfast.errors import (
    ConflictError,
    UnavailableError,
    UnknownDelivery,
    UnknownJob,
    UnknownLetter,
    UnknownMessage,
    UnknownReplay,
    UnknownToken,
    UnknownUpstream,
    UnknownWorker,
    UsageError,
)


class ExitCode(IntEnum):
    """Documented in `holdfast --help`; scripts rely on them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5
    ATTENTION = 6
    INTERRUPTED = 130


def code_of(error: BaseException) -> ExitCode:
    """Return the exit code of a command that ends with `error`."""
    match error:
        case (
            UnknownJob()
            | UnknownLetter()
            | UnknownMessage()
            | UnknownReplay()
            | UnknownUpstream()
            | UnknownDelivery()
            | UnknownWorker()
            | UnknownToken()
        ):
            return ExitCode.NOT_FOUND
        case UsageError():
            return ExitCode.USAGE
        case ConflictError():
            return ExitCode.REFUSED
        case UnavailableError():
            return ExitCode.UNREACHABLE
        case _:
            return ExitCode.FAILED
