from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.criticizer.tests.scripted import Criticizer, made_criticizer


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database of this test's own, once for each dialect."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def criticizer(database_url: str, tmp_path: Path) -> Iterator[Criticizer]:
    """A criticizer whose source and reviewer play scripts, with mail in a file."""
    with made_criticizer(database_url, tmp_path / "mail.jsonl") as made:
        yield made
