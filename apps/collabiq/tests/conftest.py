"""Databases of both kinds with collabiq's tables, for all its tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing.postgres.databases import DisposableDatabases
from tests.plugins.reused_databases import ReusedDatabases, lent_databases
from tests.plugins.sqlite import migrated

TABLES = {"collabiq": "collabiq.tables"}


@pytest.fixture(scope="session")
def reused_databases(postgres_databases: DisposableDatabases) -> Iterator[ReusedDatabases]:
    """Lend databases that have the system's tables: one that gets them is not lent again."""
    yield from lent_databases(postgres_databases, tables=TABLES)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with the system's tables, to copy."""
    return migrated(tmp_path_factory.mktemp("migrated"), tables=TABLES)
