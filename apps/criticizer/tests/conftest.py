from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.criticizer.tests.scripted import Criticizer, made_criticizer

REAL_TIME = tuple(
    f"apps/criticizer/tests/{folder}/" for folder in ("acceptance", "pages", "sources", "reviewers")
)
"""Whose tests start processes, servers or a browser, and so depend on how busy a machine is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests in real time up to two more runs; the summary names those that needed them."""
    for item in items:
        if item.nodeid.startswith(REAL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database of this test's own, once for each dialect."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def criticizer(database_url: str, tmp_path: Path) -> Iterator[Criticizer]:
    """A criticizer whose source and reviewer play scripts, with mail in a file."""
    with made_criticizer(database_url, tmp_path / "mail.jsonl") as made:
        yield made
