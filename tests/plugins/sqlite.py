"""SQLite for the tests: database files with the schema and without a row."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.store.schema.system_tables import load_tables
from holdfast.store.sqlite.store import SqliteStore


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with the schema and without a row, to copy."""
    return migrated(tmp_path_factory.mktemp("migrated"))


def migrated(folder: Path, *, tables: Mapping[str, str] | None = None) -> Path:
    """Make a database with the schema, and with `tables` of systems as `Holdfast` takes them."""
    path = folder / "holdfast.db"
    store = SqliteStore(f"sqlite:///{path}")
    store.tables = load_tables(tables or {})
    store.migrate()
    store.close()
    return path


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The URL of a database file of this test's own, with the schema and without a row."""
    path = shutil.copyfile(migrated_file, tmp_path / "holdfast.db")
    return f"sqlite:///{path}"
