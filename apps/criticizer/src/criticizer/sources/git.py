"""Changes from a Git repository: a commit, or a range of them.

Ids are `commit`, `old..new` for the difference between two, and `old...new` for what `new` changed
since both were one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from criticizer.change import Change
from criticizer.processes import SaysTooMuch
from criticizer.sources.contract import FULL_HASH, Pinned
from criticizer.sources.errors import BadChangeId, ChangeMissing, SourceTimedOut
from criticizer.sources.git_mirror import Mirror
from criticizer.sources.git_place import is_remote, local_name, local_path, remote_place
from criticizer.sources.git_program import Git, Repository
from criticizer.sources.git_tidying import Tidiness
from criticizer.sources.titles import line_of
from criticizer.sources.web import text_of, too_large
from criticizer.wire import Deadline

HERE: Final = "."
# What can name a commit without leading anywhere else: no path, no search, no option.
_REVISION: Final = r"[A-Za-z0-9_@](?:[A-Za-z0-9_/~^@+#-]|\.(?!\.)){0,199}"
_ONE: Final = re.compile(rf"({_REVISION})")
_RANGE: Final = re.compile(rf"({_REVISION})(\.{{2,3}})({_REVISION})")
_MAX_TITLE_BYTES: Final = 65_536
_DIFF: Final = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--find-renames",
    "--unified=3",
    "--inter-hunk-context=0",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--end-of-options",
)


class _Asked(NamedTuple):
    old: str | None
    new: str
    since_fork: bool = False

    @property
    def revisions(self) -> tuple[str, ...]:
        return (self.new,) if self.old is None else (self.old, self.new)


class GitSource:
    """A repository, by its path on this machine or by its address.

    One on this machine is read as it is; `.` is the one that we are in. Of one elsewhere a copy is
    kept in `cache_dir`, with as much of it as was ever needed.
    """

    def __init__(
        self,
        location: str,
        *,
        token: str | None,
        max_bytes: int,
        cache_dir: Path | None = None,
        tidiness: Tidiness | None = None,
    ) -> None:
        self._max_bytes = max_bytes
        self._mirror: Mirror | None = None
        if is_remote(location):
            place = remote_place(location, token=token)
            self._mirror = Mirror(place, folder=cache_dir, tidiness=tidiness)
            self._name = place.name
        else:
            folder = local_path(location)
            self._git = Git(Repository(folder, is_above=location == HERE))
            self._name = local_name(folder)

    def fetch(
        self,
        changelist_id: str,
        *,
        timeout_s: float,
        headers: Mapping[str, str],  # noqa: ARG002 - Git takes no headers of ours
    ) -> Change:
        """Return a change; see the contract."""
        asked = _asked(changelist_id)
        deadline = Deadline(timeout_s)
        try:
            if self._mirror is None:
                return self._change(self._git, asked, changelist_id, deadline)
            with self._mirror.opened(asked.revisions, deadline) as git:
                return self._change(git, asked, changelist_id, deadline)
        except TimeoutError:
            raise SourceTimedOut(f"Git took longer than {timeout_s:g} s") from None

    def pin(self, changelist_id: str, *, timeout_s: float) -> Pinned:
        """Return the change with its commits by their hashes; see the contract."""
        asked = _asked(changelist_id)
        deadline = Deadline(timeout_s)
        try:
            if self._mirror is None:
                found = self._resolved(self._git, asked, changelist_id, deadline)
            else:
                with self._mirror.opened(asked.revisions, deadline) as git:
                    found = self._resolved(git, asked, changelist_id, deadline)
        except TimeoutError:
            raise SourceTimedOut(f"Git took longer than {timeout_s:g} s") from None
        return Pinned(_written(found), self._name)

    def located(self, changelist_id: str) -> Pinned | None:
        """Return the change where its id consists of hashes; see the contract."""
        asked = _asked(changelist_id)
        if not all(FULL_HASH.fullmatch(revision) for revision in asked.revisions):
            return None
        return Pinned(_written(asked), self._name)

    def close(self) -> None:
        """Let go of connections, of which none is kept."""

    def _resolved(self, git: Git, asked: _Asked, changelist_id: str, deadline: Deadline) -> _Asked:
        found = [git.commit(revision, deadline) for revision in asked.revisions]
        hashes = [revision for revision in found if revision is not None]
        if len(hashes) != len(found):
            raise ChangeMissing(f"the repository has no {changelist_id}")
        old = None if asked.old is None else hashes[0]
        return _Asked(old, hashes[-1], asked.since_fork)

    def _change(self, git: Git, asked: _Asked, changelist_id: str, deadline: Deadline) -> Change:
        found = self._resolved(git, asked, changelist_id, deadline)
        old = found.old
        if old is None:
            old = git.commit(f"{found.new}^1", deadline) or git.empty_tree(deadline)
        elif found.since_fork:
            old = git.merge_base(old, found.new, deadline)
            if old is None:
                raise ChangeMissing(f"the ends of {changelist_id} have nothing in common")
        title = git.output(
            ("log", "-1", "--format=%s", "--no-show-signature", "--end-of-options", found.new),
            deadline,
            max_bytes=_MAX_TITLE_BYTES,
        )
        try:
            diff = git.output((*_DIFF, old, found.new), deadline, max_bytes=self._max_bytes)
        except SaysTooMuch:
            raise too_large(self._max_bytes) from None
        return Change(diff=text_of(diff), title=line_of(text_of(title)))


def _written(asked: _Asked) -> str:
    return ("..." if asked.since_fork else "..").join(asked.revisions)


def _asked(changelist_id: str) -> _Asked:
    if found := _ONE.fullmatch(changelist_id):
        return _Asked(None, found[1])
    if found := _RANGE.fullmatch(changelist_id):
        return _Asked(found[1], found[3], since_fork=len(found[2]) > len(".."))
    raise BadChangeId("Git's changes are a commit, or a range like main..topic")
