"""Where a SQLite database is: `sqlite:///relative.db`, `sqlite:////absolute.db`, `:memory:`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from holdfast.errors import InvalidValue

_SCHEME: Final = "sqlite://"
_MEMORY: Final = ":memory:"
_FORMS: Final = "sqlite:///relative.db, sqlite:////absolute.db or sqlite://:memory:"


class Location(NamedTuple):
    """A database file, or memory when `path` is None."""

    url: str
    path: Path | None

    @property
    def lock_path(self) -> Path:
        """The file whose lock is held while the database is written to."""
        return Path(f"{self.path}-lock")

    @property
    def log_path(self) -> Path:
        """The write-ahead log, which holds the latest commits."""
        return Path(f"{self.path}-wal")

    def uri(self, *, mode: str) -> str:
        """Return what to connect to; `mode` is `rwc` or `ro`."""
        return _MEMORY if self.path is None else f"file:{quote(str(self.path))}?mode={mode}"


def located(url: str) -> Location:
    """Return the place a URL names; a relative path counts from the current folder."""
    rest = url.removeprefix(_SCHEME)
    if rest.removeprefix("/") == _MEMORY:
        return Location(url, None)
    path = rest.removeprefix("/")
    if not url.startswith(f"{_SCHEME}/") or not path or "?" in path or "\0" in path:
        raise InvalidValue("database URL", field="url", value=url, limit=_FORMS)
    return Location(url, Path(path).absolute())
