"""Chooses where changes come from, by the variables of the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast

from criticizer.sources.contract import Source
from criticizer.sources.errors import SourceUnusable
from criticizer.sources.git import GitSource
from criticizer.sources.git_place import is_remote, remote_place
from criticizer.sources.github import DEFAULT_URL as GITHUB_URL
from criticizer.sources.github import GitHubSource
from criticizer.sources.gitlab import DEFAULT_URL as GITLAB_URL
from criticizer.sources.gitlab import GitLabSource
from criticizer.sources.url import UrlSource
from criticizer.web_address import is_web_address
from criticizer.wire import MEBIBYTE
from holdfast.variables import Variables

SourceKind = Literal["git", "github", "gitlab", "url"]
KINDS: Final[tuple[SourceKind, ...]] = ("git", "github", "gitlab", "url")
DEFAULT_MAX_BYTES: Final = 4 * MEBIBYTE
_MAX_BYTES: Final = 64 * MEBIBYTE
_DEFAULT_LOCATIONS: Final = {"git": ".", "github": GITHUB_URL, "gitlab": GITLAB_URL, "url": ""}
_LIMITS: Final = {
    "git": "a path, or like https://host/team/project.git or git@host:team/project.git",
    "github": "like https://api.github.com",
    "gitlab": "like https://gitlab.example.org",
    "url": "like https://changes.example.org/diffs",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig:
    """Where changes come from.

    `location` is a path or an address of a Git repository, the address of GitHub's API or of a
    GitLab, or the address under which diffs are served.
    """

    kind: SourceKind = "git"
    location: str = field(default=".", repr=False)
    """It may hold a password."""
    token: str | None = field(default=None, repr=False)
    max_bytes: int = DEFAULT_MAX_BYTES
    cache_dir: Path | None = None
    """Where copies of repositories elsewhere are kept; the user's cache by default."""

    @classmethod
    def read(cls, given: Variables) -> SourceConfig:
        """Return what the variables say; without any, the repository in the current folder."""
        url = given.text("CHANGES_URL", "")
        usual = "url" if url.startswith(("http://", "https://")) else "git"
        kind = cast("SourceKind", given.one_of("CHANGES_SOURCE", KINDS, default=usual))
        location = url or _DEFAULT_LOCATIONS[kind]
        if not _can_be(kind, location):
            # Credentials may be in it, and do not belong into an error.
            raise given.invalid("CHANGES_URL", location.rpartition("@")[2], _LIMITS[kind])
        cache = given.maybe("CHANGES_CACHE_DIR")
        return cls(
            kind=kind,
            location=location,
            token=given.maybe("CHANGES_TOKEN"),
            max_bytes=given.whole("CHANGES_MAX_BYTES", DEFAULT_MAX_BYTES, least=1, most=_MAX_BYTES),
            cache_dir=None if cache is None else Path(cache),
        )


def open_source(config: SourceConfig) -> Source:
    """Return the source that is configured; nobody is asked anything yet."""
    token, most = config.token or None, config.max_bytes
    location = config.location or _DEFAULT_LOCATIONS[config.kind]
    match config.kind:
        case "git":
            return GitSource(location, token=token, max_bytes=most, cache_dir=config.cache_dir)
        case "github":
            return GitHubSource(location, token=token, max_bytes=most)
        case "gitlab":
            return GitLabSource(location, token=token, max_bytes=most)
        case "url":
            return UrlSource(location, token=token, max_bytes=most)


def _can_be(kind: SourceKind, location: str) -> bool:
    if kind != "git":
        return is_web_address(location)
    try:
        if is_remote(location):
            remote_place(location, token=None)
    except SourceUnusable:
        return False
    return True
