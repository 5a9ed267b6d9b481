"""Changes from GitLab: merge requests, commits and comparisons."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from criticizer.change import Change
from criticizer.sources.contract import FULL_HASH, Pinned
from criticizer.sources.errors import BadChangeId, ChangeTooLarge, NotADiff, SourceFailed
from criticizer.sources.titles import asked_title, hash_in, title_in
from criticizer.sources.web import Web, text_of, too_large
from criticizer.wire import MEBIBYTE, Deadline

DEFAULT_URL: Final = "https://gitlab.com"
_API: Final = "/api/v4"
_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_PROJECT: Final = rf"{_NAME}(?:/{_NAME}){{1,20}}"
_REVISION: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_/+-]|\.(?!\.)){0,199}"
_MERGE: Final = re.compile(rf"({_PROJECT})!([1-9][0-9]{{0,9}})")
_COMMIT: Final = re.compile(rf"({_PROJECT})@({_REVISION})")
_COMPARISON: Final = re.compile(rf"({_PROJECT})@({_REVISION})\.\.\.({_REVISION})")
_PER_PAGE: Final = 100
_MAX_PAGES: Final = 30


class GitLabSource:
    """A GitLab, by its address or that of its API."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | None,
        max_bytes: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._pages = url.rstrip("/").removesuffix(_API)
        self._max_bytes = max_bytes
        # Diffs in JSON take more room than they do by themselves.
        self._web = Web(
            hidden={"private-token": token} if token else {},
            max_bytes=2 * max_bytes + MEBIBYTE,
            tls=tls,
        )

    def fetch(self, changelist_id: str, *, timeout_s: float, headers: Mapping[str, str]) -> Change:
        """Return a change; see the contract."""
        asking = _Asking(
            self._web,
            base=f"{self._pages}{_API}/projects/",
            deadline=Deadline(timeout_s),
            headers=headers,
            missing=f"GitLab has no change {changelist_id}, or not for us",
        )
        if found := _MERGE.fullmatch(changelist_id):
            project, number = found.groups()
            request = f"{_id(project)}/merge_requests/{number}"
            diff = text_of(asking.body(f"{request}/raw_diffs"))
            title = asking.title(request, otherwise=changelist_id)
            page = f"{project}/-/merge_requests/{number}"
        elif found := _COMPARISON.fullmatch(changelist_id):
            project, old, new = found.groups()
            answer = asking.comparison(project, old, new)
            diff = "".join(_diffs_of(answer.get("diffs")))
            title = title_in(answer, "commit", "title") or changelist_id
            page = f"{project}/-/compare/{quote(old, safe='')}...{quote(new, safe='')}"
        elif found := _COMMIT.fullmatch(changelist_id):
            project, revision = found.groups()
            commit = f"{_id(project)}/repository/commits/{quote(revision, safe='')}"
            diff = "".join(asking.commit(commit))
            title = asking.title(commit, otherwise=changelist_id)
            page = f"{project}/-/commit/{quote(revision, safe='')}"
        else:
            raise _bad_id()
        if len(diff.encode("utf-8", "replace")) > self._max_bytes:
            raise too_large(self._max_bytes)
        return Change(diff=diff, title=title, url=f"{self._pages}/{page}")

    def pin(self, changelist_id: str, *, timeout_s: float) -> Pinned:
        """Return the change with its commits by their hashes; see the contract.

        A merge request keeps its number, under which it goes on; it is looked for.
        """
        asking = _Asking(
            self._web,
            base=f"{self._pages}{_API}/projects/",
            deadline=Deadline(timeout_s),
            headers={},
            missing=f"GitLab has no change {changelist_id}, or not for us",
        )
        if found := _MERGE.fullmatch(changelist_id):
            asking.body(f"{_id(found[1])}/merge_requests/{found[2]}")
            return Pinned(changelist_id, found[1])
        project, revisions = _commits_of(changelist_id)
        hashes = [asking.hash_of(project, revision) for revision in revisions]
        return Pinned(f"{project}@{'...'.join(hashes)}", project)

    def located(self, changelist_id: str) -> Pinned | None:
        """Return a merge request, or commits by their hashes; see the contract."""
        if found := _MERGE.fullmatch(changelist_id):
            return Pinned(changelist_id, found[1])
        project, revisions = _commits_of(changelist_id)
        fixed = all(FULL_HASH.fullmatch(revision) for revision in revisions)
        return Pinned(changelist_id, project) if fixed else None

    def close(self) -> None:
        """Let go of connections, of which none is kept."""


class _Asking:
    """The questions for one change, which end by one deadline."""

    def __init__(
        self, web: Web, *, base: str, deadline: Deadline, headers: Mapping[str, str], missing: str
    ) -> None:
        self._web, self._base, self._deadline = web, base, deadline
        self._headers, self._missing = headers, missing

    def body(self, path: str) -> bytes:
        return self._get(path)[0]

    def title(self, path: str, *, otherwise: str) -> str:
        return asked_title(lambda: self.body(path), "title", otherwise=otherwise)

    def hash_of(self, project: str, revision: str) -> str:
        path = f"{_id(project)}/repository/commits/{quote(revision, safe='')}"
        found = hash_in(self.body(path), "id")
        if found is None:
            raise _unreadable()
        return found

    def comparison(self, project: str, old: str, new: str) -> Mapping[str, Any]:
        query = f"from={quote(old, safe='')}&to={quote(new, safe='')}&unidiff=true"
        answer = _document(self.body(f"{_id(project)}/repository/compare?{query}"))
        if not isinstance(answer, dict):
            raise _unreadable()
        if answer.get("compare_timeout"):
            raise SourceFailed("GitLab did not finish the comparison in time")
        return answer

    def commit(self, path: str) -> Iterator[str]:
        page = "1"
        for _ in range(_MAX_PAGES):
            query = f"per_page={_PER_PAGE}&page={page}&unidiff=true"
            body, headers = self._get(f"{path}/diff?{query}")
            yield from _diffs_of(_document(body))
            page = headers.get("x-next-page", "").strip()
            if not re.fullmatch("[0-9]{1,6}", page):
                return
        raise ChangeTooLarge(f"the change is in more than {_MAX_PAGES * _PER_PAGE} files")

    def _get(self, path: str) -> tuple[bytes, Mapping[str, str]]:
        return self._web.get(
            f"{self._base}{path}",
            deadline=self._deadline,
            headers=self._headers,
            missing=self._missing,
        )


def _commits_of(changelist_id: str) -> tuple[str, list[str]]:
    """Return the project of a commit or a comparison, and its revisions."""
    found = _COMPARISON.fullmatch(changelist_id) or _COMMIT.fullmatch(changelist_id)
    if found is None:
        raise _bad_id()
    project, *revisions = found.groups()
    return project, revisions


def _bad_id() -> BadChangeId:
    return BadChangeId(
        "GitLab's changes are group/project!12, group/project@commit or group/project@a...b"
    )


def _id(project: str) -> str:
    return quote(project, safe="")


def _document(body: bytes) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _unreadable() from None


def _diffs_of(found: object) -> Iterator[str]:
    if not isinstance(found, list):
        raise _unreadable()
    for each in found:
        if not isinstance(each, dict):
            raise _unreadable()
        yield _diff_of(each).encode("utf-8", "replace").decode()


def _diff_of(file: Mapping[str, Any]) -> str:
    """Return the diff of one file with the lines before it, which the API leaves to its fields."""
    if file.get("too_large") or file.get("collapsed"):
        raise ChangeTooLarge("the change is larger than GitLab makes diffs of")
    old, new, diff = (file.get(name) for name in ("old_path", "new_path", "diff"))
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(diff, str)):
        raise _unreadable()
    lines = [f"diff --git {_quoted(f'a/{old}')} {_quoted(f'b/{new}')}"]
    if file.get("new_file"):
        lines.append(f"new file mode {_mode(file.get('b_mode'))}")
    elif file.get("deleted_file"):
        lines.append(f"deleted file mode {_mode(file.get('a_mode'))}")
    elif file.get("renamed_file"):
        lines += [f"rename from {_quoted(old)}", f"rename to {_quoted(new)}"]
    if diff.startswith("@@"):
        old_name = "/dev/null" if file.get("new_file") else _quoted(f"a/{old}")
        new_name = "/dev/null" if file.get("deleted_file") else _quoted(f"b/{new}")
        lines += [f"--- {old_name}", f"+++ {new_name}"]
    head = "".join(f"{line}\n" for line in lines)
    return head + diff + ("\n" if diff and not diff.endswith("\n") else "")


def _quoted(name: str) -> str:
    """Return a name as Git writes it: in quotes when it would not stay on its line."""
    if name.isprintable() and not set(name) & {'"', "\\"}:
        return name
    escaped = (
        f"\\{byte:03o}" if byte < 0x20 or byte in b'"\\\x7f' else chr(byte)  # noqa: PLR2004
        for byte in name.encode("utf-8", "replace")
    )
    return '"' + "".join(escaped).encode("latin-1").decode("utf-8", "replace") + '"'


def _mode(mode: object) -> str:
    return mode if isinstance(mode, str) and re.fullmatch("[0-7]{6}", mode) else "100644"


def _unreadable() -> NotADiff:
    return NotADiff("GitLab's answer is not the one its API is known for")
