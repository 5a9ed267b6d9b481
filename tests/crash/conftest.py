from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.fleet import Fleet


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a fresh database, once for each dialect; all are ended with the test."""
    made = Fleet(database_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def postgres_fleet(postgres_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a fresh PostgreSQL database."""
    made = Fleet(postgres_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def sqlite_fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a fresh SQLite database."""
    made = Fleet(f"sqlite:///{tmp_path / 'holdfast.db'}", folder=tmp_path)
    try:
        yield made
    finally:
        made.end()
