"""What all tests of collabiq share: databases with its tables, and the stand-ins' servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.servers import close_idle
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


@pytest.fixture(scope="session", autouse=True)
def servers() -> Iterator[None]:
    """The stand-ins that tests share, which end with the last test."""
    yield
    close_idle()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database of this test's own, once for each dialect."""
    return str(request.getfixturevalue(f"{request.param}_url"))
