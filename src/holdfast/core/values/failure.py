"""Why an attempt failed: the facts that decide what follows and that a person reads later."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, NoReturn, Self, TypeAlias, TypeVar

from holdfast.errors import InvalidDocument, InvalidValue, checked_error_class

MAX_MESSAGE_LENGTH: Final = 2_000
MAX_STACK_LENGTH: Final = 16_000
MAX_EXCEPTION_TYPE_LENGTH: Final = 200
MAX_ANSWER_LENGTH: Final = 1_000
MAX_RETRY_AFTER_US: Final = 365 * 24 * 3600 * 1_000_000

# Control characters other than newline and tab, and surrogates: databases refuse some of them,
# terminals obey others.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

_SAFE_ASCII: Final = b"\t\n" + bytes(range(0x20, 0x7F))
_LONGEST_MARKER: Final = 48
_BOOL: Final = frozenset({bool})
_ALL_BOOLS: Final = (bool,) * 6
_INT_OR_NONE: Final = frozenset({int, type(None)})

_Kind = TypeVar("_Kind", bound=StrEnum)


_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Category(StrEnum):
    """What kind of thing went wrong."""

    TRANSIENT = "TRANSIENT"
    """It may succeed if tried again: timeouts, lost connections, rate limits, 5xx."""
    PERMANENT = "PERMANENT"
    """It cannot succeed until the input or the code changes."""
    CRITICAL = "CRITICAL"
    """It cannot succeed for any job until a person acts: credentials, permissions, quota."""


class Severity(StrEnum):
    """How loudly to say it."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


class ErrorClass(StrEnum):
    """The error classes holdfast assigns; handlers and rules may use any UPPER_SNAKE name."""

    NETWORK_TIMEOUT = "NETWORK_TIMEOUT"
    NETWORK = "NETWORK"
    RATE_LIMITED = "RATE_LIMITED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    UPSTREAM_5XX = "UPSTREAM_5XX"
    AUTH_DENIED = "AUTH_DENIED"
    NOT_FOUND = "NOT_FOUND"
    INVALID = "INVALID"
    CONTENT_POLICY = "CONTENT_POLICY"
    CONFLICT = "CONFLICT"
    IO_ERROR = "IO_ERROR"
    SATURATED = "SATURATED"
    PROCESS_FAILED = "PROCESS_FAILED"
    BUG = "BUG"
    WORKER_LOST = "WORKER_LOST"
    WORKER_CRASH = "WORKER_CRASH"
    HANDLER_STOPPED = "HANDLER_STOPPED"
    STAGE_TIMEOUT = "STAGE_TIMEOUT"
    CALLBACK_TIMEOUT = "CALLBACK_TIMEOUT"
    TIMEOUT = "TIMEOUT"
    PAYLOAD_INVALID = "PAYLOAD_INVALID"
    RESULT_INVALID = "RESULT_INVALID"
    SNOOZED_TOO_OFTEN = "SNOOZED_TOO_OFTEN"
    CIRCUIT_OPEN = "CIRCUIT_OPEN"
    EVIDENCE_MISSING = "EVIDENCE_MISSING"
    WITHDRAWN = "WITHDRAWN"


class _Facts(NamedTuple):
    error_class: str
    message: str
    category: Category
    retryable: bool
    severity: Severity
    outcome_known: bool
    http_status: int | None
    retry_after_us: int | None
    attempts: int | None
    """At most this many attempts of a stage may end like this, whatever its budget."""
    own_budget: bool
    """Whether so many may, also when the stage's budget is used up by then."""
    spends_attempt: bool
    """Whether it uses up an attempt of the stage; what no job can help does not."""
    blames_upstream: bool
    """Whether this is evidence that the upstream is unwell: what a breaker counts.

    Timeouts, lost connections and 5xx are; refusals, rate limits and our own troubles are not.
    """
    exception_type: str
    stack: str
    user_error: bool
    """Whether the job's sender made the mistake: it is shown to them and counted, and leaves
    no dead letter."""
    answer: str
    """What the upstream answered, redacted and cut, where the exception carries it."""


SafeFacts: TypeAlias = tuple[
    str,
    str,
    Category,
    bool,
    Severity,
    bool,
    int | None,
    int | None,
    int | None,
    bool,
    bool,
    bool,
    str,
    str,
    bool,
    str,
]
"""The fields of `_Facts`, one by one."""


class Failure(_Facts):
    """The facts of one failed attempt.

    Texts are made safe and cut to their limits here, so that a failure can always be stored:
    what is wrong with a message must never hide what was wrong with the attempt.
    `outcome_known` is false when the upstream may have done what was asked although no answer came.
    """

    # A tuple, because making this is a good part of what a failed attempt costs a worker.
    def __new__(  # noqa: D102 - the class says it
        cls,
        *,
        error_class: str,
        message: str,
        category: Category,
        retryable: bool,
        severity: Severity = Severity.ERROR,
        outcome_known: bool = True,
        http_status: int | None = None,
        retry_after_us: int | None = None,
        attempts: int | None = None,
        own_budget: bool = False,
        spends_attempt: bool = True,
        blames_upstream: bool = False,
        exception_type: str = "",
        stack: str = "",
        user_error: bool = False,
        answer: str = "",
    ) -> Self:
        if type(error_class) is not str or not _is_error_class(error_class):
            error_class = checked_error_class(error_class, owner="Failure")
        # Most are short lines, as they should be.
        if not message or len(message) > MAX_MESSAGE_LENGTH or not message.isprintable():
            message = clean_text(message, MAX_MESSAGE_LENGTH) or error_class
        if len(exception_type) > MAX_EXCEPTION_TYPE_LENGTH or not exception_type.isprintable():
            exception_type = clean_text(exception_type, MAX_EXCEPTION_TYPE_LENGTH)
        # Made by holdfast itself they are members already, and most failures are.
        if type(category) is not Category:
            category = _member(Category, category, field="category")
        if type(severity) is not Severity:
            severity = _member(Severity, severity, field="severity")
        flags: tuple[type, ...] = (
            type(retryable),
            type(outcome_known),
            type(blames_upstream),
            type(own_budget),
            type(spends_attempt),
            type(user_error),
        )
        if flags != _ALL_BOOLS:
            _refuse_kind(
                _BOOL,
                "bool",
                retryable=retryable,
                outcome_known=outcome_known,
                blames_upstream=blames_upstream,
                own_budget=own_budget,
                spends_attempt=spends_attempt,
                user_error=user_error,
            )
        if not (
            type(http_status) in _INT_OR_NONE
            and type(attempts) in _INT_OR_NONE
            and type(retry_after_us) in _INT_OR_NONE
        ):
            _refuse_kind(
                _INT_OR_NONE,
                "int or None",
                http_status=http_status,
                attempts=attempts,
                retry_after_us=retry_after_us,
            )
        if retry_after_us is not None and not 0 <= retry_after_us <= MAX_RETRY_AFTER_US:
            retry_after_us = min(max(retry_after_us, 0), MAX_RETRY_AFTER_US)
        return _Facts.__new__(
            cls,
            error_class,
            message,
            category,
            retryable,
            severity,
            outcome_known,
            http_status,
            retry_after_us,
            attempts,
            own_budget,
            spends_attempt,
            blames_upstream,
            exception_type,
            clean_text(stack, MAX_STACK_LENGTH),
            user_error,
            clean_text(answer, MAX_ANSWER_LENGTH),
        )

    @classmethod
    def of_safe(cls, facts: SafeFacts) -> Self:
        """The failure of facts, in their order, that are as safe and as cut as they need to be.

        For `classify` alone, which sees to that itself: it makes one for every failed attempt.
        """
        return tuple.__new__(cls, facts)

    def _replace(self, **changes: Any) -> Self:  # noqa: ANN401 - the fields of the tuple
        """Return the failure with other facts, made as safe as if it were new."""
        return type(self)(**(self._asdict() | changes))

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        return (), self._asdict()

    @cached_property
    def text(self) -> str:
        """The document as JSON, made once: a failure is decided upon, stored and reported."""
        return _encode(self.to_document())

    def to_document(self) -> dict[str, Any]:
        """Plain JSON values in a stable order."""
        return {
            "error_class": self.error_class,
            "message": self.message,
            "category": self.category.value,
            "retryable": self.retryable,
            "severity": self.severity.value,
            "outcome_known": self.outcome_known,
            "http_status": self.http_status,
            "retry_after_us": self.retry_after_us,
            "attempts": self.attempts,
            "own_budget": self.own_budget,
            "spends_attempt": self.spends_attempt,
            "blames_upstream": self.blames_upstream,
            "exception_type": self.exception_type,
            "stack": self.stack,
            "user_error": self.user_error,
            **({"answer": self.answer} if self.answer else {}),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Failure:
        """The failure that `to_document` wrote; fields a newer holdfast added are ignored."""
        known = {name: document[name] for name in cls._fields if name in document}
        try:
            return cls(**known)
        except (TypeError, InvalidValue) as error:
            raise InvalidDocument(
                "failure", path="", limit="what Failure.to_document writes", found=str(error)
            ) from error


@lru_cache(maxsize=1024)
def _is_error_class(text: str) -> bool:
    """Return whether the text is an error class; few of them make up most failures."""
    try:
        checked_error_class(text, owner="Failure")
    except InvalidValue:
        return False
    return True


def _refuse_kind(kinds: frozenset[type], limit: str, **given: object) -> NoReturn:
    """Raise about the first of these fields that is of no such kind."""
    # A bool is an int to isinstance, and none here.
    name, value = next(item for item in given.items() if type(item[1]) not in kinds)
    raise InvalidValue("Failure", field=name, value=value, limit=limit)


def _member(kind: type[_Kind], value: str, *, field: str) -> _Kind:
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(member.value for member in kind)
        raise InvalidValue("Failure", field=field, value=value, limit=f"one of {names}") from None


def clean_text(text: str, limit: int) -> str:
    """Return the text, safe to store and to print, in at most `limit` characters; it never raises.

    NUL, other control characters except newline and tab, and lone surrogates become visible
    escapes. A text that is cut says how long it was.
    """
    kept = text if len(text) <= limit else text[: limit + 1]
    # Whether there is anything to escape is found out much faster than what.
    if not kept.isascii() or kept.encode("ascii").translate(None, _SAFE_ASCII):
        kept = _UNSAFE.sub(_escaped, kept)
    if len(kept) <= limit:
        return kept
    marker = f"… [cut, {len(text)} characters]"
    if limit <= len(marker):
        return kept[:limit]
    return _without_half_a_marker(kept[: limit - len(marker)]) + marker


def _without_half_a_marker(text: str) -> str:
    """Return the text, but for a `[redacted:…]` at its end that lacks its end."""
    start = text.rfind("[redacted:", max(0, len(text) - _LONGEST_MARKER))
    return text if start < 0 or "]" in text[start:] else text[:start]


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def _of_the_engine(
    error_class: ErrorClass,
    message: str,
    *,
    retryable: bool,
    outcome_known: bool,
    severity: Severity = Severity.ERROR,
    blames_upstream: bool = False,
    attempts: int | None = None,
) -> Failure:
    return Failure(
        error_class=error_class,
        message=message,
        category=Category.TRANSIENT if retryable else Category.PERMANENT,
        retryable=retryable,
        severity=severity,
        outcome_known=outcome_known,
        blames_upstream=blames_upstream,
        attempts=attempts,
    )


WORKER_LOST: Final = _of_the_engine(
    ErrorClass.WORKER_LOST,
    "the lease expired: the worker stopped renewing it",
    retryable=True,
    outcome_known=False,
)
WORKER_CRASH: Final = _of_the_engine(
    ErrorClass.WORKER_CRASH,
    "the process that ran the handler died",
    retryable=True,
    outcome_known=False,
)
HANDLER_STOPPED: Final = _of_the_engine(
    ErrorClass.HANDLER_STOPPED,
    "the handler stopped itself: it was cancelled from inside, or it exited",
    retryable=True,
    outcome_known=False,
)
STAGE_TIMEOUT: Final = _of_the_engine(
    ErrorClass.STAGE_TIMEOUT,
    "the attempt ran longer than the stage's timeout",
    retryable=True,
    outcome_known=False,
    blames_upstream=True,
)
CALLBACK_TIMEOUT: Final = _of_the_engine(
    ErrorClass.CALLBACK_TIMEOUT,
    "no callback came within the time the stage allows",
    retryable=True,
    outcome_known=False,
    blames_upstream=True,
)
DEADLINE: Final = _of_the_engine(
    ErrorClass.TIMEOUT,
    "the job's deadline passed",
    retryable=False,
    outcome_known=False,
)
PAYLOAD_INVALID: Final = _of_the_engine(
    ErrorClass.PAYLOAD_INVALID,
    "the stored payload cannot be read",
    retryable=False,
    outcome_known=True,
)
RESULT_INVALID: Final = _of_the_engine(
    ErrorClass.RESULT_INVALID,
    "the handler returned something that cannot be stored as JSON",
    retryable=False,
    outcome_known=True,
)
BUG: Final = _of_the_engine(
    ErrorClass.BUG,
    "the handler raised an exception that no rule knows",
    retryable=False,
    outcome_known=False,
    severity=Severity.CRITICAL,
)
CIRCUIT_OPEN: Final = _of_the_engine(
    ErrorClass.CIRCUIT_OPEN,
    "the upstream was not called: its breaker is open",
    retryable=True,
    outcome_known=True,
    attempts=1,
)
"""It passes with time, but those who chose to fail fast want to hear of it at once."""
SNOOZED_TOO_OFTEN: Final = _of_the_engine(
    ErrorClass.SNOOZED_TOO_OFTEN,
    "the handler postponed itself more often than the stage allows",
    retryable=False,
    outcome_known=True,
)
EVIDENCE_MISSING: Final = _of_the_engine(
    ErrorClass.EVIDENCE_MISSING,
    "the delivery was marked as sent, and the provider knows nothing of it",
    retryable=False,
    outcome_known=True,
    severity=Severity.CRITICAL,
)
WITHDRAWN: Final = _of_the_engine(
    ErrorClass.WITHDRAWN,
    "the delivery was given up by a person",
    retryable=False,
    outcome_known=True,
)
