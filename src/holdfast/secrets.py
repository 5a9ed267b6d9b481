"""Secrets by name: asked for when they are used, and hidden before anybody gets them.

A provider knows the values that are in force now. `Secrets` asks it, remembers what it said for a
short time, and goes on with the last good value while the provider is away.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol, runtime_checkable

from holdfast.classify import ProviderError, usual_verdict
from holdfast.classify.describe import type_name
from holdfast.classify.verdicts import AUTH, UNSENT
from holdfast.core.values.instant import Instant
from holdfast.errors import InvalidValue, UsageError
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.secrecy import keep_secret_document

__all__ = ["Environment", "Folder", "SecretProvider", "SecretUnavailable", "Secrets"]

LOGGER: Final = logging.getLogger("holdfast.secrets")
MAX_SECRET_BYTES: Final = 64 * 1024
AWAY_S: Final = 5.0
"""For how long a provider that failed is not asked again."""
MOST_TTL_S: Final = 86_400.0

_FILE_SUFFIX: Final = "_FILE"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_NAME_LIMIT: Final = "up to 200 letters, digits, dots, dashes and underscores"


@runtime_checkable
class SecretProvider(Protocol):
    """Where secrets are kept. It is asked from any thread."""

    def read(self, name: str) -> str | None:
        """Return the value that is in force now, or None where there is no secret of that name.

        It raises whatever it likes when it cannot tell, and has to do either in limited time.
        """
        ...


class SecretUnavailable(ProviderError):
    """There is no value of a secret: nobody has it, or who may have it cannot be asked.

    The message has the name; `verdict` says whether trying again may help.
    """


class Environment:
    """Secrets in variables of the environment: `NAME`, or the file that `NAME_FILE` names."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def read(self, name: str) -> str | None:
        """Return the variable, or what stands in the file; an empty variable is none."""
        given = self._environment.get(name, "").strip()
        path = self._environment.get(name + _FILE_SUFFIX, "").strip()
        return given or (read_file(Path(path)) if path else None)


class Folder:
    """Secrets in files that are called as they are, such as those in `/run/secrets`."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def read(self, name: str) -> str | None:
        """Return what stands in the file without the space around it."""
        try:
            return read_file(self._path / name)
        except FileNotFoundError:
            # A folder that is not there is not mounted, which is another matter.
            if self._path.is_dir():
                return None
            raise


def read_file(path: Path) -> str:
    """Return the text of a file that holds a secret, without the space around it."""
    with path.open("rb") as file:
        content = file.read(MAX_SECRET_BYTES + 1)
    return content[:MAX_SECRET_BYTES].decode().strip()


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
        if not 0 <= ttl <= MOST_TTL_S:
            limit = f"from 0 to {MOST_TTL_S:.0f} seconds"
            raise InvalidValue("Secrets", field="ttl", value=ttl, limit=limit)
        self._sources = [_Source(each) for each in providers or (Environment(),)]
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


class _Source:
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


def _checked(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a secret is a text, and this one is a {type(value).__name__}")
    return value or None


def _check_name(name: object) -> None:
    """Refuse what is no name, and do not show it: somebody may have given the value."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return
    told = f"a text of {len(name)} characters" if isinstance(name, str) else type(name).__name__
    raise InvalidValue("secret", field="name", value=told, limit=_NAME_LIMIT)
