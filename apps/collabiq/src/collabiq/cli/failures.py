"""What a command ends with after an error: an exit code and one line."""

from __future__ import annotations

import sys
from typing import Any, Final

from collabiq.cli.output import CommandFailed, ExitCode
from collabiq.extract import AnswerInvalid
from collabiq.gmail.errors import GmailFailure, GrantRevoked, InvalidCredentials
from collabiq.mail import MailTooLarge, NotAMail
from collabiq.notion.errors import MissingColumn, NotionFailure
from collabiq.notion.schema import InvalidFieldMap
from collabiq.refusals import Refused
from collabiq.secrets import InfisicalFailure, MissingSecrets
from collabiq.starting import MissingAtStart
from holdfast.errors import (
    HoldfastError,
    InvalidSetting,
    UnknownJob,
    UnknownLetter,
    UsageError,
)

_CODES: Final[tuple[tuple[type[Exception], ExitCode], ...]] = (
    (InvalidSetting, ExitCode.CONFIGURATION),
    (InvalidCredentials, ExitCode.CONFIGURATION),
    (GrantRevoked, ExitCode.CONFIGURATION),
    (MissingSecrets, ExitCode.CONFIGURATION),
    (MissingAtStart, ExitCode.CONFIGURATION),
    (InvalidFieldMap, ExitCode.CONFIGURATION),
    (MissingColumn, ExitCode.CONFIGURATION),
    (GmailFailure, ExitCode.API),
    (NotionFailure, ExitCode.API),
    (InfisicalFailure, ExitCode.API),
    (AnswerInvalid, ExitCode.API),
    (NotAMail, ExitCode.VALIDATION),
    (MailTooLarge, ExitCode.VALIDATION),
    (UnknownJob, ExitCode.ERROR),
    (UnknownLetter, ExitCode.ERROR),
    (UsageError, ExitCode.VALIDATION),
    (HoldfastError, ExitCode.ERROR),
)
_INVALID: Final = frozenset({400, 413, 422})
"""How HTTP answers what was given and cannot be used; elsewhere the input is fine."""
_HTTP_ERRORS: Final = (
    ("google.genai.errors", "APIError"),
    ("httpx", "HTTPError"),
    ("httpx2", "HTTPError"),
    ("requests", "RequestException"),
)


def failure_of(error: Exception) -> CommandFailed | None:
    """Return how a command ends by an error; None for one that is a mistake of ours."""
    if isinstance(error, CommandFailed):
        return error
    if isinstance(error, Refused):
        code = ExitCode.VALIDATION if error.status in _INVALID else ExitCode.ERROR
        return CommandFailed(code, error.message)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return CommandFailed(code, str(error))
    if _is_of_an_sdk(error):
        status: Any = getattr(error, "code", None)
        words = f" ({status})" if isinstance(status, int) else ""
        # Its message may repeat what was sent.
        return CommandFailed(ExitCode.API, f"the API did not answer{words}: {type(error).__name__}")
    if isinstance(error, OSError):
        why = error.strerror or type(error).__name__
        return CommandFailed(ExitCode.ERROR, f"a file or connection failed: {why}")
    return None


def _is_of_an_sdk(error: Exception) -> bool:
    """Return whether an SDK raised it; one that was not imported has not."""
    for module, name in _HTTP_ERRORS:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return True
    return False
