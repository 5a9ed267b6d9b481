"""Stores on a database file of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "holdfast.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., SqliteStore]]:
    stores: list[SqliteStore] = []

    def open_(**options: float) -> SqliteStore:
        store = SqliteStore(url, **options)
        stores.append(store)
        store.migrate()
        return store

    yield open_
    for store in stores:
        store.close()
