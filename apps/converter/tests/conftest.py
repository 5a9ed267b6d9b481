from pathlib import Path

import pytest

from converter.storage.contract import Storage
from converter.storage.disk import DiskStorage


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database of this test's own, once for each dialect."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def uploads(tmp_path: Path) -> Storage:
    return DiskStorage(tmp_path / "uploads", label="uploads", min_free_bytes=0)


@pytest.fixture
def results(tmp_path: Path) -> Storage:
    return DiskStorage(tmp_path / "results", label="results", min_free_bytes=0)
