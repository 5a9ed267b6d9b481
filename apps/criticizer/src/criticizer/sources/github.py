"""Changes from GitHub: pull requests, commits and comparisons."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

import httpx2

from criticizer.change import Change
from criticizer.sources.contract import FULL_HASH, Pinned
from criticizer.sources.errors import BadChangeId, ChangeMissing, ChangeTooLarge, NotADiff
from criticizer.sources.titles import MAX_ANSWER_BYTES, asked_title, hash_in
from criticizer.sources.web import Web, text_of
from criticizer.wire import Deadline

DEFAULT_URL: Final = "https://api.github.com"
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_REVISION: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_/+-]|\.(?!\.)){0,199}"
_PULL: Final = re.compile(rf"({_NAME}/{_NAME})#([1-9][0-9]{{0,9}})")
_COMMIT: Final = re.compile(rf"({_NAME}/{_NAME})@({_REVISION})")
_COMPARISON: Final = re.compile(rf"({_NAME}/{_NAME})@({_REVISION})\.\.\.({_REVISION})")
_MESSAGE: Final = ("commit", "message")
_NOT_ACCEPTABLE: Final = 406
_UNPROCESSABLE: Final = 422


class GitHubSource:
    """A GitHub, by the address of its API."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | None,
        max_bytes: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        hidden = {"authorization": f"Bearer {token}"} if token else {}
        self._web = Web(hidden=hidden, max_bytes=max_bytes, tls=tls)
        self._about = Web(hidden=hidden, max_bytes=MAX_ANSWER_BYTES, tls=tls)

    def fetch(self, changelist_id: str, *, timeout_s: float, headers: Mapping[str, str]) -> Change:
        """Return a change; see the contract."""
        places = _places_of(changelist_id)
        deadline = Deadline(timeout_s)
        asked = {"x-github-api-version": "2022-11-28", **headers}
        diff = self._diff(changelist_id, places, deadline, asked)
        title = asked_title(
            lambda: self._about.get(
                f"{self._url}/repos/{places.about}",
                deadline=deadline,
                headers={"accept": "application/vnd.github+json", **asked},
                missing="",
            )[0],
            *places.title,
            otherwise=changelist_id,
        )
        return Change(diff=diff, title=title, url=f"{_pages_at(self._url)}/{places.page}")

    def close(self) -> None:
        """Let go of connections, of which none is kept."""

    def pin(self, changelist_id: str, *, timeout_s: float) -> Pinned:
        """Return the change with its commits by their hashes; see the contract.

        A pull request keeps its number, under which it goes on; it is looked for.
        """
        deadline = Deadline(timeout_s)
        if found := _PULL.fullmatch(changelist_id):
            self._look_up(_places_of(changelist_id).about, deadline, changelist_id)
            return Pinned(changelist_id, found[1])
        repository, revisions = _commits_of(changelist_id)
        hashes = [
            self._hash(repository, revision, deadline, changelist_id) for revision in revisions
        ]
        return Pinned(f"{repository}@{'...'.join(hashes)}", repository)

    def located(self, changelist_id: str) -> Pinned | None:
        """Return a pull request, or commits by their hashes; see the contract."""
        if found := _PULL.fullmatch(changelist_id):
            return Pinned(changelist_id, found[1])
        repository, revisions = _commits_of(changelist_id)
        fixed = all(FULL_HASH.fullmatch(revision) for revision in revisions)
        return Pinned(changelist_id, repository) if fixed else None

    def _hash(self, repository: str, revision: str, deadline: Deadline, changelist_id: str) -> str:
        about = _about_commit(repository, quote(revision, safe=""))
        found = hash_in(self._look_up(about, deadline, changelist_id), "sha")
        if found is None:
            raise NotADiff("GitHub's answer is not the one its API is known for")
        return found

    def _look_up(self, path: str, deadline: Deadline, changelist_id: str) -> bytes:
        missing = f"GitHub has no change {changelist_id}, or not for us"
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
        try:
            body, _ = self._about.get(
                f"{self._url}/repos/{path}", deadline=deadline, headers=headers, missing=missing
            )
        except httpx2.HTTPStatusError as error:
            # How it says that a revision is none.
            if error.response.status_code == _UNPROCESSABLE:
                raise ChangeMissing(missing) from None
            raise
        return body

    def _diff(
        self, changelist_id: str, places: _Places, deadline: Deadline, headers: Mapping[str, str]
    ) -> str:
        missing = f"GitHub has no change {changelist_id}, or not for us"
        try:
            body, _ = self._web.get(
                f"{self._url}/repos/{places.diff}",
                deadline=deadline,
                headers={"accept": "application/vnd.github.diff", **headers},
                missing=missing,
            )
        except httpx2.HTTPStatusError as error:
            # How it says that a diff is too long to be shown, and that a revision is none.
            if error.response.status_code == _NOT_ACCEPTABLE:
                raise ChangeTooLarge("the change is larger than GitHub makes diffs of") from None
            if error.response.status_code == _UNPROCESSABLE:
                raise ChangeMissing(missing) from None
            raise
        return text_of(body)


class _Places(NamedTuple):
    """Where the API has a change, and what is called how; and where people look at it."""

    diff: str
    about: str
    title: tuple[str, ...]
    page: str


def _places_of(changelist_id: str) -> _Places:
    if found := _PULL.fullmatch(changelist_id):
        repository, number = found.groups()
        pull = f"{repository}/pulls/{number}"
        return _Places(pull, pull, ("title",), f"{repository}/pull/{number}")
    if found := _COMPARISON.fullmatch(changelist_id):
        repository, *ends = found.groups()
        old, new = (quote(end, safe="") for end in ends)
        compared = f"{repository}/compare/{old}...{new}"
        return _Places(compared, _about_commit(repository, new), _MESSAGE, compared)
    if found := _COMMIT.fullmatch(changelist_id):
        repository, revision = found[1], quote(found[2], safe="")
        return _Places(
            f"{repository}/commits/{revision}",
            _about_commit(repository, revision),
            _MESSAGE,
            f"{repository}/commit/{revision}",
        )
    raise BadChangeId("GitHub's changes are owner/repo#12, owner/repo@commit or owner/repo@a...b")


def _commits_of(changelist_id: str) -> tuple[str, list[str]]:
    """Return the repository of a commit or a comparison, and its revisions."""
    _places_of(changelist_id)  # which refuses what is none
    repository, _, revisions = changelist_id.partition("@")
    return repository, revisions.split("...")


def _about_commit(repository: str, revision: str) -> str:
    """Return where a commit is described, with as few of its files as can be asked for."""
    return f"{repository}/commits/{revision}?per_page=1"


def _pages_at(url: str) -> str:
    """Return where the pages are to an API: on the public GitHub and on one's own."""
    parts = urlsplit(url)
    if parts.netloc == "api.github.com":
        return "https://github.com"
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/api/v3')}"
