"""Secrets by name: asked for when they are used, and hidden before anybody gets them.

A provider knows the values that are in force now. `Secrets` asks it, remembers what it said for a
short time, and goes on with the last good value while the provider is away.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from typing import Final, NamedTuple

from holdfast.classify.verdicts import AUTH
from holdfast.errors import InvalidValue, UsageError
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.secrecy import keep_secret_document
from holdfast.secrets.providers import Environment, SecretProvider, SecretUnavailable
from holdfast.secrets.source import Source

MAX_TTL_S: Final = 86_400.0
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_NAME_LIMIT: Final = "up to 200 letters, digits, dots, dashes and underscores"


class _Kept(NamedTuple):
    value: str
    until_s: float


class Secrets:
    """The secrets of some providers, the first that has one first; of the environment without any.

    What a provider said counts for `ttl` seconds; 0 has it asked at every use. While one thread
    asks for a value that has run out, others go on with it. Every value is hidden from all that
    this process stores of failures, logs and shows before it is handed out, and stays hidden.
    """

    def __init__(
        self,
        *providers: SecretProvider,
        ttl: float = 60.0,
        now_s: Callable[[], float] = monotonic_s,
    ) -> None:
        if not 0 <= ttl <= MAX_TTL_S:
            limit = f"from 0 to {MAX_TTL_S:.0f} seconds"
            raise InvalidValue("Secrets", field="ttl", value=ttl, limit=limit)
        self._sources = [Source(each) for each in providers or (Environment(),)]
        self._ttl, self._now_s = ttl, now_s
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._asking: dict[str, Future[str]] = {}

    def get(self, name: str, *, fresh: bool = False) -> str:
        """Return the value that is in force, or raise `SecretUnavailable` with the name.

        `fresh` has the providers asked whatever is remembered: for when a value was refused.
        """
        _check_name(name)
        value = self._fresh(name) if fresh else self._current(name)
        # Again, because only the values that were named last are kept hidden.
        keep_secret_document(value)
        return value

    def require(self, *names: str) -> None:
        """Raise `UsageError` with those of the names that have no value."""
        missing: dict[str, SecretUnavailable] = {}
        for name in names:
            try:
                self.get(name)
            except SecretUnavailable as error:
                missing[name] = error
        if missing:
            reasons = dict.fromkeys(str(error) for error in missing.values())
            raise UsageError(f"secrets are missing: {', '.join(missing)} ({'; '.join(reasons)})")

    def __repr__(self) -> str:
        return f"<Secrets of {self._told_sources()}, not shown>"

    def _current(self, name: str) -> str:
        with self._lock:
            kept = self._kept.get(name)
            asked_now = name in self._asking
        if kept is not None and (self._now_s() < kept.until_s or (asked_now and self._ttl > 0)):
            return kept.value
        return self._asked(name)

    def _fresh(self, name: str) -> str:
        with self._lock:
            earlier = self._asking.get(name)
        if earlier is not None:
            # It may have been answered before the caller had a reason to ask.
            wait([earlier])
        return self._asked(name, fresh=True)

    def _asked(self, name: str, *, fresh: bool = False) -> str:
        """Return what the providers say; threads that ask at the same time share the answer."""
        with self._lock:
            asking = self._asking.get(name)
            mine = Future[str]() if asking is None else None
            if mine is not None:
                self._asking[name] = mine
        if asking is not None:
            return asking.result()
        if mine is None:
            raise AssertionError("somebody asks, or it is me")
        try:
            value = self._ask(name, fresh=fresh)
        except BaseException as error:
            with self._lock:
                del self._asking[name]
            mine.set_exception(error)
            raise
        with self._lock:
            self._kept[name] = _Kept(value, self._now_s() + self._ttl)
            del self._asking[name]
        mine.set_result(value)
        return value

    def _ask(self, name: str, *, fresh: bool) -> str:
        away: SecretUnavailable | None = None
        for source in self._sources:
            try:
                value = source.read(name, now_s=self._now_s(), fresh=fresh)
            except SecretUnavailable as error:
                away = away or error
                continue
            if value is not None:
                return value
        if away is not None:
            raise away
        message = f"there is no secret called {name}, asked of {self._told_sources()}"
        raise SecretUnavailable(AUTH, message)

    def _told_sources(self) -> str:
        return ", then ".join(source.name for source in self._sources)


class SecretsOfPipelines:
    """Whom handlers ask: the secrets of their pipeline's system, or else the application's."""

    def __init__(self, usual: Secrets) -> None:
        self._usual = usual
        self._own: dict[str, Secrets] = {}

    def use(self, given: Secrets | SecretProvider, *, pipelines: Iterable[str]) -> None:
        """Have the handlers of these pipelines ask others than the application's."""
        own = given if isinstance(given, Secrets) else Secrets(given)
        self._own.update(dict.fromkeys(pipelines, own))

    def get(self, pipeline: str, name: str, *, fresh: bool) -> str:
        """Return a secret for a handler of a pipeline."""
        return self._own.get(pipeline, self._usual).get(name, fresh=fresh)


def asked_and_listed(
    given: Iterable[str] | SecretProvider | Secrets,
) -> tuple[Secrets, Iterable[str]]:
    """Return the secrets to ask, those of the environment for a list, and the list of values."""
    if isinstance(given, Secrets):
        return given, ()
    if isinstance(given, SecretProvider):
        return Secrets(given), ()
    return Secrets(), given


def _check_name(name: object) -> None:
    """Refuse what is no name, and do not show it: it may be the value itself."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return
    told = f"a text of {len(name)} characters" if isinstance(name, str) else type(name).__name__
    raise InvalidValue("secret", field="name", value=told, limit=_NAME_LIMIT)
