"""Where a secret comes from: Infisical, what it last said, a file, the environment."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from dotenv import dotenv_values

from collabiq.secrets.infisical import InfisicalFailure

Origin = Literal["infisical", "cache", "env_file", "environment"]
MAX_TTL_S: Final = 3_600
USUAL_TTL_S: Final = 60
PAUSE_S: Final = 10
"""For which Infisical is left alone after it failed, however short the time of values is."""


class Source(Protocol):
    """What secrets are fetched from."""

    def fetch(self) -> dict[str, str]:
        """Return all of them, or raise `InfisicalFailure`."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """A secret, and where it was found."""

    value: str
    origin: Origin

    def __repr__(self) -> str:
        return f"Found(origin={self.origin!r})"


class MissingSecrets(Exception):
    """Secrets are found nowhere; only their names are reported."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(f"these secrets are found nowhere: {', '.join(self.names)}")


class SecretProvider:
    """Secrets by name. Any number of threads may ask; one of them at a time fetches.

    After `ttl_s` the next who asks has them fetched anew. While Infisical fails, its last values
    count, then the file, then the environment; it is asked again after the same time.
    `on_failure` is called once an outage, `on_values` with every value before anybody gets it, but
    for those of `plain_names`, which are no secrets.
    """

    def __init__(
        self,
        *,
        source: Source | None,
        environment: Mapping[str, str],
        env_file: Path | None = None,
        ttl_s: float = USUAL_TTL_S,
        clock: Callable[[], float],
        on_failure: Callable[[InfisicalFailure], None] = lambda _: None,
        on_values: Callable[[Sequence[str]], None] = lambda _: None,
        plain_names: Collection[str] = (),
    ) -> None:
        if not 0 <= ttl_s <= MAX_TTL_S:
            raise ValueError(f"INFISICAL_CACHE_TTL is {ttl_s}, and not from 0 to {MAX_TTL_S}")
        self._source, self._environment, self._env_file = source, environment, env_file
        self._ttl_s, self._clock = ttl_s, clock
        self._on_failure, self._on_values = on_failure, on_values
        self._plain_names = frozenset(plain_names)
        self._lock = threading.RLock()
        self._last_good: dict[str, str] = {}
        self._asked_at: float | None = None
        self._failing = False

    @property
    def failing(self) -> bool:
        """Whether Infisical failed when it was asked last."""
        return self._failing

    def get(self, name: str) -> Found | None:
        """Return a secret, or None where it is found nowhere."""
        with self._lock:
            self._refresh()
            return self._found(name)

    def renewed(self, name: str, *, refused: str) -> Found | None:
        """Return another value than one that was refused, or None where there is none.

        Infisical is asked at once, whatever the time.
        """
        with self._lock:
            self._refresh(now_please=True)
            found = self._found(name)
            return found if found is not None and found.value != refused else None

    def refresh(self) -> None:
        """Have Infisical asked at once, whatever the time."""
        with self._lock:
            self._refresh(now_please=True)

    def require(self, names: Sequence[str]) -> dict[str, Found]:
        """Return these secrets; raises `MissingSecrets`."""
        with self._lock:
            self._refresh()
            found = {name: self._found(name) for name in names}
        missing = [name for name, each in found.items() if each is None]
        if missing:
            raise MissingSecrets(missing)
        return {name: each for name, each in found.items() if each is not None}

    def _refresh(self, *, now_please: bool = False) -> None:
        if self._source is None:
            return
        wait_s = max(self._ttl_s, PAUSE_S) if self._failing else self._ttl_s
        asked_at = self._asked_at
        if not now_please and asked_at is not None and self._clock() - asked_at < wait_s:
            return
        failure: InfisicalFailure | None = None
        try:
            fetched = self._source.fetch()
        except InfisicalFailure as error:
            failure = error
        else:
            self._hide(fetched)
            self._last_good = fetched
        # After the answer: a slow one does not have the next who asks wait again.
        self._asked_at = self._clock()
        begins = failure is not None and not self._failing
        self._failing = failure is not None
        if begins and failure is not None:
            self._on_failure(failure)  # which may ask for secrets itself

    def _found(self, name: str) -> Found | None:
        known = self._last_good.get(name)
        if known:
            return Found(known, "cache" if self._failing else "infisical")
        written = env_file_values(self._env_file).get(name)
        if written:
            self._hide({name: written})
            return Found(written, "env_file")
        given = self._environment.get(name)
        if given:
            self._hide({name: given})
            return Found(given, "environment")
        return None

    def _hide(self, values: Mapping[str, str]) -> None:
        hidden = [
            value for name, value in values.items() if value and name not in self._plain_names
        ]
        if hidden:
            self._on_values(hidden)


def env_file_values(file: Path | None) -> dict[str, str]:
    """Return the variables of a file as python-dotenv reads them; nothing where there is none."""
    if file is None:
        return {}
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return {}
    found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in found.items() if value is not None}
