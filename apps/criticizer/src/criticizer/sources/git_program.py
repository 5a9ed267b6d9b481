"""The `git` program, kept from everything that a repository's own settings could make it do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from criticizer.processes import Finished, SaysTooMuch, run
from criticizer.sources.errors import ChangeMissing, SourceFailed, SourceUnusable
from criticizer.sources.git_place import Remote
from criticizer.wire import Deadline

_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FEW_BYTES: Final = 65_536
_NO_PROTOCOL: Final = "none"
_INHERITED: Final = ("HOME", "PATH", "SSH_AUTH_SOCK", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")

_SETTINGS: Final = {
    # Programs that a repository could name for us to run.
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.sshCommand": "ssh -oBatchMode=yes",
    "core.askPass": "",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "true",
    "credential.helper": "",
    "diff.external": "",
    "log.showSignature": "false",
    # How a diff looks, whatever people here like better.
    "core.quotePath": "true",
    "core.attributesFile": "/dev/null",
    "core.bigFileThreshold": "16m",
    "diff.orderFile": "/dev/null",
    "diff.suppressBlankEmpty": "false",
    "diff.renameLimit": "1000",
    # What is ours to do when we want it done.
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "http.followRedirects": "false",
    "maintenance.auto": "false",
}
_UNUSABLE: Final = (
    "authentication failed",
    "could not read password",
    "could not read username",
    "dubious ownership",
    "host key verification failed",
    "not a git repository",
    "permission denied",
    "returned error: 401",
    "returned error: 403",
    "terminal prompts disabled",
    "transport '",
    "unable to update url base from redirection",
)
_MISSING: Final = (
    "does not appear to be a git repository",
    "repository not found",
    "returned error: 404",
    "repository '",
    "unadvertised object",
    "not our ref",
    "couldn't find remote ref",
    "is ambiguous",
    "expected commit type",
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder with a repository, and whom it may call: nobody, or one address by one protocol."""

    folder: Path
    remote: Remote | None = None
    is_above: bool = False
    """Whether the folder may be inside of the repository, as it is for who works in one."""
    kept_open: tuple[int, ...] = ()
    """Descriptors that the program holds as long as it runs: locks."""


class Git:
    """Runs `git` on one repository. An id is resolved to a hash before anything is done with it."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def commit(self, revision: str, deadline: Deadline) -> str | None:
        """Return the hash of a commit; None when there is no such one."""
        ended = self.run(
            ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"),
            deadline,
        )
        if ended.code == 0:
            return _hash_in(ended)
        # With --quiet it says nothing of a name that is none, and all the more of other troubles.
        if not ended.complaints.strip():
            return None
        failure = failure_of(ended)
        if isinstance(failure, ChangeMissing):
            return None
        raise failure

    def merge_base(self, old: str, new: str, deadline: Deadline) -> str | None:
        """Return where two commits were one last; None when they never were."""
        ended = self.run(("merge-base", "--end-of-options", old, new), deadline)
        if ended.code == 1:
            return None
        return _hash_in(self._checked(ended))

    def empty_tree(self, deadline: Deadline) -> str:
        """Return the hash of a tree without files, which what comes first is compared with."""
        ended = self._checked(self.run(("hash-object", "-t", "tree", "/dev/null"), deadline))
        return _hash_in(ended)

    def output(self, arguments: Sequence[str], deadline: Deadline, *, max_bytes: int) -> bytes:
        """Return what a command prints; raises `SaysTooMuch` for more than that."""
        return self._checked(self.run(arguments, deadline, max_bytes=max_bytes)).output

    def do(self, arguments: Sequence[str], deadline: Deadline) -> None:
        """Run a command for its effect."""
        try:
            self._checked(self.run(arguments, deadline))
        except SaysTooMuch:
            raise SourceFailed("Git said more than it has to say") from None

    def run(
        self, arguments: Sequence[str], deadline: Deadline, *, max_bytes: int = _FEW_BYTES
    ) -> Finished:
        """Run a command to its end."""
        if not self._repository.folder.is_dir():
            raise SourceUnusable("the folder of the repository is not there")
        return run(
            ("git", "--no-pager", "--literal-pathspecs", *arguments),
            environment=self._environment(),
            deadline=deadline,
            max_bytes=max_bytes,
            folder=self._repository.folder,
            kept_open=self._repository.kept_open,
        )

    def _environment(self) -> dict[str, str]:
        remote = self._repository.remote
        settings = dict(_SETTINGS)
        # Who configured the path trusts the folder, with any owner.
        settings["safe.directory"] = "*"
        if remote is not None and remote.authorization:
            # For this address only, and where no list of processes shows it.
            settings[f"http.{remote.url}.extraHeader"] = remote.authorization
        ceiling = "" if self._repository.is_above else str(self._repository.folder.parent)
        return {
            **{name: os.environ[name] for name in _INHERITED if name in os.environ},
            **_numbered(settings),
            "GIT_ALLOW_PROTOCOL": remote.protocol if remote else _NO_PROTOCOL,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": ceiling,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_SSH_COMMAND": _SETTINGS["core.sshCommand"],
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "SSH_ASKPASS_REQUIRE": "never",
        }

    def _checked(self, ended: Finished) -> Finished:
        if ended.code != 0:
            raise failure_of(ended)
        return ended


def failure_of(ended: Finished) -> ChangeMissing | SourceFailed | SourceUnusable:
    """Return what the end of a program means. What it said is not shown: it may hold anything."""
    said = ended.complaints.lower()
    if any(hint in said for hint in _UNUSABLE):
        return SourceUnusable("the repository cannot be used as it is configured")
    if any(hint in said for hint in _MISSING):
        return ChangeMissing("there is no such repository, or no such commit in it")
    return SourceFailed(f"Git ended with code {ended.code}")


def _hash_in(ended: Finished) -> str:
    found = ended.output.decode("ascii", "replace").strip()
    if _HASH.fullmatch(found) is None:
        raise SourceFailed("Git answered something other than a hash")
    return found


def _numbered(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as the environment carries them, before those of any file."""
    made = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        made[f"GIT_CONFIG_KEY_{number}"] = name
        made[f"GIT_CONFIG_VALUE_{number}"] = value
    return made
