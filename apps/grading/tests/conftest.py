from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing import ManualClock
from holdfast.testing.postgres.databases import DisposableDatabases
from tests.plugins.reused_databases import ReusedDatabases, lent_databases
from tests.plugins.sqlite import migrated

TABLES = {"grading": "grading.tables"}


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database of this test's own, once for each dialect."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def reused_databases(postgres_databases: DisposableDatabases) -> Iterator[ReusedDatabases]:
    """Lend databases that have the system's tables: one that gets them is not lent again."""
    yield from lent_databases(postgres_databases, tables=TABLES)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with the system's tables, to copy."""
    return migrated(tmp_path_factory.mktemp("migrated"), tables=TABLES)
