"""One row of a table of rules: which exceptions it is about, and what it says of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from holdfast.core.values.failure import MAX_RETRY_AFTER_US, Category, ErrorClass, Severity
from holdfast.core.values.instant import Instant
from holdfast.core.values.retry import MAX_ATTEMPTS
from holdfast.errors import InvalidPolicy, checked_error_class

_NAME: Final = re.compile(r"[A-Za-z_][\w.]*\.(?:\w+|\*)")

_SEVERITY_OF: Final = {
    Category.TRANSIENT: Severity.WARNING,
    Category.PERMANENT: Severity.ERROR,
    Category.CRITICAL: Severity.CRITICAL,
}

_BLAMES_UPSTREAM: Final = {member.value: False for member in ErrorClass} | {
    ErrorClass.NETWORK_TIMEOUT.value: True,
    ErrorClass.NETWORK.value: True,
    ErrorClass.UPSTREAM_5XX.value: True,
}


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
    attempts: int | None = None
    """At most this many attempts of a stage may end like this, whatever its budget; attempts that
    failed otherwise do not count."""
    retry_after_us: int | None = None
    """A wait the upstream asked for in a place where no header is; a header's is preferred."""
    blames_upstream: bool | None = None
    """Whether the failure is evidence that the upstream is unwell.

    Left out, it follows from the error class: timeouts, lost connections and 5xx are. For an error
    class of your own it is what the built-in table would have said of the exception.
    """
    own_budget: bool = False
    """Whether as many attempts as `attempts` says may end like this also where others have used up
    the stage's budget."""
    spends_attempt: bool = True
    """False for what no job can help, such as a refused credential: the job is tried again after
    ever longer waits, 5 minutes at most, without using up an attempt, until a person has acted."""
    user_error: bool = False
    """True for a mistake of the job's sender, such as a file that nobody can read: the job
    fails at once, is shown to them and counted, and leaves no dead letter."""
    effective_category: Category = field(init=False, repr=False, compare=False)
    """The category, given or implied; worked out once, because many exceptions get one verdict."""
    effective_severity: Severity = field(init=False, repr=False, compare=False)
    """The severity, given or implied."""
    effective_blame: bool | None = field(init=False, repr=False, compare=False)
    """Whether it blames the upstream, given or implied; None for a foreign error class."""

    def __post_init__(self) -> None:
        plain_name = checked_error_class(self.error_class, owner="Verdict")
        object.__setattr__(self, "error_class", plain_name)
        _check_kind("retryable", self.retryable, bool)
        _check_kind("outcome_known", self.outcome_known, bool)
        _check_kind("own_budget", self.own_budget, bool)
        _check_kind("spends_attempt", self.spends_attempt, bool)
        _check_kind("user_error", self.user_error, bool)
        _check_kind("category", self.category, Category, type(None))
        _check_kind("severity", self.severity, Severity, type(None))
        _check_kind("blames_upstream", self.blames_upstream, bool, type(None))
        _check_whole("attempts", self.attempts, least=1, most=MAX_ATTEMPTS)
        if self.own_budget and self.attempts is None:
            limit = "False unless `attempts` says how large it is"
            raise InvalidPolicy("Verdict", field="own_budget", value=True, limit=limit)
        if not self.spends_attempt and (not self.retryable or self.attempts is not None):
            limit = "True, or for what is retryable without a limit of `attempts`"
            raise InvalidPolicy("Verdict", field="spends_attempt", value=False, limit=limit)
        if self.user_error and self.retryable:
            limit = "False, or for what is not retryable: no attempt corrects a sender's mistake"
            raise InvalidPolicy("Verdict", field="user_error", value=True, limit=limit)
        _check_whole("retry_after_us", self.retry_after_us, least=0, most=MAX_RETRY_AFTER_US)
        implied = Category.TRANSIENT if self.retryable else Category.PERMANENT
        category = self.category or implied
        severity = Severity.INFO if self.user_error else _SEVERITY_OF[category]
        blame = self.blames_upstream
        if blame is None:
            blame = _BLAMES_UPSTREAM.get(plain_name)
        object.__setattr__(self, "effective_category", category)
        object.__setattr__(self, "effective_severity", self.severity or severity)
        object.__setattr__(self, "effective_blame", blame)


Judge: TypeAlias = Callable[[Any, Instant], Verdict | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """Exceptions that match get this verdict.

    `match` is an exception class, or a name for classes of a library that may not be installed:
    `"requests.ReadTimeout"` is any class of that name (or derived from it) in the package
    `requests` or below it; `"openai.*"` is every class of the package. It may be a tuple of those.
    `verdict` may be a function of the exception and the current instant; its None means that the
    rule does not apply, and the search goes on.
    `speaks_http=False` says that a `code` or `status` of the exception is of another protocol.
    `reads_answer=True` says that the rule goes by the HTTP response that the exception carries, and
    need not be asked about one that carries none.
    """

    match: type[BaseException] | str | tuple[type[BaseException] | str, ...]
    verdict: Verdict | Judge
    speaks_http: bool = True
    reads_answer: bool = False

    def __post_init__(self) -> None:
        _check_match(self.match)
        if not isinstance(self.verdict, Verdict) and not callable(self.verdict):
            raise InvalidPolicy(
                "Rule", field="verdict", value=self.verdict, limit="a Verdict or a function"
            )

    def matches(self, kind: type[BaseException]) -> bool:
        """Return whether the rule is about exceptions of this class."""
        match = self.match
        if isinstance(match, type):
            return issubclass(kind, match)
        patterns = match if isinstance(match, tuple) else (match,)
        return any(
            _is_named(kind, pattern) if isinstance(pattern, str) else issubclass(kind, pattern)
            for pattern in patterns
        )

    def verdict_on(self, exception: BaseException, *, now: Instant) -> Verdict | None:
        """Return the verdict, or None when this rule has nothing to say about the exception."""
        return self.judge(exception, now) if self.matches(type(exception)) else None

    def judge(self, exception: BaseException, now: Instant) -> Verdict | None:
        """Return the verdict on an exception that the rule matches."""
        verdict = self.verdict
        return verdict if isinstance(verdict, Verdict) else verdict(exception, now)


def _check_kind(name: str, value: object, *kinds: type) -> None:
    if type(value) not in kinds:
        limit = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
        raise InvalidPolicy("Verdict", field=name, value=value, limit=limit)


def _check_whole(name: str, value: object, *, least: int, most: int) -> None:
    if value is not None and not (type(value) is int and least <= value <= most):
        limit = f"None or a whole number from {least} to {most}"
        raise InvalidPolicy("Verdict", field=name, value=value, limit=limit)


def _check_match(match: object) -> None:
    patterns = match if isinstance(match, tuple) else (match,)
    if not patterns or not all(map(_is_pattern, patterns)):
        limit = "an exception class, a name like 'package.Class' or 'package.*', or a tuple of them"
        raise InvalidPolicy("Rule", field="match", value=match, limit=limit)


def _is_pattern(pattern: object) -> bool:
    if isinstance(pattern, str):
        return _NAME.fullmatch(pattern) is not None
    return isinstance(pattern, type) and issubclass(pattern, BaseException)


# Read past the metaclass, which may hide names or raise.
_ancestors_of: Final = type.__dict__["__mro__"].__get__
_name_of: Final = type.__dict__["__name__"].__get__
_module_of: Final = type.__dict__["__module__"].__get__


def _is_named(kind: type[BaseException], pattern: str) -> bool:
    package, _, name = pattern.rpartition(".")
    return any(
        name in ("*", _name_of(each)) and f"{_module_of(each)}.".startswith(f"{package}.")
        for each in _ancestors_of(kind)
    )


def named(packages: str, names: str) -> tuple[str, ...]:
    """Each of the class names in each of the packages, both separated by blanks, for a `match`."""
    return tuple(f"{package}.{name}" for package in packages.split() for name in names.split())
