"""A store of a URL, made ready when it is first used."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

from holdfast.errors import InvalidValue
from holdfast.store.contract import Store
from holdfast.store.sqlite.store import SqliteStore

_POSTGRES: Final = ("postgresql", "postgres")


class OpenedStore:
    """A store whose schema is brought up to date, or checked, when it is first asked for."""

    def __init__(self, store: Store, *, auto_migrate: bool) -> None:
        self.unopened = store
        """The store as it is."""
        self.is_open = False
        self._auto_migrate = auto_migrate
        self._opening = threading.Lock()

    def open(self) -> Store:
        """Return the store, ready for use."""
        if not self.is_open:
            with self._opening:
                if self._auto_migrate:
                    self.unopened.migrate()
                self.unopened.check_schema()
                self.is_open = True
        return self.unopened


def store_of(url: str, *, direct_url: str | None = None) -> Store:
    """Return the store of a URL; nothing is connected yet."""
    scheme = url.partition(":")[0]
    direct = None if direct_url is None else direct_url.partition(":")[0]
    if direct is not None and (direct not in _POSTGRES or scheme not in _POSTGRES):
        raise InvalidValue(
            "Holdfast",
            field="direct_url",
            value=f"{direct}:…",
            limit="like postgresql://host/database, and left out where url is of another kind",
        )
    if scheme == "sqlite":
        return SqliteStore(url)
    if scheme in _POSTGRES:
        # The driver takes a good part of the time in which a program on SQLite starts.
        from holdfast.store.postgres.store import PostgresStore  # noqa: PLC0415

        # What urllib cannot take apart is refused like a URL of another kind.
        with suppress(ValueError):
            return PostgresStore(url, direct_url=direct_url)
    raise InvalidValue(
        "Holdfast",
        field="url",
        value=f"{scheme}:…",
        limit="like sqlite:///holdfast.db or postgresql://host/database",
    )
