"""Access tokens for Gmail: refreshed in time, shared between threads and processes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from collabiq.gmail.errors import (
    GmailFailure,
    GmailUnavailable,
    GrantRevoked,
    InvalidCredentials,
    is_revoked,
)
from collabiq.gmail.token_file import TokenFile, UserCredentials, credentials_of

if TYPE_CHECKING:
    import requests
    from google.auth import exceptions

EARLY_S: Final = 5 * 60
"""A token with less than this left is replaced."""
_SERVER_FAILURES: Final = 500


class GmailCredentials:
    """Where tokens come from.

    The file wins where it is there; `initial` returns the credentials of the secret otherwise. A
    refreshed token goes to the file, so that others take it from there. Where the file cannot be
    written it is kept in memory: `write_failure` says why.
    """

    def __init__(
        self,
        *,
        file: TokenFile | None = None,
        initial: Callable[[], str | None] = lambda: None,
        token_uri: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self._file, self._initial = file, initial
        self._token_uri, self._timeout_s = token_uri, timeout_s
        self._lock = threading.Lock()
        self._kept: UserCredentials | None = None
        self.write_failure: OSError | None = None

    def load(self) -> UserCredentials:
        """Return the credentials as they stand; raises `InvalidCredentials`."""
        text = self._file.read() if self._file is not None else None
        text = text or self._initial()
        if not text:
            raise InvalidCredentials(
                "there are no credentials for Gmail; run `collabiq gmail login`"
            )
        found = credentials_of(text, token_uri=self._token_uri)
        kept = self._kept
        if (
            kept is not None
            and kept.refresh_token == found.refresh_token
            and kept.expiry
            and (found.expiry is None or found.expiry < kept.expiry)
        ):
            return kept
        return found

    def fingerprint(self) -> str:
        """Return a hash of the refresh token, which changes with the next sign-in."""
        return hashlib.sha256(self.load().refresh_token.encode()).hexdigest()[:16]

    def token(self, now: datetime, *, refused: str | None = None) -> str:
        """Return an access token that is good for minutes; `refused` is one that was not taken.

        Raises `GrantRevoked` when the user has to sign in again first.
        """
        with self._lock:
            found = self.load()
            if found.token is not None and found.token != refused and found.left_s(now) >= EARLY_S:
                return found.token
            fresh = self._refreshed(found)
            self._kept = fresh
            self._write(fresh)
            if fresh.token is None:
                raise GmailUnavailable("Google answered without a token")
            return fresh.token

    def _refreshed(self, found: UserCredentials) -> UserCredentials:
        # Google's SDK is slow to import, and a token that is good needs none of it.
        import requests  # noqa: PLC0415
        from google.auth import exceptions  # noqa: PLC0415
        from google.oauth2.credentials import Credentials  # noqa: PLC0415

        # Made by hand: the SDK's way from JSON ignores the address of the token server.
        credentials = Credentials(  # type: ignore[no-untyped-call]
            token=None,
            refresh_token=found.refresh_token,
            token_uri=found.token_uri,
            client_id=found.client_id,
            client_secret=found.client_secret,
        )
        with requests.Session() as session:
            try:
                credentials.refresh(_Once(session, timeout_s=self._timeout_s))  # type: ignore[no-untyped-call]
            except exceptions.RefreshError as error:
                raise _failure_of(error) from None
            except (exceptions.TransportError, exceptions.TimeoutError) as error:
                said = f"no token from Google: {type(error).__name__}"
                raise GmailUnavailable(said) from None
        expiry = credentials.expiry
        return replace(
            found,
            token=credentials.token,
            expiry=expiry.replace(tzinfo=UTC) if expiry is not None else None,
            refresh_token=credentials.refresh_token or found.refresh_token,
        )

    def _write(self, fresh: UserCredentials) -> None:
        if self._file is None:
            return
        try:
            self._file.write(fresh.to_json())
            self.write_failure = None
        except OSError as error:
            self.write_failure = error


class _Once:
    """Makes a request once, in limited time: google-auth would repeat what fails over there."""

    def __init__(self, session: requests.Session, *, timeout_s: float) -> None:
        from google.auth.transport import requests as google_requests  # noqa: PLC0415 - as above

        self._call: Any = google_requests.Request(session)
        self._timeout_s = timeout_s

    def __call__(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as google-auth calls it
        answer = self._call(*given, **(named | {"timeout": self._timeout_s}))
        if answer.status >= _SERVER_FAILURES:
            from google.auth import exceptions  # noqa: PLC0415 - as above

            failure: Any = exceptions.TransportError
            raise failure(f"the token server answered {answer.status}")
        return answer


def _failure_of(error: exceptions.RefreshError) -> GmailFailure:
    if is_revoked(error.args):
        return GrantRevoked(
            "Google refuses the credentials of Gmail (invalid_grant); run `collabiq gmail login`"
        )
    if error.retryable:
        return GmailUnavailable("Google gives no token at present")
    return InvalidCredentials("Google refuses the credentials of Gmail")
