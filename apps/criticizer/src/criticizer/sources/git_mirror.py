"""A copy of a repository elsewhere: without files at first, and with those that were needed."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from criticizer.sources.git_place import Remote
from criticizer.sources.git_program import Git, Repository
from criticizer.sources.git_tidying import Tidiness, sweep, tidy
from criticizer.wire import Deadline

_FULL_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEAD: Final = "refs/criticizer/HEAD"
_BRANCHES: Final = (
    f"+HEAD:{_HEAD}",
    "+refs/heads/*:refs/heads/*",
    "+refs/tags/*:refs/tags/*",
)
_LOCK_POLL_S: Final = 0.05


class Mirror:
    """The copy, which one process at a time uses, and all threads and processes of a machine share.

    It holds what its user may see and is readable by nobody else.
    """

    def __init__(
        self, remote: Remote, *, folder: Path | None = None, tidiness: Tidiness | None = None
    ) -> None:
        self._remote, self._tidiness = remote, tidiness or Tidiness()
        self._parent = folder or _usual_folder()
        self._folder = self._parent / f"{remote.key}.git"

    @contextmanager
    def opened(self, revisions: Sequence[str], deadline: Deadline) -> Iterator[Git]:
        """Yield the repository with these revisions, as far as they exist."""
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked(deadline) as lock:
            git = Git(Repository(self._folder, self._remote, kept_open=(lock,)))
            if not (self._folder / "config").exists():
                self._make(deadline, lock)
            sweep(self._folder)
            if not all(self._is_there(revision, deadline) for revision in revisions):
                self._update(git, revisions, deadline)
            yield git
            # Calling nobody: what is not here is nothing to be packed.
            here = Git(Repository(self._folder, kept_open=(lock,)))
            tidy(here, self._folder, terms=self._tidiness, deadline=deadline)

    def _make(self, deadline: Deadline, lock: int) -> None:
        made = self._folder.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(mode=0o700)
        git = Git(Repository(made, self._remote, kept_open=(lock,)))
        git.do(("init", "--quiet", "--bare", "--template=", "."), deadline)
        for name, value in (
            ("remote.origin.url", self._remote.url),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialclonefilter", "blob:none"),
        ):
            git.do(("config", "--local", name, value), deadline)
        git.do(("symbolic-ref", "HEAD", _HEAD), deadline)
        # What is half made is not taken for a copy.
        shutil.rmtree(self._folder, ignore_errors=True)
        made.rename(self._folder)

    def _update(self, git: Git, revisions: Sequence[str], deadline: Deadline) -> None:
        fetch = (
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--filter=blob:none",
        )
        git.do((*fetch, "--prune", "origin", *_BRANCHES), deadline)
        for revision in revisions:
            # No branch may lead to it any more, or none yet; many servers give it all the same.
            if _FULL_HASH.fullmatch(revision) and git.commit(revision, deadline) is None:
                git.run((*fetch, "origin", revision), deadline)

    def _is_there(self, revision: str, deadline: Deadline) -> bool:
        """Whether the revision is a hash, which means the same forever, and the copy has it."""
        if _FULL_HASH.fullmatch(revision) is None:
            return False
        # Calling nobody: what is not there is asked for together with its history.
        here = Git(Repository(self._folder))
        return here.run(("cat-file", "-e", f"{revision}^{{commit}}"), deadline).code == 0

    @contextmanager
    def _locked(self, deadline: Deadline) -> Iterator[int]:
        """Yield a lock that lasts until the programs that were given it have ended as well."""
        path = self._folder.with_suffix(".lock")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(min(_LOCK_POLL_S, deadline.left_s()))
            yield lock
        finally:
            os.close(lock)


def _usual_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(cache) / "criticizer" / "git"
