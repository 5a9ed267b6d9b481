from pathlib import Path

import pytest

from converter.storage.contract import Storage
from converter.storage.disk import DiskStorage

REAL_TIME = frozenset(["acceptance", "client", "gateway", "pages", "storage"])
"""Whose tests start processes, servers or a browser, and so depend on how busy a machine is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests in real time up to two more runs; the summary names those that needed them."""
    for item in items:
        place = item.nodeid.split("/", 4)
        if place[:3] == ["apps", "converter", "tests"] and place[3] in REAL_TIME:
            item.add_marker(pytest.mark.flaky(reruns=2))


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
