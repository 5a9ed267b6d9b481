"""Secrets of an Infisical project over its SDK, in bounded time and without its retries."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import MethodType
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter

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
        # The SDK takes half a second to import, and many go without Infisical.
        from infisical_sdk import InfisicalSDKClient  # noqa: PLC0415
        from infisical_sdk.infisical_requests import APIError, InfisicalError  # noqa: PLC0415

        self._refusals: type[Exception] = APIError
        self._failures = (
            InfisicalError,
            requests.RequestException,
            OSError,
            TypeError,
            KeyError,
        )
        self._settings = settings
        self._lock = threading.Lock()
        # Its cache drops values when they are old; the last good ones are kept elsewhere.
        self._client: Any = InfisicalSDKClient(host=settings.host, cache_ttl=None)
        _bound(self._client.api, timeout_s=settings.timeout_s)
        self._signed_in = False

    def close(self) -> None:
        """Close the connections."""
        self._client.api.session.close()
        self._client.close()

    def fetch(self) -> dict[str, str]:
        """Return all secrets by their names; raises `InfisicalFailure`.

        A session that has ended is begun again, once.
        """
        with self._lock:
            try:
                return self._fetch()
            except self._refusals as error:
                failure = _failure_of(error)
                if not failure.refused or not self._signed_in:
                    raise failure from None
            except self._failures as error:
                raise _failure_of(error) from None
            self._signed_in = False
            try:
                return self._fetch()
            except self._failures as error:
                raise _failure_of(error) from None

    def _fetch(self) -> dict[str, str]:
        settings = self._settings
        if not self._signed_in:
            self._client.auth.universal_auth.login(settings.client_id, settings.client_secret)
            self._signed_in = True
        answer = self._client.secrets.list_secrets(
            project_id=settings.project_id,
            environment_slug=settings.environment,
            secret_path=settings.path,
        )
        return {str(each.secretKey): str(each.secretValue) for each in answer.secrets}


class _Timed(HTTPAdapter):
    """Gives every request a limit: those of the SDK have none."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(max_retries=0)
        self._timeout_s = timeout_s

    def send(
        self,
        request: requests.PreparedRequest,
        *given: Any,  # noqa: ANN401 - as requests calls it
        **named: Any,  # noqa: ANN401
    ) -> requests.Response:
        """Send a request, in limited time."""
        if named.get("timeout") is None:
            named["timeout"] = self._timeout_s
        return super().send(request, *given, **named)


def _bound(api: Any, *, timeout_s: float) -> None:  # noqa: ANN401 - of the SDK
    """Limit the requests of the SDK, and take its hidden retries away."""
    for scheme in ("http://", "https://"):
        api.session.mount(scheme, _Timed(timeout_s))
    for verb in ("get", "post"):
        plain = getattr(type(api), verb).__wrapped__
        setattr(api, verb, MethodType(plain, api))


def _failure_of(error: Exception) -> InfisicalFailure:
    """Return a failure without the words of the answer, which may repeat credentials."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return InfisicalFailure(f"Infisical answered {status}", status=status)
    return InfisicalFailure(f"no answer of Infisical: {type(error).__name__}")
