"""Where a Git repository is: on this machine, or at an address without anything secret in it."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from criticizer.sources.errors import SourceUnusable

_PROTOCOLS: Final = frozenset({"https", "http", "ssh", "git"})
# As in git@example.org:team/project.git; one letter before the colon would be a drive.
_SHORT_SSH: Final = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]+:(?!//)[^:]+")
_TOKEN_USER: Final = "x-access-token"  # noqa: S105 - who a token is for, not the token


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """An address, the one protocol it is reached by, and who says so."""

    url: str
    protocol: str
    authorization: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What people call the repository: where it is, without how it is reached."""
        place = self.url.partition("://")[2] or self.url
        return place.rpartition("@")[2].removesuffix("/").removesuffix(".git")

    @property
    def key(self) -> str:
        """Names the copy of the repository: who may not see it has no copy of it."""
        said = f"{self.url}\n{self.authorization or ''}"
        return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


def is_remote(location: str) -> bool:
    """Return whether the repository is somewhere else."""
    if "://" in location:
        return not location.startswith("file://")
    return _SHORT_SSH.fullmatch(location) is not None


def local_path(location: str) -> Path:
    """Return the folder that a path or a `file:` URL names."""
    path = unquote(urlsplit(location).path) if location.startswith("file://") else location
    return Path(path).expanduser().absolute()


def local_name(folder: Path) -> str:
    """Return what people call a repository on this machine: its folder's name, and no path."""
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    name = top.name.removesuffix(".git") or top.parent.name
    return name or "repository"


def remote_place(location: str, *, token: str | None) -> Remote:
    """Return where a repository is; its secrets are no part of the address any more."""
    if "://" not in location:
        return Remote(url=location, protocol="ssh")
    try:
        parts = urlsplit(location)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise SourceUnusable("the repository's address cannot be read") from None
    if parts.scheme not in _PROTOCOLS or not parts.hostname or not location.isprintable():
        raise SourceUnusable("a repository is reached by https, http, ssh, git or a local path")
    if parts.hostname.startswith("-"):
        raise SourceUnusable("the repository's address cannot be read")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.scheme in {"ssh", "git"}:
        user = f"{parts.username}@" if parts.username and parts.scheme == "ssh" else ""
        url = urlunsplit((parts.scheme, f"{user}{host}{port}", parts.path, "", ""))
        return Remote(url=url, protocol=parts.scheme)
    user, secret = unquote(parts.username or ""), unquote(parts.password or "")
    if token:
        user, secret = user or _TOKEN_USER, token
    said = base64.b64encode(f"{user}:{secret}".encode()).decode() if user or secret else None
    return Remote(
        url=urlunsplit((parts.scheme, f"{host}{port}", parts.path, "", "")),
        protocol=parts.scheme,
        authorization=said and f"Authorization: Basic {said}",
    )
