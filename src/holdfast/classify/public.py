"""Public codes: the few words that a system's users see instead of what really happened.

A system declares its codes once and maps failures to them in one place. What reaches a user is the
text declared here, or the line that the system's own function makes of the failure, and nothing
else of it: no message, no address, no stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from holdfast.core.values.failure import Failure
from holdfast.errors import InvalidDocument, InvalidPolicy, InvalidValue, checked_error_class

MAX_MESSAGE_LENGTH: Final = 200

_LEAST_STATUS: Final = 100
_MAX_STATUS: Final = 599

Match: TypeAlias = Callable[[Failure], bool]
"""Says whether a failure is the one meant, where its error class alone does not tell."""


Line: TypeAlias = Callable[[Failure, "PublicCode"], str | None]
"""Return what users read about a failure instead of its code's line, or None for that line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCode:
    """What a user reads: one line, the HTTP status it goes with, and whether to try again."""

    message: str
    http_status: int = 500
    retryable: bool = False
    code: str = ""
    """The name it is declared under; `PublicCodes` fills it in."""
    final_message: str | None = None
    """The line once no attempt follows, where `message` speaks of one to come."""

    def __post_init__(self) -> None:
        limit = f"one line of 1 to {MAX_MESSAGE_LENGTH} printable characters"
        if not _is_line(self.message):
            raise _invalid("PublicCode", "message", self.message, limit)
        if self.final_message is not None and not _is_line(self.final_message):
            raise _invalid("PublicCode", "final_message", self.final_message, limit)
        status = self.http_status
        if type(status) is not int or not _LEAST_STATUS <= status <= _MAX_STATUS:
            limit = f"a whole number from {_LEAST_STATUS} to {_MAX_STATUS}"
            raise _invalid("PublicCode", "http_status", status, limit)
        if type(self.retryable) is not bool:
            raise _invalid("PublicCode", "retryable", self.retryable, "True or False")

    @property
    def at_the_end(self) -> PublicCode:
        """The same code with the line that is read once no attempt follows."""
        return self if self.final_message is None else replace(self, message=self.final_message)


class PublicCodes:
    """The codes of one system, and which failure is which of them.

    `mapping` names a code for an error class, or for failures that a function recognises; the
    functions are asked first, in their order. An error class that is itself a code stands for
    itself. Everything else is the default. `line` may return a better line for a failure than the
    one its code declares, such as one that names a limit; users read it as it is.
    """

    def __init__(
        self,
        codes: Mapping[str, PublicCode] | Iterable[tuple[str, PublicCode]],
        *,
        mapping: Mapping[str | Match, str] | None = None,
        default: str,
        line: Line | None = None,
    ) -> None:
        self._line = line
        self.codes: Mapping[str, PublicCode] = MappingProxyType(_declared(codes))
        """Every code by its name."""
        self._by_class: dict[str, PublicCode] = dict(self.codes)
        self._by_match: list[tuple[Match, PublicCode]] = []
        for key, name in (mapping or {}).items():
            code = self._known("mapping", name)
            if callable(key):
                self._by_match.append((key, code))
            else:
                self._by_class[_checked_name("mapping", key)] = code
        self.default = self._known("default", default)
        """What a user reads about anything that is not mapped."""

    def of(
        self, failure: Failure | Mapping[str, Any] | str, *, final: bool | None = None
    ) -> PublicCode:
        """What a user reads about a failure, about a job's `error`, or about an error class.

        A job's `error` is final, since a job has one only once it has failed; of other failures
        `final` says whether no attempt follows. It never raises: what cannot be read is shown as
        the default.
        """
        if final is None:
            final = isinstance(failure, Mapping)
        if isinstance(failure, Mapping):
            try:
                failure = Failure.from_document(failure)
            except InvalidDocument:
                return self.default.at_the_end if final else self.default
        if isinstance(failure, str):
            code = self._by_class.get(failure, self.default)
            return code.at_the_end if final else code
        code = self._code_of(failure)
        return self._with_line(code.at_the_end if final else code, failure)

    def _code_of(self, failure: Failure) -> PublicCode:
        for match, code in self._by_match:
            # Whatever a function stumbles over, the user gets an answer.
            with suppress(Exception):
                if match(failure):
                    return code
        return self._by_class.get(failure.error_class, self.default)

    def _with_line(self, code: PublicCode, failure: Failure) -> PublicCode:
        if self._line is None:
            return code
        # A line that fails, or that is none, leaves the declared one.
        with suppress(Exception):
            line = self._line(failure, code)
            if line is not None and line != code.message:
                return replace(code, message=line)
        return code

    def _known(self, field: str, name: object) -> PublicCode:
        if not isinstance(name, str) or name not in self.codes:
            names = ", ".join(self.codes) or "none"
            raise _invalid("PublicCodes", field, name, f"one of the declared codes: {names}")
        return self.codes[name]


def _is_line(text: object) -> bool:
    return (
        isinstance(text, str)
        and bool(text.strip())
        and text.isprintable()
        and len(text) <= MAX_MESSAGE_LENGTH
    )


def _declared(
    codes: Mapping[str, PublicCode] | Iterable[tuple[str, PublicCode]],
) -> dict[str, PublicCode]:
    pairs = codes.items() if isinstance(codes, Mapping) else codes
    declared: dict[str, PublicCode] = {}
    for key, code in pairs:
        name = _checked_name("codes", key)
        if name in declared:
            raise _invalid("PublicCodes", "codes", name, "declared only once")
        if not isinstance(code, PublicCode):
            raise _invalid("PublicCodes", "codes", code, f"a PublicCode, for {name}")
        if code.code not in ("", name):
            raise _invalid("PublicCodes", "codes", code.code, f"{name}, as it is declared")
        declared[name] = replace(code, code=name)
    return declared


def _checked_name(field: str, name: object) -> str:
    try:
        return checked_error_class(name, owner="PublicCodes")
    except InvalidValue as error:
        raise _invalid("PublicCodes", field, name, error.limit) from None


def _invalid(owner: str, field: str, value: object, limit: str) -> InvalidPolicy:
    return InvalidPolicy(owner, field=field, value=value, limit=limit)
