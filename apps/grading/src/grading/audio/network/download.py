"""Downloads a recording whose URL may be a stranger's choice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx2

from grading.audio.errors import AudioUnavailable
from grading.audio.network.fetching import Resolve
from grading.audio.network.wire import AnswerTooLong, Deadline, client_for, system_addresses
from holdfast.bridges.hosts import is_public

_OK: Final = 200
_FIRST_REDIRECT, _FIRST_ERROR, _FIRST_SERVER_ERROR = 300, 400, 500
_TRY_LATER: Final = frozenset({408, 425, 429})


class _NotPublic(Exception):
    """The host is at an address that is not public. No `OSError`: no other address is tried."""


def download(
    url: str,
    *,
    target: Path,
    public_only: bool,
    max_bytes: int,
    timeout_s: float,
    resolve: Resolve | None = None,
) -> str:
    """Write what is at a URL to a file and return its SHA-256, or raise `AudioUnavailable`."""
    looked_up = resolve or system_addresses
    addresses = _only_public(looked_up) if public_only else looked_up
    with client_for(Deadline(timeout_s), max_bytes=max_bytes, resolve=addresses) as client:
        return _download(client, url, target)


def _only_public(resolve: Resolve) -> Resolve:
    def public_addresses(host: str, port: int) -> Sequence[str]:
        addresses = resolve(host, port)
        if not all(map(is_public, addresses)):
            raise _NotPublic
        return addresses

    return public_addresses


def _download(client: httpx2.Client, url: str, target: Path) -> str:
    """Write what is at a URL to a file and return its hash."""
    content = hashlib.sha256()
    try:
        with client.stream("GET", url, follow_redirects=False) as response:
            _check_status(response.status_code)
            with target.open("wb") as file:
                for chunk in response.iter_raw():
                    content.update(chunk)
                    file.write(chunk)
    except _NotPublic:
        raise AudioUnavailable("The host of the recording is not a public one.") from None
    except AnswerTooLong:
        raise AudioUnavailable("The recording at the URL is too large.") from None
    except httpx2.TimeoutException:
        raise AudioUnavailable("The recording did not arrive in time.", retryable=True) from None
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        # The exception's own words may hold the URL, and with it the signature.
        said = type(error).__name__
        is_passing = isinstance(error, httpx2.TransportError)
        raise AudioUnavailable(
            f"The recording could not be fetched ({said}).", retryable=is_passing
        ) from None
    return content.hexdigest()


def _check_status(status: int) -> None:
    if status == _OK:
        return
    if _FIRST_REDIRECT <= status < _FIRST_ERROR:
        raise AudioUnavailable("The URL of the recording leads elsewhere.")
    is_passing = status >= _FIRST_SERVER_ERROR or status in _TRY_LATER
    raise AudioUnavailable(f"The host of the recording answered {status}.", retryable=is_passing)
