"""Infisical behind the policies of its upstream: two attempts, a limit for each, a breaker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final, TypeVar

from collabiq.records.retry_configs import INFISICAL_RETRY_CONFIG
from collabiq.secrets.infisical import InfisicalFailure
from collabiq.secrets.provider import Source
from holdfast import CircuitOpen, Guard
from holdfast.presets import THREE_IN_A_ROW

INFISICAL: Final = "infisical"
_T = TypeVar("_T")


class _NoAnswer(ConnectionError):
    """An attempt failed in a way that another may not."""

    def __init__(self, failure: InfisicalFailure) -> None:
        self.failure = failure
        super().__init__(str(failure))


class GuardedSource:
    """Fetches secrets with the retries and the breaker of Infisical.

    Every attempt has a limit of its own clock: the requests of the SDK have one each, and there may
    be three of them.
    """

    def __init__(
        self,
        source: Source,
        *,
        timeout_s: float = INFISICAL_RETRY_CONFIG.timeout,
        cooldown_s: float | None = None,
        sleep: Callable[[float], Any] | None = None,
    ) -> None:
        self._source, self._timeout_s = source, timeout_s
        breaker = THREE_IN_A_ROW
        if cooldown_s is not None:
            breaker = replace(breaker, cooldown=cooldown_s)
        self.guard = Guard(
            INFISICAL,
            breaker=breaker,
            retry=INFISICAL_RETRY_CONFIG.to_retry(),
            rules=INFISICAL_RETRY_CONFIG.rules(),
            sleep=sleep,
        )

    def fetch(self) -> dict[str, str]:
        """Return all secrets, or raise `InfisicalFailure`."""
        try:
            return self.guard.call(self._attempt)
        except _NoAnswer as error:
            raise error.failure from None
        except TimeoutError:
            words = f"no answer of Infisical within {self._timeout_s:g} seconds"
            raise InfisicalFailure(words) from None
        except CircuitOpen:
            raise InfisicalFailure("Infisical is left alone: its breaker is open") from None

    def _attempt(self) -> dict[str, str]:
        try:
            return _limited(self._source.fetch, self._timeout_s)
        except InfisicalFailure as failure:
            if failure.refused:
                raise
            raise _NoAnswer(failure) from None


def _limited(work: Callable[[], _T], limit_s: float) -> _T:
    """Return what a function returns, or raise `TimeoutError`; then its thread is left behind."""
    done: Future[_T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the waiting caller
            done.set_exception(error)

    threading.Thread(target=run, name="collabiq-secrets", daemon=True).start()
    return done.result(timeout=limit_s)
