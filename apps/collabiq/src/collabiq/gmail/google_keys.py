"""Google's public keys, fetched in limited time and kept for as long as they are good."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

CERTS_URL: Final = "https://www.googleapis.com/oauth2/v1/certs"
TIMEOUT_S: Final = 5.0
MAX_BYTES: Final = 64 * 1024
LIFETIME_S: Final = 3_600.0
PAUSE_S: Final = 60.0
"""The least between two fetches: tokens with made-up keys must not make many."""
_MAX_KEYS: Final = 20


class KeysUnavailable(Exception):
    """Google's keys cannot be fetched, so nothing can be said about a signature."""


class GoogleKeys:
    """The certificates that Google signs with, by their ids. Any number of threads may use it.

    `clock` is in seconds and never goes back.
    """

    def __init__(
        self,
        url: str = CERTS_URL,
        *,
        timeout_s: float = TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url, self._timeout_s, self._clock = url, timeout_s, clock
        self._lock = threading.Lock()
        self._keys: Mapping[str, str] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None

    def get(self, key_id: str) -> str | None:
        """Return a certificate, or None where Google has none of this id.

        Raises `KeysUnavailable` where Google cannot be asked and the kept ones are too old.
        """
        with self._lock:
            now = self._clock()
            is_old = self._fetched_at is None or now - self._fetched_at >= LIFETIME_S
            if not is_old and key_id in self._keys:
                return self._keys[key_id]
            if self._tried_at is None or now - self._tried_at >= PAUSE_S:
                self._tried_at = now
                self._keys = self._fetched()
                self._fetched_at = now
            elif is_old:
                raise KeysUnavailable("Google's keys could not be fetched a moment ago")
            return self._keys.get(key_id)

    def _fetched(self) -> dict[str, str]:
        import requests  # noqa: PLC0415 - only signed pushes need it

        ends_at = time.monotonic() + self._timeout_s
        try:
            with requests.get(
                self._url, timeout=self._timeout_s, stream=True, allow_redirects=False
            ) as answer:
                answer.raise_for_status()
                body = b""
                for piece in answer.iter_content(4_096):
                    body += piece
                    if len(body) > MAX_BYTES or time.monotonic() > ends_at:
                        raise KeysUnavailable("the answer with Google's keys has no end")
                return _keys_in(json.loads(body))
        except (requests.RequestException, OSError, ValueError, RecursionError) as error:
            said = f"Google's keys cannot be fetched: {type(error).__name__}"
            raise KeysUnavailable(said) from None


def _keys_in(document: Any) -> dict[str, str]:  # noqa: ANN401 - JSON
    """Return the certificates of a document; one without any is none."""
    if not isinstance(document, dict) or not 1 <= len(document) <= _MAX_KEYS:
        raise ValueError("no certificates by their ids")
    if not all(isinstance(each, str) for each in document.values()):
        raise ValueError("a certificate is no text")
    return document
