from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.operating.desk import Desk


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    made = Desk(database_url)
    yield made
    made.close()


@pytest.fixture
def sqlite_desk(tmp_path: Path) -> Iterator[Desk]:
    """For what never reaches a store."""
    made = Desk(f"sqlite:///{tmp_path / 'holdfast.db'}")
    yield made
    made.close()
