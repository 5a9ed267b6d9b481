"""One question to a source over HTTP."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx2

from criticizer.sources.errors import ChangeMissing, ChangeTooLarge, SourceUnusable
from criticizer.wire import Deadline, client_for

_GONE: Final = frozenset({404, 410})
_MAX_REDIRECTS: Final = 3
_UNBOUNDED: Final = 2**62


class Web:
    """Asks one server, to which the hidden headers go and to no other."""

    def __init__(
        self, *, hidden: Mapping[str, str], max_bytes: int, tls: ssl.SSLContext | None = None
    ) -> None:
        self._hidden, self._max_bytes, self._tls = dict(hidden), max_bytes, tls

    def get(
        self, url: str, *, deadline: Deadline, headers: Mapping[str, str], missing: str
    ) -> tuple[bytes, Mapping[str, str]]:
        """Return the body and the headers of an answer.

        A redirect is followed to the same server only. Raises `ChangeMissing` with the text
        `missing` for what is not there, `ChangeTooLarge`, `SourceUnusable` for a redirect
        elsewhere, and otherwise what httpx2 raises: for a refusal its status error, without a body.
        """
        # A body that is too long is distinguished from a broken connection here, by counting.
        with client_for(
            deadline, max_bytes=_UNBOUNDED, hidden=self._hidden, tls=self._tls
        ) as client:
            for _ in range(_MAX_REDIRECTS + 1):
                with client.stream("GET", url, headers=dict(headers)) as response:
                    if not response.is_redirect:
                        return self._body_of(response, missing), response.headers
                    url = _followed(url, response.headers.get("location", ""))
        raise SourceUnusable(f"the source redirected more than {_MAX_REDIRECTS} times")

    def _body_of(self, response: httpx2.Response, missing: str) -> bytes:
        if response.status_code in _GONE:
            raise ChangeMissing(missing)
        response.raise_for_status()
        length = response.headers.get("content-length", "")
        if length.isdecimal() and int(length[:19]) > self._max_bytes:
            raise too_large(self._max_bytes)
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > self._max_bytes:
                raise too_large(self._max_bytes)
        return bytes(body)


def too_large(max_bytes: int) -> ChangeTooLarge:
    """Return the failure of a change over the limit."""
    return ChangeTooLarge(f"the change is larger than {max_bytes} bytes")


def text_of(body: bytes) -> str:
    """Return the text of a diff; files may hold anything, so what is no text is replaced."""
    return body.decode("utf-8", "replace")


def _followed(url: str, location: str) -> str:
    found = urljoin(url, location)
    if _origin(found) != _origin(url):
        raise SourceUnusable("the source redirected to another server, which is not followed")
    return found


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
