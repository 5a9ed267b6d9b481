"""From where recordings may be fetched: this system itself, and hosts that are allowed."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from grading.audio.errors import AudioUnavailable
from grading.audio.links import Origin, OwnLinks

_BELOW: Final = "*."
_HTTPS_PORT: Final = 443

Resolve = Callable[[str, int], Sequence[str]]
"""Return the addresses of a host, or raises an `OSError`."""


def fetch(
    url: str,
    *,
    sha256: str,
    target: Path,
    own: OwnLinks,
    hosts: Sequence[str] = (),
    max_bytes: int,
    timeout_s: float,
    resolve: Resolve | None = None,
) -> None:
    """Write the recording at a URL to a file, or raise `AudioUnavailable` and leave no file.

    Only this system itself and hosts that are allowed are called, others by HTTPS and at public
    addresses only. A host is `example.org`, `*.example.org` for all names below it, or either with
    a port. Redirects are not followed, and content with another hash is refused. `resolve` looks
    names up; without it, the system does.
    """
    # It takes long to import, and those who only check URLs do without.
    from grading.audio.network.download import download  # noqa: PLC0415

    check_url(url, own=own, hosts=hosts)
    # The file is found whole or not at all, also after a crash.
    arriving = target.with_name(f"{target.name}.{uuid4().hex}.part")
    try:
        found = download(
            url,
            target=arriving,
            public_only=not own.owns(url),
            max_bytes=max_bytes,
            timeout_s=timeout_s,
            resolve=resolve,
        )
        _check_hash(found, sha256)
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)


def _check_hash(found: str, wanted: str) -> None:
    if not hmac.compare_digest(found, wanted.lower()):
        raise AudioUnavailable("The recording at the URL is not the one that was handed in.")


def check_url(url: str, *, own: OwnLinks, hosts: Sequence[str] = ()) -> None:
    """Raise `AudioUnavailable` unless a recording may be fetched from a URL."""
    origin = Origin.of(url)
    if origin is None:
        raise AudioUnavailable("The address of the recording is not a URL that can be fetched.")
    if origin == own.origin:
        return
    if origin.scheme != "https":
        raise AudioUnavailable("Recordings are fetched by HTTPS only.")
    if not any(_allows(allowed.strip().lower(), origin) for allowed in hosts):
        raise AudioUnavailable("Recordings are not fetched from that host.")


def _allows(allowed: str, origin: Origin) -> bool:
    name, _, port = allowed.partition(":")
    if origin.port != (int(port) if port.isdigit() else _HTTPS_PORT):
        return False
    if name.startswith(_BELOW):
        return origin.host.endswith(name.removeprefix("*"))
    return origin.host == name
