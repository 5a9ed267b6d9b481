"""Secrets of an Infisical project over its SDK, in bounded time and without its retries."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import MethodType
from typing import Any, Final

HOST: Final = "https://app.infisical.com"
TIMEOUT_S: Final = 10.0
_REFUSED: Final = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class InfisicalSettings:
    """Which project to read, and as whom."""

    project_id: str
    client_id: str
    client_secret: str
    environment: str = "dev"
    host: str = HOST
    path: str = "/"
    timeout_s: float = TIMEOUT_S

    def __repr__(self) -> str:
        return f"InfisicalSettings(host={self.host!r}, project_id={self.project_id!r})"


class InfisicalFailure(Exception):
    """Infisical gave no secrets; `refused` says that asking again does not help."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        self.refused = status in _REFUSED
        super().__init__(message)


class InfisicalSource:
    """Reads all secrets of a project with one request, after one to sign in."""

    def __init__(self, settings: InfisicalSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._made: Any = None
        self._signed_in = False

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.api.session.close()
            self._made.close()

    def fetch(self) -> dict[str, str]:
        """Return all secrets by their names; raises `InfisicalFailure`.

        A session that has ended is begun again, once.
        """
        with self._lock:
            try:
                return self._fetch()
            except InfisicalFailure as failure:
                if not failure.refused or not self._signed_in:
                    raise
            self._signed_in = False
            return self._fetch()

    def _fetch(self) -> dict[str, str]:
        # The SDK takes half a second to import, and many go without Infisical.
        import requests  # noqa: PLC0415
        from infisical_sdk.infisical_requests import InfisicalError  # noqa: PLC0415

        try:
            return self._asked()
        except (InfisicalError, requests.RequestException, OSError, TypeError, KeyError) as error:
            raise _failure_of(error) from None

    def _asked(self) -> dict[str, str]:
        settings, client = self._settings, self._client()
        if not self._signed_in:
            client.auth.universal_auth.login(settings.client_id, settings.client_secret)
            self._signed_in = True
        answer = client.secrets.list_secrets(
            project_id=settings.project_id,
            environment_slug=settings.environment,
            secret_path=settings.path,
        )
        return {str(each.secretKey): str(each.secretValue) for each in answer.secrets}

    def _client(self) -> Any:  # noqa: ANN401 - of the SDK
        from infisical_sdk import InfisicalSDKClient  # noqa: PLC0415 - as above

        if self._made is None:
            # Its cache drops values when they are old; the last good ones are kept elsewhere.
            self._made = InfisicalSDKClient(host=self._settings.host, cache_ttl=None)
            _bound(self._made.api, timeout_s=self._settings.timeout_s)
        return self._made


def _bound(api: Any, *, timeout_s: float) -> None:  # noqa: ANN401 - of the SDK
    """Limit the requests of the SDK, and take its hidden retries away."""
    from collabiq.secrets.timed import Timed  # noqa: PLC0415 - as above

    for scheme in ("http://", "https://"):
        api.session.mount(scheme, Timed(timeout_s))
    for verb in ("get", "post"):
        plain = getattr(type(api), verb).__wrapped__
        setattr(api, verb, MethodType(plain, api))


def _failure_of(error: Exception) -> InfisicalFailure:
    """Return a failure without the words of the answer, which may repeat credentials."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return InfisicalFailure(f"Infisical answered {status}", status=status)
    return InfisicalFailure(f"no answer of Infisical: {type(error).__name__}")
