"""Asks one provider, once at a time, and leaves it alone for a while after it failed."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Final

from holdfast.classify import usual_verdict
from holdfast.classify.facts.describe import type_name
from holdfast.classify.verdicts import UNSENT
from holdfast.core.values.instant import Instant
from holdfast.errors import InvalidValue
from holdfast.secrecy import keep_secret_document
from holdfast.secrets.providers import SecretProvider, SecretUnavailable

LOGGER: Final = logging.getLogger("holdfast.secrets")
AWAY_S: Final = 5.0
"""For how long a provider that failed is not asked again."""


class Source:
    """A provider, its last good values, and whether it is away."""

    def __init__(self, provider: SecretProvider) -> None:
        if not callable(getattr(provider, "read", None)):
            value, limit = type(provider).__name__, "an object with a method read(name)"
            raise InvalidValue("Secrets", field="provider", value=value, limit=limit)
        self.name = type(provider).__name__
        self._provider = provider
        self._lock = threading.Lock()
        self._good: dict[str, str] = {}
        self._trouble: Exception | None = None
        self._not_before_s = 0.0

    def read(self, name: str, *, now_s: float, fresh: bool) -> str | None:
        """Return what the provider says, or its last good value while it is away."""
        with self._lock:
            trouble = self._trouble if now_s < self._not_before_s and not fresh else None
        if trouble is not None:
            return self._last_good(name, trouble)
        try:
            value = _checked(self._provider.read(name))
        except Exception as error:  # noqa: BLE001 - whatever a provider's client raises
            self._went_away(error, now_s)
            return self._last_good(name, error)
        self._came_back()
        with self._lock:
            before = self._good.pop(name, None)
        if value is None:
            return None
        if not keep_secret_document(value) and value != before:
            LOGGER.warning(
                "secret %s is too short or too plain to be told from ordinary words; it is hidden "
                "only where a name or a shape gives it away",
                name,
                extra={"event": "secret_too_plain", "secret": name},
            )
        with self._lock:
            self._good[name] = value
        return value

    def _last_good(self, name: str, trouble: Exception) -> str:
        with self._lock:
            good = self._good.get(name)
        if good is not None:
            return good
        usual = usual_verdict(trouble, now=Instant(0)) or UNSENT
        # Where secrets are kept is not the upstream that they are for, and that was not called.
        raise SecretUnavailable(
            replace(usual, outcome_known=True, blames_upstream=False),
            f"secret {name} cannot be read: {self.name} failed with {type_name(trouble)}",
        ) from trouble

    def _went_away(self, error: Exception, now_s: float) -> None:
        with self._lock:
            was_well = self._trouble is None
            self._trouble, self._not_before_s = error, now_s + AWAY_S
        if was_well:
            # What it says is left out: it may quote a value that nobody knows to be secret.
            LOGGER.warning(
                "%s cannot be asked for secrets (%s); the last good values are used",
                self.name,
                type_name(error),
                extra={"event": "secrets_away", "provider": self.name},
            )

    def _came_back(self) -> None:
        with self._lock:
            was_away, self._trouble = self._trouble is not None, None
        if was_away:
            LOGGER.info(
                "%s can be asked for secrets again",
                self.name,
                extra={"event": "secrets_back", "provider": self.name},
            )


def _checked(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a secret is a text, and this one is a {type(value).__name__}")
    return value or None
