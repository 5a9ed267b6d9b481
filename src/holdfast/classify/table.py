"""Rules that turn exceptions into failures: an ordered table, and the search through it."""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.classify.describe import (
    causes_of,
    describe,
    leaves_of,
    message_of,
    type_name,
)
from holdfast.classify.http_facts import retry_after_us_of, status_of
from holdfast.core.failure import BUG, Category, Failure, Severity
from holdfast.core.instant import Instant
from holdfast.errors import InvalidPolicy, RetryLater, checked_error_class

MAX_EXCEPTIONS: Final = 256
"""How many exceptions one classification looks at, causes and members together."""

_NAME: Final = re.compile(r"[A-Za-z_][\w.]*\.(?:\w+|\*)")
_NOT_FAILURES: Final = (CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit, RetryLater)

_SEVERITY_OF: Final = {
    Category.TRANSIENT: Severity.WARNING,
    Category.PERMANENT: Severity.ERROR,
    Category.CRITICAL: Severity.CRITICAL,
}


def _check_kind(name: str, value: object, *kinds: type) -> None:
    if type(value) not in kinds:
        limit = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
        raise InvalidPolicy("Verdict", field=name, value=value, limit=limit)


def _check_match(match: object) -> None:
    limit = "an exception class, a tuple of them, or a name like 'package.Class' or 'package.*'"
    if isinstance(match, str):
        valid = _NAME.fullmatch(match) is not None
    else:
        kinds = match if isinstance(match, tuple) else (match,)
        valid = bool(kinds) and all(
            isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds
        )
    if not valid:
        raise InvalidPolicy("Rule", field="match", value=match, limit=limit)


def _is_named(kind: type[BaseException], pattern: str) -> bool:
    package, _, name = pattern.rpartition(".")
    return any(
        (name in ("*", each.__name__))
        and (each.__module__ == package or each.__module__.startswith(f"{package}."))
        for each in kind.__mro__
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says about an exception.

    Left out, the category follows from `retryable`, the severity from the category, and status
    and Retry-After from what the exception carries. `outcome_known=False` says that the upstream
    may have done what was asked.
    """

    error_class: str
    retryable: bool
    category: Category | None = None
    severity: Severity | None = None
    outcome_known: bool = True
    message: str | None = None

    def __post_init__(self) -> None:
        plain_name = checked_error_class(self.error_class, owner="Verdict")
        object.__setattr__(self, "error_class", plain_name)
        _check_kind("retryable", self.retryable, bool)
        _check_kind("outcome_known", self.outcome_known, bool)
        _check_kind("category", self.category, Category, type(None))
        _check_kind("severity", self.severity, Severity, type(None))

    @property
    def effective_category(self) -> Category:
        """The category, given or implied."""
        return self.category or (Category.TRANSIENT if self.retryable else Category.PERMANENT)

    @property
    def effective_severity(self) -> Severity:
        """The severity, given or implied."""
        return self.severity or _SEVERITY_OF[self.effective_category]


Judge: TypeAlias = Callable[[Any, Instant], Verdict | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """Exceptions that match get this verdict.

    `match` is an exception class, a tuple of them, or a name for classes of a library that may not
    be installed: `"requests.ReadTimeout"` is any class of that name (or derived from it) in the
    package `requests` or below it; `"openai.*"` is every class of the package.
    `verdict` may be a function of the exception and the current instant; its None means that the
    rule does not apply, and the search goes on.
    """

    match: type[BaseException] | tuple[type[BaseException], ...] | str
    verdict: Verdict | Judge

    def __post_init__(self) -> None:
        _check_match(self.match)
        if not isinstance(self.verdict, Verdict) and not callable(self.verdict):
            raise InvalidPolicy(
                "Rule", field="verdict", value=self.verdict, limit="a Verdict or a function"
            )

    def verdict_on(self, exception: BaseException, *, now: Instant) -> Verdict | None:
        """The verdict, or None when this rule has nothing to say about the exception."""
        if isinstance(self.match, str):
            if not _is_named(type(exception), self.match):
                return None
        elif not isinstance(exception, self.match):
            return None
        return self.verdict if isinstance(self.verdict, Verdict) else self.verdict(exception, now)


_BUG: Final = Verdict(BUG.error_class, retryable=False, severity=BUG.severity, outcome_known=False)


def is_failure(exception: BaseException) -> bool:
    """Whether the exception says that the attempt failed.

    It does not when it says that the attempt was stopped (cancellation, a signal, an exit) or that
    it wants to be postponed. A group is a failure when anything in it is.
    """
    return any(not isinstance(leaf, _NOT_FAILURES) for leaf in leaves_of(exception))


def classify_by(exception: BaseException, rules: Sequence[Rule], *, now: Instant) -> Failure:
    """The failure that the first matching rule makes of the exception.

    What the exception came from is looked at only when no rule knows the exception itself; of a
    group, the gravest member decides. What nothing matches is a bug, which is not retried.
    What is no failure (see `is_failure`) is raised again as it came.
    """
    if not is_failure(exception):
        raise exception
    search = _Search(rules=rules, now=now)
    found = search.finding_on(exception)
    described = describe(exception)
    verdict = found.verdict
    return Failure(
        error_class=verdict.error_class,
        message=verdict.message or described.message,
        category=verdict.effective_category,
        retryable=verdict.retryable,
        severity=verdict.effective_severity,
        outcome_known=verdict.outcome_known,
        http_status=found.http_status,
        retry_after_us=found.retry_after_us,
        exception_type=described.exception_type,
        stack="\n".join((*search.troubles, described.stack)),
    )


class _Finding(NamedTuple):
    """A verdict with what the judged exception carried."""

    verdict: Verdict
    http_status: int | None
    retry_after_us: int | None

    @property
    def gravity(self) -> tuple[bool, bool, int]:
        """Orders the members of a group: one that cannot succeed decides for all."""
        verdict = self.verdict
        return (
            not verdict.retryable,
            verdict.effective_category is Category.CRITICAL,
            self.retry_after_us or 0,
        )


@dataclass(slots=True)
class _Search:
    """One walk through an exception, its causes and its members, with an end even to circles."""

    rules: Sequence[Rule]
    now: Instant
    troubles: list[str] = field(default_factory=list)
    exceptions_left: int = MAX_EXCEPTIONS

    def finding_on(self, exception: BaseException) -> _Finding:
        for candidate in causes_of(exception):
            self.exceptions_left -= 1
            if self.exceptions_left < 0:
                break
            if isinstance(candidate, BaseExceptionGroup):
                members = filter(is_failure, leaves_of(candidate))
                findings = [self.finding_on(member) for member in members]
                if findings:
                    return max(findings, key=lambda finding: finding.gravity)
            verdict = self._verdict_on(candidate)
            if verdict is not None:
                return self._finding(candidate, verdict)
        return self._finding(exception, _BUG)

    def _verdict_on(self, exception: BaseException) -> Verdict | None:
        for rule in self.rules:
            try:
                verdict = rule.verdict_on(exception, now=self.now)
            except Exception as error:  # noqa: BLE001 - a broken rule must not hide the failure
                self.troubles.append(f"a rule raised {type_name(error)}: {message_of(error, 200)}")
                continue
            if verdict is not None:
                return verdict
        return None

    def _finding(self, exception: BaseException, verdict: Verdict) -> _Finding:
        retry_after_us = None
        if verdict.retryable:
            retry_after_us = retry_after_us_of(exception, now=self.now)
        return _Finding(verdict, status_of(exception), retry_after_us)
