from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.running import System, running


@pytest.fixture
def system(database_url: str, tmp_path: Path) -> Iterator[System]:
    with running(database_url, tmp_path) as made:
        yield made
