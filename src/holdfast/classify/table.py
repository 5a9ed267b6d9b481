"""Rules that turn exceptions into failures: an ordered table, and the search through it."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeAlias
from weakref import ref

from holdfast.classify.facts.answer import answer_of
from holdfast.classify.facts.describe import causes_of, leaves_of, message_of, stack_of, type_name
from holdfast.classify.facts.http import may_carry_answer, retry_after_us_of, status_of
from holdfast.classify.rule import Judge, Rule, Verdict
from holdfast.core.values.failure import (
    BUG,
    MAX_MESSAGE_LENGTH,
    MAX_STACK_LENGTH,
    Category,
    Failure,
    clean_text,
)
from holdfast.core.values.instant import Instant
from holdfast.core.values.retry import MAX_ATTEMPTS
from holdfast.errors import RetryLater
from holdfast.secrecy import safe_text

__all__ = ["Judge", "Rule", "Table", "Verdict", "classify_by", "is_failure"]

MAX_EXCEPTIONS: Final = 256
"""How many exceptions one classification looks at, causes and members together."""

_NOT_FAILURES: Final = (CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit, RetryLater)
_SELDOM_FAILURES: Final = (*_NOT_FAILURES, BaseExceptionGroup)

_Finding: TypeAlias = tuple[Verdict, int | None, int | None, bool]
"""A verdict, with the HTTP status and the Retry-After that the judged exception carried, and
whether it blames the upstream."""


class Table:
    """Rules in their order; which of them are about a class of exceptions is worked out once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        # By identity: a metaclass may forbid hashing, and a class must be free to go.
        self._known: dict[int, tuple[ref[type[BaseException]], tuple[Rule, ...]]] = {}

    def rules_for(self, kind: type[BaseException]) -> tuple[Rule, ...]:
        """Return the rules that match exceptions of this class, in their order."""
        identity = id(kind)
        known = self._known.get(identity)
        if known is not None and known[0]() is kind:
            return known[1]
        rules = tuple(rule for rule in self.rules if rule.matches(kind))
        forget = ref(kind, lambda _: self._known.pop(identity, None))
        self._known[identity] = (forget, rules)
        return rules

    def verdict_on(self, exception: BaseException, *, now: Instant) -> Verdict | None:
        """What the first rule with something to say says; None when none has, or can."""
        has_answer = may_carry_answer(exception)
        for rule in self.rules_for(type(exception)):
            if rule.reads_answer and not has_answer:
                continue
            # Reading a foreign exception may run foreign code, and that may raise anything.
            with suppress(Exception):
                verdict = rule.judge(exception, now)
                if verdict is not None:
                    return verdict
        return None


_EMPTY: Final = Table(())
_BUG: Final = Verdict(BUG.error_class, retryable=False, severity=BUG.severity, outcome_known=False)


def is_failure(exception: BaseException) -> bool:
    """Return whether the exception says that the attempt failed.

    It does not when it says that the attempt was stopped (cancellation, a signal, an exit) or that
    it wants to be postponed. A group is a failure when anything in it is.
    """
    if isinstance(exception, BaseExceptionGroup):
        return any(not isinstance(leaf, _NOT_FAILURES) for leaf in leaves_of(exception))
    return not isinstance(exception, _NOT_FAILURES)


def classify_by(
    exception: BaseException, rules: Sequence[Rule], *, table: Table = _EMPTY, now: Instant
) -> Failure:
    """The failure that the first matching rule makes of the exception; `table` comes after `rules`.

    What the exception came from is looked at only when no rule knows the exception itself; of a
    group, the gravest member decides. What nothing matches is a bug, which is not retried.
    What is no failure (see `is_failure`) is raised again as it came.
    """
    failure = failure_by(exception, rules, table=table, now=now)
    if failure is None:
        raise exception
    return failure


def failure_by(
    exception: BaseException, rules: Sequence[Rule], *, table: Table, now: Instant
) -> Failure | None:
    """As `classify_by`; None for what is no failure."""
    if isinstance(exception, _SELDOM_FAILURES) and not is_failure(exception):
        return None
    troubles: list[str] = []
    if (
        exception.__cause__ is not None
        or exception.__context__ is not None
        or isinstance(exception, BaseExceptionGroup)
    ):
        found = _Search(rules, table, now, troubles).finding_on(exception)
    else:
        found = _found_on(exception, rules, table, now, troubles) or _bug(exception, table, now)
    verdict, http_status, retry_after_us, blames_upstream = found
    kind, message = type_name(exception), message_of(exception)
    stack = stack_of(exception, kind, message)
    if verdict.message:
        message = safe_text(verdict.message, MAX_MESSAGE_LENGTH)
    if troubles:
        stack = clean_text("\n".join((*troubles, stack)), MAX_STACK_LENGTH)
    return Failure.of_safe(
        (
            verdict.error_class,
            message or kind or verdict.error_class,
            verdict.effective_category,
            verdict.retryable,
            verdict.effective_severity,
            verdict.outcome_known,
            http_status,
            retry_after_us,
            verdict.attempts,
            verdict.own_budget,
            verdict.spends_attempt,
            blames_upstream,
            kind,
            stack,
            verdict.user_error,
            "" if http_status is None else answer_of(exception),
        )
    )


def _gravity(finding: _Finding) -> tuple[bool, bool, int, int]:
    """Orders the members of a group: one that cannot succeed decides for all."""
    verdict, _, retry_after_us, _ = finding
    return (
        not verdict.retryable,
        verdict.effective_category is Category.CRITICAL,
        -(verdict.attempts or MAX_ATTEMPTS),
        retry_after_us or 0,
    )


class _Search:
    """One walk through an exception, its causes and its members, with an end even to circles."""

    __slots__ = ("exceptions_left", "now", "rules", "table", "troubles")

    def __init__(
        self, rules: Sequence[Rule], table: Table, now: Instant, troubles: list[str]
    ) -> None:
        self.rules = rules
        self.table = table
        self.now = now
        self.troubles = troubles
        self.exceptions_left = MAX_EXCEPTIONS

    def finding_on(self, exception: BaseException) -> _Finding:
        for candidate in causes_of(exception):
            self.exceptions_left -= 1
            if self.exceptions_left < 0:
                break
            if isinstance(candidate, BaseExceptionGroup):
                members = filter(is_failure, leaves_of(candidate))
                findings = [self.finding_on(member) for member in members]
                if findings:
                    return max(findings, key=_gravity)
            found = _found_on(candidate, self.rules, self.table, self.now, self.troubles)
            if found is not None:
                return found
        return _bug(exception, self.table, self.now)


def _bug(exception: BaseException, table: Table, now: Instant) -> _Finding:
    return _finding(exception, _BUG, table, now, speaks_http=True)


def _found_on(
    exception: BaseException,
    rules: Sequence[Rule],
    table: Table,
    now: Instant,
    troubles: list[str],
) -> _Finding | None:
    """What is found on this very exception; None when no rule knows it."""
    has_answer = may_carry_answer(exception)
    for rule in rules:
        if rule.reads_answer and not has_answer:
            continue
        try:
            verdict = rule.verdict_on(exception, now=now)
        except Exception as error:  # noqa: BLE001 - a broken rule must not hide the failure
            troubles.append(_trouble(error))
            continue
        if verdict is not None:
            speaks_http = has_answer and rule.speaks_http
            return _finding(exception, verdict, table, now, speaks_http=speaks_http)
    for rule in table.rules_for(type(exception)):
        if rule.reads_answer and not has_answer:
            continue
        said = rule.verdict
        try:
            verdict = said if isinstance(said, Verdict) else said(exception, now)
        except Exception as error:  # noqa: BLE001 - as above
            troubles.append(_trouble(error))
            continue
        if verdict is not None:
            speaks_http = has_answer and rule.speaks_http
            return _finding(exception, verdict, table, now, speaks_http=speaks_http)
    return None


def _trouble(error: Exception) -> str:
    return f"a rule raised {type_name(error)}: {message_of(error, 200)}"


def _finding(
    exception: BaseException, verdict: Verdict, table: Table, now: Instant, *, speaks_http: bool
) -> _Finding:
    status, retry_after_us = None, verdict.retry_after_us if verdict.retryable else None
    if speaks_http:
        status = status_of(exception)
        if verdict.retryable:
            asked_us = retry_after_us_of(exception, now=now)
            retry_after_us = retry_after_us if asked_us is None else asked_us
    blame = verdict.effective_blame
    if blame is None:
        # A verdict that only gives the failure another name leaves the evidence as it is.
        usual = table.verdict_on(exception, now=now)
        blame = usual is not None and bool(usual.effective_blame)
    return verdict, status, retry_after_us, blame
