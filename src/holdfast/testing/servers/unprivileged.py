"""Running a server as a user other than root.

PostgreSQL refuses to run as root, and no test needs a server that does; containers often have
nobody else logged in. Nothing outside the server's own directory is changed: no user is created and
no permission is widened.
"""

import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class Account:
    """A user whose processes a test may start."""

    name: str
    user_id: int
    group_id: int

    @classmethod
    def for_servers(cls, name: str = "postgres") -> "Account":
        """Return the user of this process, or for root the user of that name, else nobody."""
        if os.geteuid() != 0:
            return cls(name=str(os.geteuid()), user_id=os.geteuid(), group_id=os.getegid())
        for candidate in (name, "nobody"):
            try:
                entry = pwd.getpwnam(candidate)
            except KeyError:
                continue
            return cls(name=candidate, user_id=entry.pw_uid, group_id=entry.pw_gid)
        raise UnavailableError(
            f"servers are not run as root, and neither the user {name} nor nobody exists; "
            "run as another user, or name a server in HOLDFAST_TEST_POSTGRES_URL or "
            "HOLDFAST_TEST_AMQP_URL"
        )

    @property
    def switch_user(self) -> int | None:
        """The `user` for `subprocess`: None where no change is needed, or allowed."""
        return None if self.is_current else self.user_id

    @property
    def switch_group(self) -> int | None:
        """The `group` for `subprocess`."""
        return None if self.is_current else self.group_id

    @property
    def switch_extra_groups(self) -> list[int] | None:
        """The `extra_groups` for `subprocess`: none of root's."""
        return None if self.is_current else []

    def take_over(self, path: Path) -> None:
        """Makes this account the owner of `path`."""
        if not self.is_current:
            os.chown(path, self.user_id, self.group_id, follow_symlinks=False)

    @property
    def is_current(self) -> bool:
        """Whether a child process gets this account without asking."""
        return self.user_id == os.geteuid()

    def can_reach(self, path: Path) -> bool:
        """Whether every directory down to `path`, and `path` itself, lets this account through."""
        resolved = path.resolve()
        return all(self._may_enter(step) for step in (resolved, *resolved.parents))

    def _may_enter(self, path: Path) -> bool:
        found = path.stat()
        if found.st_uid == self.user_id:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.group_id:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)

    def new_directory(self, *, prefix: str) -> Path:
        """A fresh private directory of this account, in a place it can reach."""
        for parent in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):  # noqa: S108 - parents of a fresh mkdtemp
            if parent.is_dir() and self.can_reach(parent):
                made = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
                self.take_over(made)
                return made
        raise UnavailableError(
            f"no temporary directory can be reached by the user {self.name}; point TMPDIR at one"
        )
