"""The secrets of this system as they are in force: hidden before anybody gets them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from collabiq.secrets import (
    Found,
    GuardedSource,
    InfisicalFailure,
    InfisicalSettings,
    InfisicalSource,
    SecretProvider,
)
from collabiq.settings.config import Config
from holdfast import Guard, Holdfast
from holdfast.secrets import Secrets

PLAIN_NAMES: Final = ("NOTION_DATABASE_ID_COLLABIQ", "NOTION_DATABASE_ID_COMPANIES")
"""Kept beside the secrets, and shown to people: which database is written to."""
_SECRET_PARTS: Final = ("token", "access_token", "refresh_token", "client_secret", "private_key")


class SystemSecrets(Secrets):
    """Secrets by name, as handlers get them: of Infisical, a file, or the environment.

    Nothing is fetched before the first is asked for. Every value is hidden before it is handed out,
    but for those of `PLAIN_NAMES`, which `plain` returns.
    """

    def __init__(
        self,
        config: Config,
        environment: Mapping[str, str],
        *,
        source: InfisicalSource | GuardedSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._source = source or _source_of(config)
        self._lock = threading.Lock()
        self._engine: Holdfast | None = None
        self._unhidden: list[str] = []
        self._on_failure: Callable[[InfisicalFailure], None] | None = None
        self.last_failure: InfisicalFailure | None = None
        self.provider = SecretProvider(
            source=self._source,
            environment=environment,
            env_file=config.env_file,
            ttl_s=config.infisical.cache_ttl_s,
            clock=clock,
            on_failure=self._failed,
            on_values=self._hide,
            plain_names=PLAIN_NAMES,
        )
        # The provider remembers by itself, and goes by its own time.
        super().__init__(_Reading(self.provider), ttl=0)

    @property
    def guard(self) -> Guard | None:
        """What stands before Infisical; None where it is not used."""
        return self._source.guard if isinstance(self._source, GuardedSource) else None

    def get(self, name: str, *, fresh: bool = False) -> str:
        """Return the value in force, or raise `holdfast.secrets.SecretUnavailable`."""
        if fresh:
            self.provider.refresh()
        return super().get(name, fresh=fresh)

    def plain(self, name: str) -> str | None:
        """Return a value of `PLAIN_NAMES`, which is no secret; None where it is found nowhere."""
        if name not in PLAIN_NAMES:
            raise ValueError(f"{name} is a secret")
        found = self.provider.get(name)
        return None if found is None else found.value

    def found(self, name: str) -> Found | None:
        """Return a value with where it comes from; None where it is found nowhere."""
        return self.provider.get(name)

    def bind(self, engine: Holdfast) -> None:
        """Have an engine hide every value, those that were fetched before included."""
        with self._lock:
            self._engine, known = engine, self._unhidden
            self._unhidden = []
        own = self._config.infisical.client_secret
        engine.add_secrets([*known, *([own] if own else [])])

    def report_to(self, on_failure: Callable[[InfisicalFailure], None] | None) -> None:
        """Call this once an outage of Infisical, when it begins."""
        self._on_failure = on_failure

    def _hide(self, values: Sequence[str]) -> None:
        hidden = [part for value in values for part in _parts_of(value)]
        with self._lock:
            engine = self._engine
            if engine is None:
                self._unhidden.extend(hidden)
        if engine is not None:
            engine.add_secrets(hidden)

    def _failed(self, failure: InfisicalFailure) -> None:
        self.last_failure = failure
        if self._on_failure is not None:
            self._on_failure(failure)


class _Reading:
    """Our provider as the engine asks one."""

    def __init__(self, provider: SecretProvider) -> None:
        self._provider = provider

    def read(self, name: str) -> str | None:
        """Return the value in force, or None."""
        found = self._provider.get(name)
        return None if found is None else found.value


def _source_of(config: Config) -> GuardedSource | None:
    given = config.infisical
    if not given.enabled:
        return None
    settings = InfisicalSettings(
        host=given.host,
        project_id=given.project_id,
        environment=given.environment,
        client_id=given.client_id,
        client_secret=given.client_secret,
    )
    return GuardedSource(InfisicalSource(settings), cooldown_s=config.circuit_cooldown_s)


def _parts_of(value: str) -> list[str]:
    """Return a value and, of a JSON object, the secrets in it."""
    if not value.lstrip().startswith("{"):
        return [value]
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return [value]
    inner = [document.get(name) for name in _SECRET_PARTS] if isinstance(document, dict) else []
    return [value, *(each for each in inner if isinstance(each, str) and each)]
