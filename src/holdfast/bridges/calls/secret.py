"""Keys that providers are called with: read anew for every call, and shown to nobody."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

from holdfast.classify import ProviderError, usual_verdict
from holdfast.classify.facts.describe import type_name
from holdfast.classify.verdicts import MISCONFIGURED
from holdfast.core.values.instant import Instant
from holdfast.errors import InvalidValue
from holdfast.secrecy import keep_secret

Key: TypeAlias = str | Callable[[], str]
"""A key, or a function that returns the one that is in force now."""

_Found = TypeVar("_Found")

_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_LIMIT: Final = "one or more printable ASCII characters, without blanks"


class Secret:
    """A key that is given out for a call and otherwise kept.

    Given as a function it is asked for every call, so that a rotated key is used from the next call
    on. Whatever it returns is taken out of everything this process stores, logs or shows.
    """

    __slots__ = ("_key", "_name")

    def __init__(self, key: Key, *, name: str) -> None:
        self._key, self._name = key, name
        if not callable(key):
            self._checked(key)

    def read(self) -> str:
        """Return the key that is in force now."""
        key = self._key
        return self._checked(asked(key, name=self._name) if callable(key) else key)

    def _checked(self, key: object) -> str:
        if not isinstance(key, str) or not _PRINTABLE.fullmatch(key):
            raise InvalidValue(self._name, field="key", value=_hidden(key), limit=_LIMIT)
        keep_secret((key,))
        return key

    def __repr__(self) -> str:
        return f"<{self._name}, not shown>"


def asked(ask: Callable[[], _Found], *, name: str) -> _Found:
    """Return what the function returns; where it fails, nothing was sent.

    The failure is judged as usual, except that where keys are kept is not the provider.
    """
    try:
        return ask()
    except Exception as error:
        usual = usual_verdict(error, now=Instant(0)) or MISCONFIGURED
        raise ProviderError(
            replace(usual, outcome_known=True, blames_upstream=False),
            f"{name} could not be read: {type_name(error)}",
        ) from error


def _hidden(value: object) -> str:
    """What may be said of a value that must not be shown."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    return type(value).__name__
