"""Rules that turn exceptions into failures: an ordered table, and the search through it."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple
from weakref import ref

from holdfast.classify.describe import (
    causes_of,
    describe,
    leaves_of,
    message_of,
    type_name,
)
from holdfast.classify.http_facts import retry_after_us_of, status_of
from holdfast.classify.rule import Judge, Rule, Verdict
from holdfast.core.failure import BUG, MAX_MESSAGE_LENGTH, Category, Failure
from holdfast.core.instant import Instant
from holdfast.core.retry import MAX_ATTEMPTS
from holdfast.errors import RetryLater
from holdfast.secrecy import safe_text

__all__ = ["Judge", "Rule", "Table", "Verdict", "classify_by", "is_failure"]

MAX_EXCEPTIONS: Final = 256
"""How many exceptions one classification looks at, causes and members together."""

_NOT_FAILURES: Final = (CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit, RetryLater)


class Table:
    """Rules in their order; which of them are about a class of exceptions is worked out once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        # By identity: a metaclass may forbid hashing, and a class must be free to go.
        self._known: dict[int, tuple[ref[type[BaseException]], tuple[Rule, ...]]] = {}

    def rules_for(self, kind: type[BaseException]) -> tuple[Rule, ...]:
        """The rules that match exceptions of this class, in their order."""
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
        for rule in self.rules_for(type(exception)):
            # Reading a foreign exception may run foreign code, and that may raise anything.
            with suppress(Exception):
                verdict = rule.judge(exception, now)
                if verdict is not None:
                    return verdict
        return None


_EMPTY: Final = Table(())
_BUG: Final = Verdict(BUG.error_class, retryable=False, severity=BUG.severity, outcome_known=False)


def is_failure(exception: BaseException) -> bool:
    """Whether the exception says that the attempt failed.

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
    if not is_failure(exception):
        raise exception
    search = _Search(rules, table, now)
    found = search.finding_on(exception)
    described = describe(exception)
    verdict = found.verdict
    stack = described.stack
    told = verdict.message
    return Failure(
        error_class=verdict.error_class,
        message=safe_text(told, MAX_MESSAGE_LENGTH) if told else described.message,
        category=verdict.effective_category,
        retryable=verdict.retryable,
        severity=verdict.effective_severity,
        outcome_known=verdict.outcome_known,
        http_status=found.http_status,
        retry_after_us=found.retry_after_us,
        attempts=verdict.attempts,
        own_budget=verdict.own_budget,
        blames_upstream=found.blames_upstream,
        exception_type=described.exception_type,
        stack="\n".join((*search.troubles, stack)) if search.troubles else stack,
    )


class _Finding(NamedTuple):
    """A verdict with what the judged exception carried."""

    verdict: Verdict
    http_status: int | None
    retry_after_us: int | None
    blames_upstream: bool

    @property
    def gravity(self) -> tuple[bool, bool, int, int]:
        """Orders the members of a group: one that cannot succeed decides for all."""
        verdict = self.verdict
        return (
            not verdict.retryable,
            verdict.effective_category is Category.CRITICAL,
            -(verdict.attempts or MAX_ATTEMPTS),
            self.retry_after_us or 0,
        )


class _Search:
    """One walk through an exception, its causes and its members, with an end even to circles."""

    __slots__ = ("exceptions_left", "now", "rules", "table", "troubles")

    def __init__(self, rules: Sequence[Rule], table: Table, now: Instant) -> None:
        self.rules = rules
        self.table = table
        self.now = now
        self.troubles: list[str] = []
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
                    return max(findings, key=lambda finding: finding.gravity)
            found = self._verdict_on(candidate)
            if found is not None:
                rule, verdict = found
                return self._finding(candidate, verdict, speaks_http=rule.speaks_http)
        return self._finding(exception, _BUG, speaks_http=True)

    def _verdict_on(self, exception: BaseException) -> tuple[Rule, Verdict] | None:
        for rule in self.rules:
            try:
                verdict = rule.verdict_on(exception, now=self.now)
            except Exception as error:  # noqa: BLE001 - a broken rule must not hide the failure
                self._note(error)
                continue
            if verdict is not None:
                return rule, verdict
        for rule in self.table.rules_for(type(exception)):
            try:
                verdict = rule.judge(exception, self.now)
            except Exception as error:  # noqa: BLE001 - as above
                self._note(error)
                continue
            if verdict is not None:
                return rule, verdict
        return None

    def _note(self, error: Exception) -> None:
        self.troubles.append(f"a rule raised {type_name(error)}: {message_of(error, 200)}")

    def _finding(
        self, exception: BaseException, verdict: Verdict, *, speaks_http: bool
    ) -> _Finding:
        retry_after_us = None
        if verdict.retryable:
            asked_us = retry_after_us_of(exception, now=self.now) if speaks_http else None
            retry_after_us = verdict.retry_after_us if asked_us is None else asked_us
        status = status_of(exception) if speaks_http else None
        blame = verdict.effective_blame
        if blame is None:
            blame = self._usual_blame(exception)
        return _Finding(verdict, status, retry_after_us, blame)

    def _usual_blame(self, exception: BaseException) -> bool:
        """A verdict that only gives the failure another name leaves the evidence as it is."""
        usual = self.table.verdict_on(exception, now=self.now)
        return usual is not None and bool(usual.effective_blame)
