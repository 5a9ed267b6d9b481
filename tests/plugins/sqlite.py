"""SQLite for the tests: database files with the schema and without a row."""

import shutil
from pathlib import Path

import pytest

from holdfast.store.sqlite.store import SqliteStore


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with the schema and without a row, to copy."""
    path = tmp_path_factory.mktemp("migrated") / "holdfast.db"
    store = SqliteStore(f"sqlite:///{path}")
    store.migrate()
    store.close()
    return path


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The URL of a database file of this test's own, with the schema and without a row."""
    path = shutil.copyfile(migrated_file, tmp_path / "holdfast.db")
    return f"sqlite:///{path}"
